// Errors that several functions report, and the words in which errors describe values. An error that only one function
// reports is in that function.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"
#include "core/scheme.h"

extern "C" {
#include "nodes/nodes.h"
}

namespace minhash::pg {

// For an argument that is out of range, or not one of the choices.
[[noreturn]] void fail_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most);
[[noreturn]] void fail_fraction(const char* name, double value, const char* range);
[[noreturn]] void fail_choice(const char* name, text* given, const char* choices);

// For a recall that no combination of bands and rows reaches.
[[noreturn]] void fail_no_choice(double threshold, int num_hashes, double recall);

// For bands without rows, or rows without bands.
[[noreturn]] void fail_half_banding();

// For two signatures of different schemes.
[[noreturn]] void fail_incomparable(const scheme& a, const scheme& b);

// An ERROR if an argument is NULL.
void refuse_null(FunctionCallInfo fcinfo, int argument);

// A scheme as text: the start of the text form of its signatures, such as fss1:128x32:char5:fold:set:42.
const char* describe(const scheme& scheme);

// A C string, or its first bytes and "..." if it is long.
const char* clip(const char* given);

// For an invalid text form of a signature. The error is soft: if `context` can save it, the function returns.
void refuse_text(Node* context, const char* input, const parse_result& result);

// For invalid bytes of a signature. fail_received() is for bytes from a client or another process, fail_stored() for
// bytes in a table.
[[noreturn]] void fail_received(status what, std::size_t bytes);
[[noreturn]] void fail_stored(status what, std::size_t bytes);

// For more distinct shingles than memory or an array can hold.
[[noreturn]] void fail_too_many_shingles(std::size_t most);

} // namespace minhash::pg
