// What planner support needs to know about the operator class gin_minhash_ops.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg {

// The bands and rows of an index that has these options (null: none), for signatures of `num_hashes` hashes.
banding gin_banding(const bytea* options, int num_hashes);

} // namespace minhash::pg
