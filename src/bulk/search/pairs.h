// Finds pairs of rows whose similarity reaches the task's threshold, within one query or between two queries. Each row
// is compared once with each of its candidates from all bands (row_candidates.h), including rows of large buckets.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

struct found_pair {
    std::uint32_t left; // between two queries, a row of the first query
    std::uint32_t right;
    double similarity;
};

// Receives a pair. Each pair is emitted only once.
using pair_sink = void (*)(host& owner, const found_pair& pair);

// Finds the pairs in a set of at least two rows. If `crossing`, the left row of each pair is below rows.first_count,
// and the right row is not. Returns how many buckets were left out because they have more than task.max_bucket rows.
std::uint64_t find_pairs(row_set& rows, bool crossing, pair_sink emit);

} // namespace minhash::bulk
