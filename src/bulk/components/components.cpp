#include "bulk/components/components.h"
#include "bulk/components/union_find.h"

namespace minhash::bulk {

namespace {

std::span<std::uint32_t> parents_of(component_finder& finder, int level)
{
    return {finder.parents[level].values, finder.count};
}

// Adds a row to a level, unless the row is already there. The new row becomes its own parent.
void enter(std::span<std::uint32_t> parent, std::uint32_t row)
{
    if (parent[row] == no_row)
        parent[row] = row;
}

// Makes the connections of the previous level at this level, too. `roots` gives each row's root at the previous level.
void take_over(std::span<std::uint32_t> parent, std::span<const std::uint32_t> roots)
{
    for (std::uint32_t row = 0; row < roots.size(); row++) {
        if (roots[row] == no_row)
            continue;
        enter(parent, row);
        join(parent, row, roots[row]);
    }
}

// Replaces the parent of each row with the row's root. A parent never has a higher number than its row, so one pass in
// ascending order is enough.
void flatten(std::span<std::uint32_t> parent)
{
    for (std::uint32_t row = 0; row < parent.size(); row++)
        if (parent[row] != no_row) {
            assert(parent[row] <= row);
            parent[row] = parent[parent[row]];
        }
}

} // namespace

void start_finder(component_finder& fresh, host& owner, int levels)
{
    assert(levels >= 1 && levels <= most_levels && fresh.count == 0);
    fresh.owner = &owner;
    fresh.levels = levels;
}

void take_rows(component_finder& finder, std::uint32_t count)
{
    if (count <= finder.count)
        return;
    for (int level = 0; level < finder.levels; level++) {
        grow(*finder.owner, finder.parents[level], finder.count, count);
        std::fill(finder.parents[level].values + finder.count, finder.parents[level].values + count, no_row);
    }
    finder.count = count;
}

void join_rows(component_finder& finder, std::uint32_t a, std::uint32_t b, int level)
{
    assert(a < finder.count && b < finder.count && level >= 0 && level < finder.levels);
    const std::span<std::uint32_t> parent = parents_of(finder, level);
    enter(parent, a);
    enter(parent, b);
    join(parent, a, b);
}

void end_finder(component_finder& finder, void (*visit)(host& owner, int level, const component_rows& rows))
{
    host& owner = *finder.owner;
    for (int level = 0; level < finder.levels; level++) {
        pause(owner);
        const std::span<std::uint32_t> parent = parents_of(finder, level);
        flatten(parent);
        pause(owner);
        if (level + 1 < finder.levels)
            take_over(parents_of(finder, level + 1), parent);
        each_component(owner, parent, 1, [&](std::span<const std::uint32_t> rows, std::size_t later) {
            visit(owner, level, {rows, later});
        });
        release(owner, parent.data());
    }
}

} // namespace minhash::bulk
