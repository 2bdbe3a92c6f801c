// VACUUM: runs with many dead records are written again without them.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// Writes the runs again of which one record in five is dead, but not those that are being merged.
// Nothing is locked meanwhile. What is left of them is found by a sweep.
void rewrite_runs(Relation index);

} // namespace minhash::pg::index
