// The rows that a search has found, by rank: nearer rows have lower ranks, and equally near rows are in table order.
// Ranks do not depend on where records are in the index. So a scan can resume after any rank, and need not remember the
// rows that it has returned.
//
// Rows are kept within work_mem: either only the best rows are wanted, or the rows for which there is no room go to
// PostgreSQL's sort, which spills to a file.
#pragma once

#include "pg/growing.h"
#include "pg/index/format.h"

#include <algorithm>
#include <limits>

extern "C" {
#include "nodes/tidbitmap.h"
#include "utils/tuplesort.h"
}

namespace minhash::pg::index {

using rank = std::uint64_t;

constexpr int tid_bits = 48;
constexpr rank tid_mask = (rank{1} << tid_bits) - 1;
constexpr rank last_rank = std::numeric_limits<std::int64_t>::max();

static_assert(max_num_hashes < 1 << (63 - tid_bits));

// The rank of a row, from the number of its slots that differ from the query's.
inline rank rank_of(int differing, const ItemPointerData& tid)
{
    return static_cast<rank>(differing) << tid_bits | static_cast<rank>(ItemPointerGetBlockNumberNoCheck(&tid)) << 16 |
           tid.ip_posid;
}

inline int differing_of(rank value) { return static_cast<int>(value >> tid_bits); }

inline ItemPointerData tid_of(rank value)
{
    ItemPointerData tid;
    ItemPointerSet(&tid, static_cast<BlockNumber>((value & tid_mask) >> 16), static_cast<OffsetNumber>(value & 0xFFFF));
    return tid;
}

struct candidate {
    rank where;
    std::uint64_t number; // the number of its record
};

struct found_rows {
    growing<candidate> rows;
    rank after;           // only rows of a higher rank are found
    rank limit;           // only rows of at most this rank are found, because there are enough better ones
    growing<rank> given;  // sorted: rows that were returned already, and must not be found again
    std::size_t wanted;   // about this many of the best rows are kept; 0: all
    std::size_t room;     // if all rows are kept: how many fit into memory; others go to `bitmap` or `sort`
    TIDBitmap* bitmap;    // takes the rows without room, if it is not null
    Tuplesortstate* sort; // takes these rows otherwise; made when it is first needed

    // Starts with nothing found, in zeroed memory.
    void start(std::size_t rows_of_room);

    bool is_left_out(rank where) const
    {
        return where <= after || where > limit || (given.count > 0 && std::ranges::binary_search(given, where));
    }

    void add(rank where, std::uint64_t number);

    // Sorts the rows that are kept here, and removes duplicates.
    void sort_rows();

    // Call this after the last row has been added. Sorts the rows, here or in `sort`.
    void finish();

    // Sets `where` (0 at first) to the next row of `sort` that may be returned. Returns false if there is none.
    bool next_sorted(rank& where);

    // Says that rows up to a rank may be returned now, and must not be found again. Returns how many of them are here.
    std::size_t pass(rank upto);

    // Remembers that some of the rows have been returned, so that they are not found again.
    void remember(std::size_t from, std::size_t to);

    void close();

private:
    void prune();
    void spill();
};

} // namespace minhash::pg::index
