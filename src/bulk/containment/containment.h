// Which rows lie within others: of whose shingles another row has at least the threshold's share,
// however much larger it is. For texts, exactly.
//
// Each row chooses some of its rare shingles as witnesses (witnesses.h), which an index has. Then
// each row that may contain others is read once, and its shingles are looked up there. Rows with
// enough of their witnesses in it are compared with it, while its set is in memory. An index that
// does not fit into memory is made for as many rows as fit, and all rows are read again for each
// part.
#pragma once

#include "bulk/search/pairs.h"

namespace minhash::bulk {

// Finds the pairs of a left row that lies within a right one, with the share of its shingles that
// the right one has. Of two rows the left one is that with fewer shingles, or with as many the one
// with the larger number; `crossing`: the one before rows.first_count.
void find_contained_pairs(row_set& rows, bool crossing, pair_sink emit);

// The number of distinct shingles of a row, while pairs are emitted.
inline std::uint32_t set_size(const row_set& rows, std::uint32_t row)
{
    return rows.set_sizes[row];
}

// The part of a process in each of the steps.
void count_shingles_of_units(row_set& rows);
void choose_witnesses_of_units(row_set& rows);
void compare_same_of_units(row_set& rows);
void look_up_units(row_set& rows);

} // namespace minhash::bulk
