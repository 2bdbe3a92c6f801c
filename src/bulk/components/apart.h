// Rows that must stay apart, because a person has told their ids apart. The caller numbers the ids that occur in
// verdicts; a verdict is a pair of such numbers. Several rows can have one id, and a verdict holds for all of them.
#pragma once

#include "bulk/buckets/buckets.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace minhash::bulk {

struct verdict {
    std::uint32_t left; // numbers of ids
    std::uint32_t right;
};

struct apart_rows {
    host* owner;
    growing<verdict> verdicts; // freed when all of them have been taken
    std::size_t count;         // how many verdicts there are
    std::uint32_t ids;         // how many ids have numbers
    std::uint64_t* ends;       // for each id, where its partners end; they begin where those of the id before it end
    std::uint32_t* partners;   // the ids from which each id was told apart, in ascending order
    growing<std::uint32_t> id_of_row; // the number of each row's id, or no_row if no verdict has it
    std::uint32_t* kept_out;          // for each id, the last cluster that it must not join; 0: none
    std::uint32_t cluster;            // the number of the current cluster
};

inline void take_verdict(apart_rows& apart, const verdict& next)
{
    add(*apart.owner, apart.verdicts, apart.count, next);
}

// Call this when all verdicts have been taken. `ids` is how many ids have numbers. If `directed`, the left id of a
// verdict is that of a pair's left row; otherwise the order does not matter, and an id is not apart from itself.
void end_verdicts(apart_rows& apart, std::uint32_t ids, bool directed);

// Sets the number of a row's id; no_row: no verdict has the id. Rows come in their order.
inline void set_id(apart_rows& apart, std::uint32_t row, std::uint32_t id)
{
    assert(id == no_row || id < apart.ids);
    grow(*apart.owner, apart.id_of_row, row, std::size_t{row} + 1);
    apart.id_of_row.values[row] = id;
}

inline std::span<const std::uint32_t> partners_of(const apart_rows& apart, std::uint32_t id)
{
    return {apart.partners + (id == 0 ? 0 : apart.ends[id - 1]), apart.partners + apart.ends[id]};
}

// Whether two rows must not be a pair.
inline bool are_apart(const apart_rows& apart, std::uint32_t left, std::uint32_t right)
{
    const std::uint32_t left_id = apart.id_of_row.values[left];
    const std::uint32_t right_id = apart.id_of_row.values[right];
    if (left_id == no_row || right_id == no_row)
        return false;
    const std::span<const std::uint32_t> partners = partners_of(apart, left_id);
    return std::binary_search(partners.begin(), partners.end(), right_id);
}

// Begins a cluster, still without rows.
inline void begin_cluster(apart_rows& apart) { apart.cluster++; }

// Whether a row may join the current cluster: it has no row from which this row must stay apart.
inline bool may_join(const apart_rows& apart, std::uint32_t row)
{
    const std::uint32_t id = apart.id_of_row.values[row];
    return id == no_row || apart.kept_out[id] != apart.cluster;
}

// Adds a row to the current cluster.
void join_cluster(apart_rows& apart, std::uint32_t row);

} // namespace minhash::bulk
