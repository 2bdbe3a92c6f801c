// What a search has found, by rank: the nearer the lower; of equally near ones, in the order of the
// table. As ranks do not depend on where records are in the index, a scan can go on after any rank,
// and need not remember what it has given.
//
// Found rows are kept as far as work_mem allows: either only the best are wanted, or what there is
// no room for goes to PostgreSQL's sort, which keeps it in a file.
#pragma once

#include "pg/growing.h"
#include "pg/index/format.h"

#include <algorithm>
#include <limits>

extern "C" {
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "utils/tuplesort.h"
}

namespace minhash::pg::index {

using rank = std::uint64_t;

constexpr int tid_bits = 48;
constexpr rank tid_mask = (rank{1} << tid_bits) - 1;
constexpr rank last_rank = std::numeric_limits<std::int64_t>::max();

static_assert(max_num_hashes < 1 << (63 - tid_bits));

// The rank of a row, by the slots that differ from those looked for.
inline rank rank_of(int differing, const ItemPointerData& tid)
{
    return static_cast<rank>(differing) << tid_bits |
           static_cast<rank>(ItemPointerGetBlockNumberNoCheck(&tid)) << 16 | tid.ip_posid;
}

inline int differing_of(rank value)
{
    return static_cast<int>(value >> tid_bits);
}

inline ItemPointerData tid_of(rank value)
{
    ItemPointerData tid;
    ItemPointerSet(&tid,
                   static_cast<BlockNumber>((value & tid_mask) >> 16),
                   static_cast<OffsetNumber>(value & 0xFFFF));
    return tid;
}

// Sorts what may grow with a table, so that it answers to cancel.
template <typename Value, typename Less>
void sort_answering(growing<Value>& values, Less less)
{
    constexpr std::size_t at_once = 32768;
    if (values.count <= at_once) {
        std::sort(values.at, values.at + values.count, less);
        return;
    }
    const auto compare = [](const void* left, const void* right, void* argument) {
        const Less& before = *static_cast<const Less*>(argument);
        const Value& a = *static_cast<const Value*>(left);
        const Value& b = *static_cast<const Value*>(right);
        return before(a, b) ? -1 : static_cast<int>(before(b, a));
    };
    qsort_interruptible(values.at, values.count, sizeof(Value), compare, &less);
}

struct candidate {
    rank where;
    std::uint64_t number; // of its record
};

struct found_rows {
    growing<candidate> rows;
    rank after;          // only rows of a higher rank are found,
    rank limit;          // of no higher one, as enough better ones were found,
    growing<rank> given; // and none of these, sorted
    std::size_t wanted;  // about so many of the best are kept; 0: all
    std::size_t prune_at;
    std::size_t room;     // for so many, if all are kept; then they go
    TIDBitmap* bitmap;    // here, if there is one, or
    Tuplesortstate* sort; // here, made when it is needed

    // Starts with nothing found, in zeroed memory.
    void start(std::size_t rows_of_room);

    // From now on only about so many of the best are kept; 0: all.
    void want(std::size_t best);

    bool is_left_out(rank where) const
    {
        return where <= after || where > limit ||
               (given.count > 0 && std::binary_search(given.at, given.at + given.count, where));
    }

    void add(rank where, std::uint64_t number);

    // Sorts the rows that are kept here. One that was found twice is there once.
    void sort_rows();

    // Nothing more is added: what is wanted is sorted here or in `sort`, or in `bitmap`.
    void finish();

    // The next row of `sort` after the one before, 0 before the first, if it may be given.
    bool next_sorted(rank& where);

    // Rows up to a rank may be given now, and will not be found again. How many of those kept here.
    std::size_t pass(rank upto);

    // Some of the rows will not be found again.
    void remember(std::size_t from, std::size_t to);

    void close();

private:
    void prune();
    void spill();
};

} // namespace minhash::pg::index
