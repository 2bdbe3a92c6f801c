// Which rows lie within others. A row lies within another that has at least the threshold's share of its shingles,
// however much larger the other is. Texts are compared exactly.
//
// Each row chooses some of its rare shingles as witnesses (witnesses.h), which go into an index. Then each row that may
// contain others is read once, and its shingles are looked up in the index. While its set is in memory, it is compared
// with the rows that it has enough witnesses of. An index that does not fit into memory is made in parts, and all rows
// are read again for each part.
#pragma once

#include "bulk/search/pairs.h"

namespace minhash::bulk {

// Finds pairs whose left row lies within the right one, with the share of the left one's shingles that the right one
// has. The left row is the one with fewer shingles or, if both have equally many, with the larger number; if
// `crossing`, it is the one before rows.first_count.
void find_contained_pairs(row_set& rows, bool crossing, pair_sink emit);

// The number of distinct shingles of a row. Only while pairs are emitted.
inline std::uint32_t set_size(const row_set& rows, std::uint32_t row) { return rows.set_sizes[row]; }

} // namespace minhash::bulk
