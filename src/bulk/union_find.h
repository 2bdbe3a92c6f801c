// Connected components over the caller's array (Galler and Fischer 1964; path halving, Tarjan and
// van Leeuwen 1984). The root of a component is its smallest row, whatever the order of edges.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash::bulk {

inline void start_components(std::span<std::uint32_t> parent) noexcept
{
    for (std::size_t row = 0; row < parent.size(); row++)
        parent[row] = static_cast<std::uint32_t>(row);
}

inline std::uint32_t find_root(std::span<std::uint32_t> parent, std::uint32_t row) noexcept
{
    assert(row < parent.size());
    while (parent[row] != row) {
        assert(parent[row] < row);
        parent[row] = parent[parent[row]];
        row = parent[row];
    }
    return row;
}

inline void join(std::span<std::uint32_t> parent, std::uint32_t a, std::uint32_t b) noexcept
{
    const std::uint32_t root_a = find_root(parent, a);
    const std::uint32_t root_b = find_root(parent, b);
    parent[root_a < root_b ? root_b : root_a] = root_a < root_b ? root_a : root_b;
}

} // namespace minhash::bulk
