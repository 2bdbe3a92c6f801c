// Finds connected components in an array of the caller, which has the parent of each row (Galler and Fischer 1964; path
// halving: Tarjan and van Leeuwen 1984). The root of a component is its smallest row, whatever the order of joins.
// Several processes may join rows at the same time: a root gets a parent by compare-and-swap, and a row that is not a
// root may always be given another of its ancestors as its parent (Anderson and Woll 1991).
#pragma once

#include <atomic>
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
    const auto parent_of = [parent](std::uint32_t of) {
        return std::atomic_ref(parent[of]).load(std::memory_order_relaxed);
    };
    for (std::uint32_t above = parent_of(row); above != row; above = parent_of(row)) {
        assert(above < row);
        const std::uint32_t next = parent_of(above);
        if (next != above)
            std::atomic_ref(parent[row]).store(next, std::memory_order_relaxed);
        row = next;
    }
    return row;
}

inline void join(std::span<std::uint32_t> parent, std::uint32_t a, std::uint32_t b) noexcept
{
    for (;;) {
        const std::uint32_t root_a = find_root(parent, a);
        const std::uint32_t root_b = find_root(parent, b);
        std::uint32_t root = root_a < root_b ? root_b : root_a;
        const std::uint32_t smaller = root_a < root_b ? root_a : root_b;
        if (root == smaller || std::atomic_ref(parent[root]).compare_exchange_strong(root, smaller))
            return;
    }
}

} // namespace minhash::bulk
