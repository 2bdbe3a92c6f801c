// Finds rows that are contained in others. Row a is contained in row b if b has a large enough share of a's shingles:
// at least the threshold. It does not matter how much larger b is. Texts are compared exactly.
//
// Some of the rare shingles of each row are its witnesses (witnesses.h). An index finds rows by their witnesses. Each
// row that may contain others is read once, and its shingles are looked up in the index. If the row has enough
// witnesses of an indexed row, the two rows are compared at once, while the set of the row that was read is still in
// memory. If the index does not fit into memory, it is made in parts. For each part, all rows that may contain a row of
// the part are read again.
#pragma once

#include "bulk/search/pairs.h"

namespace minhash::bulk {

// Finds pairs whose left row is contained in the right row, and the share of the left row's shingles that the right row
// has. The left row is the one with fewer shingles; if both rows have equally many, either can be the left row. But if
// `crossing`, the left row is always a row of the first query (its number is below rows.first_count), and the right row
// is always a row of the second query.
void find_contained_pairs(row_set& rows, bool crossing, pair_sink emit);

// The number of distinct shingles of a row. Call it only while pairs are emitted.
inline std::uint32_t set_size(const row_set& rows, std::uint32_t row) { return rows.set_sizes[row]; }

} // namespace minhash::bulk
