// All pairs of rows whose similarity reaches the task's threshold, or all between the rows of two
// queries.
//
// Candidates of all bands are written down by the row that will verify them, in ranges of rows;
// then each range is put in order, and each row compares itself once with what it met in any band,
// so that signatures are read nearly in their order. A small bucket is written down as its pairs, a
// large one once, with a reference for each of its rows: what is written grows with the rows, not
// with the pairs.
#pragma once

#include "bulk/rows.h"

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

} // namespace minhash::bulk
