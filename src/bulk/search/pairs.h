// All pairs of rows whose similarity reaches the task's threshold, or all between the rows of two
// queries. Each row compares itself once with what it met in any band (row_candidates.h); of a
// large bucket, with the rows after it.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

struct found_pair {
    std::uint32_t left; // between two queries, a row of the first
    std::uint32_t right;
    double similarity;
};

// Takes some pairs, of which each comes once.
using pair_sink = void (*)(host& owner, std::span<const found_pair> pairs);

// Finds the pairs of at least two rows; `crossing`: those of a row before rows.first_count with one
// from there on. Returns how many buckets were left out, as they have more than task.max_bucket
// rows.
std::uint64_t find_pairs(row_set& rows, bool crossing, pair_sink emit);

// The part of a process in verifying.
void verify_units(row_set& rows);

} // namespace minhash::bulk
