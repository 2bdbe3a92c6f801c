// Everything that users can be told, in one place.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// An argument outside of its range.
[[noreturn]] void
fail_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most);
[[noreturn]] void fail_fraction(const char* name, double value, const char* range);
[[noreturn]] void fail_choice(const char* name, text* given, const char* choices);
[[noreturn]] void fail_weights();
[[noreturn]] void fail_no_choice(double threshold, int num_hashes, double recall);

// bands * rows is more than the signature has.
[[noreturn]] void fail_bands(int bands, int rows, int num_hashes);

// An index with one of the options bands and rows.
[[noreturn]] void fail_half_banding();

// An index that finds a small share of the rows at the threshold; `better` would find `recall`
// (no bands: nothing would). A NOTICE.
void notice_recall(
    double share, double threshold, const banding& shape, const banding& better, double recall);

// Two signatures of different schemes.
[[noreturn]] void fail_incomparable(const scheme& a, const scheme& b);

// Text and binary input. The first two are soft: they return if `context` can keep the error.
void refuse_text(Node* context, const char* input, const parse_result& result);
void refuse_typmod(Node* context, int expected, int actual);
[[noreturn]] void fail_received(status what, std::size_t bytes);
[[noreturn]] void fail_stored(status what, std::size_t bytes);
[[noreturn]] void fail_typmod_count();

// More than memory or an array can hold.
[[noreturn]] void fail_too_many_shingles(std::size_t most);
[[noreturn]] void fail_text_too_long(std::size_t most);
[[noreturn]] void fail_no_conversion(int encoding);

} // namespace minhash::pg
