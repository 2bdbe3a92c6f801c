// Connected components of a stream of pairs, for one threshold or for several at once. Each threshold is a level; level
// 0 has the highest threshold. A pair is joined only at the first level whose threshold its similarity reaches. At the
// end, each level takes over the connections of the level before it.
#pragma once

#include "bulk/buckets/buckets.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace minhash::bulk {

constexpr int most_levels = 100;

// The components at each level. A row that has no pair at a level, or at a level before it, is in no component there.
struct component_finder {
    host* owner;
    int levels;
    std::uint32_t count;                         // the number of rows
    growing<std::uint32_t> parents[most_levels]; // union_find.h; no_row: the row is not at this level
};

// Starts a finder without rows. `fresh` must be zeroed.
void start_finder(component_finder& fresh, host& owner, int levels);

// Adds rows, not yet in any component, until the finder has at least `count` rows.
void take_rows(component_finder& finder, std::uint32_t count);

// Joins two rows at a level and at all later levels. `a` and `b` may be the same row.
void join_rows(component_finder& finder, std::uint32_t a, std::uint32_t b, int level);

// Prefetches the memory that join_rows() will read first for this row and level.
[[gnu::always_inline]] inline void prefetch_row(const component_finder& finder, std::uint32_t row, int level)
{
    __builtin_prefetch(&finder.parents[level].values[row]);
}

// The rows of a component. In memory, these rows are followed by `later` rows of the components that will be visited
// next at the same level.
struct component_rows {
    std::span<const std::uint32_t> rows;
    std::size_t later;
};

// Calls visit(owner, level, rows) for each component, level by level. Frees the finder's memory.
void end_finder(component_finder& finder, void (*visit)(host& owner, int level, const component_rows& rows));

// Calls visit(rows, later) for each component of at least `least` rows. For each row, `roots` gives the smallest row of
// its component, or no_row if the row is in no component. `rows` are the component's rows in ascending order. In
// memory, they are followed by `later` rows of other components. (A counting sort orders all rows by component. With a
// linked list for each component instead, the processor would wait for memory at each row.)
template <typename Visit>
void each_component(host& owner, std::span<const std::uint32_t> roots, std::size_t least, Visit&& visit)
{
    const std::uint32_t count = static_cast<std::uint32_t>(roots.size());
    std::uint32_t* const ends = allocate<std::uint32_t>(owner, count); // for each root, where its members end
    std::fill_n(ends, count, 0);
    for (const std::uint32_t root : roots) {
        pause(owner);
        assert(root == no_row || (root < count && roots[root] == root));
        if (root != no_row)
            ends[root]++;
    }
    const std::uint32_t total = sum_counts(std::span(ends, count));
    std::uint32_t* const members = allocate<std::uint32_t>(owner, total);
    for (std::uint32_t row = 0; row < count; row++) {
        pause(owner);
        if (roots[row] != no_row)
            members[ends[roots[row]]++] = row;
    }
    for (std::uint32_t root = 0, begin = 0; root < count; root++) {
        pause(owner);
        const std::uint32_t size = ends[root] - begin;
        if (size > 0 && size >= least)
            visit(std::span<std::uint32_t>(members + begin, size), total - ends[root]);
        begin = ends[root];
    }
    release(owner, ends);
    release(owner, members);
}

} // namespace minhash::bulk
