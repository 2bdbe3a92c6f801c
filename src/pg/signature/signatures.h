// What other rooms ask of signatures.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"

namespace minhash::pg {

// The share of equal slots; the empty set is similar to nothing, not even to itself. An ERROR if
// the schemes differ.
double similarity(const signature& a, const signature& b);

} // namespace minhash::pg
