// Connected components of pairs that come one after the other, from anywhere, for one or several
// thresholds at once. A pair is joined only at the first level that it reaches, where levels have
// falling thresholds; in the end each level takes over what the one before it has connected.
#pragma once

#include "bulk/buckets.h"
#include "bulk/host.h"

#include <span>

namespace minhash::bulk {

constexpr int most_levels = 100;

// What is connected at each level. A row that no pair of a level has is in none of its components.
struct component_finder {
    host* owner;
    int levels;
    std::uint32_t count;                         // of rows
    growing<std::uint32_t> parents[most_levels]; // union_find.h; no_row: not at this level
};

// Starts without rows. `fresh` is cleared.
void start_finder(component_finder& fresh, host& owner, int levels);

// Makes room for `count` rows, if there are fewer.
void take_rows(component_finder& finder, std::uint32_t count);

// Joins two rows, which may be the same, at a level and all after it.
void join_rows(component_finder& finder, std::uint32_t a, std::uint32_t b, int level);

// Calls visit(owner, level, rows) for each component, level by level. Frees the finder's memory.
void end_finder(component_finder& finder,
                void (*visit)(host& owner, int level, std::span<const std::uint32_t> rows));

// Calls visit(rows) for each component of at least `least` rows, given the smallest row of the
// component of each row, or no_row for rows in none. Rows rise. `roots` is overwritten.
template <typename Visit>
void each_component(host& owner, std::span<std::uint32_t> roots, std::size_t least, Visit&& visit)
{
    const std::uint32_t count = static_cast<std::uint32_t>(roots.size());
    std::uint32_t* const next = allocate<std::uint32_t>(owner, count);
    growing<std::uint32_t> members = {};
    // roots[root] becomes the end of the root's chain. Roots come before their rows, so a row that
    // is its own root has met no other row yet.
    for (std::uint32_t row = 0; row < count; row++) {
        const std::uint32_t root = roots[row];
        next[row] = no_row;
        if (root == row || root == no_row)
            continue;
        next[roots[root]] = row;
        roots[root] = row;
        roots[row] = no_row; // starts no chain
    }
    for (std::uint32_t root = 0; root < count; root++) {
        pause(owner);
        if (roots[root] == no_row)
            continue;
        std::size_t size = 0;
        for (std::uint32_t row = root; row != no_row; row = next[row]) {
            grow(owner, members, size, size + 1);
            members.values[size++] = row;
        }
        if (size >= least)
            visit(std::span<std::uint32_t>(members.values, size));
    }
    release(owner, next);
    release(owner, members.values);
}

} // namespace minhash::bulk
