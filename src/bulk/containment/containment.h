// Finds rows that are contained in others. Row a is contained in row b if b has at least the threshold's share of a's
// shingles, however much larger b is. Texts are compared exactly.
//
// Each row chooses some of its rare shingles as witnesses (witnesses.h), which go into an index. Then each row that may
// contain others is read once, and its shingles are looked up in the index. While its set is in memory, it is compared
// with the rows of which it has enough witnesses. An index that does not fit into memory is made in parts, and all rows
// are read again for each part.
#pragma once

#include "bulk/search/pairs.h"

namespace minhash::bulk {

// Finds pairs whose left row is contained in the right one, and the share of the left row's shingles that the right row
// has. The left row is the one with fewer shingles, or if both have equally many, the one with the larger number. But
// if `crossing`, the left row is always a row of the first query (below rows.first_count), and the right one is not.
void find_contained_pairs(row_set& rows, bool crossing, pair_sink emit);

// The number of distinct shingles of a row. Call it only while pairs are emitted.
inline std::uint32_t set_size(const row_set& rows, std::uint32_t row) { return rows.set_sizes[row]; }

} // namespace minhash::bulk
