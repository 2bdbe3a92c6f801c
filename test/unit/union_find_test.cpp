#include "bulk/components/union_find.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "support.h"

namespace {

using row_list = std::vector<std::uint32_t>;
using edge_list = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

row_list roots(std::size_t rows, const edge_list& edges)
{
    row_list parent(rows);
    minhash::bulk::start_components(parent);
    for (const auto& [a, b] : edges)
        minhash::bulk::join(parent, a, b);
    row_list found(rows);
    for (std::size_t row = 0; row < rows; row++)
        found[row] = minhash::bulk::find_root(parent, static_cast<std::uint32_t>(row));
    return found;
}

// The smallest row of each component, found by passing the smaller row number on along the edges until nothing changes.
row_list roots_slowly(std::size_t rows, const edge_list& edges)
{
    row_list smallest(rows);
    std::iota(smallest.begin(), smallest.end(), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& [a, b] : edges) {
            changed = changed || smallest[a] != smallest[b];
            smallest[a] = smallest[b] = std::min(smallest[a], smallest[b]);
        }
    }
    return smallest;
}

TEST(union_find, roots_are_the_smallest_rows_whatever_the_order_of_edges)
{
    support::random_source random = {72};
    for (const std::size_t rows : {1u, 2u, 10u, 300u}) {
        for (const std::size_t count : {std::size_t{0}, rows / 2, rows, rows * 3}) {
            edge_list edges(count);
            for (auto& [a, b] : edges) {
                a = static_cast<std::uint32_t>(random.below(rows));
                b = static_cast<std::uint32_t>(random.below(rows));
            }
            const row_list expected = roots_slowly(rows, edges);
            for (int order = 0; order < 5; order++) {
                EXPECT_EQ(roots(rows, edges), expected);
                for (std::size_t i = edges.size(); i > 1; i--)
                    std::swap(edges[i - 1], edges[random.below(i)]);
            }
        }
    }
}

TEST(union_find, a_long_chain_is_one_component)
{
    edge_list upwards, downwards;
    for (std::uint32_t row = 1; row < 200'000; row++)
        upwards.emplace_back(row - 1, row);
    downwards.assign(upwards.rbegin(), upwards.rend());
    EXPECT_EQ(roots(200'000, upwards), row_list(200'000, 0));
    EXPECT_EQ(roots(200'000, downwards), row_list(200'000, 0));
}

} // namespace
