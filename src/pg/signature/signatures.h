// Functions on signatures that other directories use.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"

namespace minhash::pg {

// The estimated similarity: for 32-bit slots, the share of equal slots. The empty set is similar to nothing, not even
// to itself. An ERROR if the schemes differ.
double similarity(const signature& a, const signature& b);

// The start of a signature's text form, as errors and EXPLAIN show it.
char* abridge(const signature& value);

// Raises the ERROR of an input function, for a type whose values cannot be read from text.
[[noreturn]] void fail_input(const char* type);

} // namespace minhash::pg
