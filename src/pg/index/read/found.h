// The rows that a search has found, by rank (format/rank.h). A scan can resume after any rank, so it need not remember
// the rows that it has returned.
//
// The rows use no more memory than work_mem: either only the best rows are kept, or the rows that do not fit go to the
// scan's bitmap or to PostgreSQL's sort, which spills to a file.
#pragma once

#include "pg/growing.h"
#include "pg/index/format/rank.h"

#include <algorithm>
#include <limits>

extern "C" {
#include "nodes/tidbitmap.h"
#include "utils/tuplesort.h"
}

namespace minhash::pg::index {

struct ranked_row {
    rank where;
    std::uint64_t number; // the number of the row's record; 0: the record is bare, or may have moved
};

struct found_rows {
    growing<ranked_row> rows;
    rank after;             // only rows with higher ranks are found
    rank limit;             // rows with higher ranks are left out, because enough better rows have been found
    growing<rank> returned; // the sorted ranks of rows that have been returned and must not be found again
    std::size_t wanted;     // about this many of the best rows are kept; 0: all
    std::size_t room;       // if all rows are kept: how many fit into memory before they go to `bitmap` or `sort`
    bool is_final;          // the executor does not compare the rows that the bitmap receives
    TIDBitmap* bitmap;      // receives the rows that do not fit; null: they go to `sort`
    Tuplesortstate* sort;   // receives the rows that do not fit, if there is no bitmap; made when it is first needed

    // Prepares to find rows. All members must be zero before this call.
    void start(std::size_t rows_of_room);

    bool is_left_out(rank where) const
    {
        return where <= after || where > limit || (returned.count > 0 && std::ranges::binary_search(returned, where));
    }

    void add(rank where, std::uint64_t number);

    // Sorts `rows`, and removes duplicates.
    void sort_rows();

    // Call this after the last row has been added. Sorts the rows, in `rows` or in `sort`.
    void finish();

    // Moves `where` from the rank returned last (0 at first) to the next rank in `sort`. Returns false if no further
    // row in `sort` may be returned.
    bool next_sorted(rank& where);

    // Allows rows up to the rank `upto` to be returned; these rows are not found again. Returns how many of them are in
    // `rows`.
    std::size_t pass(rank upto);

    // Call this when the first `count` of the rows have been returned; they are not found again.
    void remember(std::size_t count);

    void close();

private:
    void prune();
    void spill();
};

} // namespace minhash::pg::index
