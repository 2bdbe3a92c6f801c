#include "bulk/components/components.h"
#include "bulk/components/numbering.h"

#include <gtest/gtest.h>
#include <numeric>

#include "bulk_support.h"

namespace {

namespace bulk = minhash::bulk;
using bulk_support::test_host;

struct edge {
    std::uint32_t a;
    std::uint32_t b;
    int level;
};

using component_list = std::set<std::pair<int, std::vector<std::uint32_t>>>;

struct collecting_host : test_host {
    component_list found;
};

void collect(bulk::host& host, int level, const bulk::component_rows& found)
{
    static_cast<collecting_host&>(host).found.emplace(level,
                                                      std::vector<std::uint32_t>(found.rows.begin(), found.rows.end()));
}

component_list components(const std::vector<edge>& edges, int levels)
{
    collecting_host host;
    bulk::component_finder finder = {};
    bulk::start_finder(finder, host, levels);
    for (const edge& each : edges) {
        bulk::take_rows(finder, std::max(each.a, each.b) + 1);
        bulk::join_rows(finder, each.a, each.b, each.level);
    }
    bulk::end_finder(finder, collect);
    return host.found;
}

// Computes each level separately: along the edges of the level, the smaller row number is passed on until nothing
// changes.
component_list components_slowly(const std::vector<edge>& edges, int levels)
{
    component_list found;
    for (int level = 0; level < levels; level++) {
        std::map<std::uint32_t, std::uint32_t> smallest;
        for (const edge& each : edges)
            if (each.level <= level)
                smallest[each.a] = each.a, smallest[each.b] = each.b;
        for (bool changed = true; changed;) {
            changed = false;
            for (const edge& each : edges) {
                if (each.level > level || smallest[each.a] == smallest[each.b])
                    continue;
                smallest[each.a] = smallest[each.b] = std::min(smallest[each.a], smallest[each.b]);
                changed = true;
            }
        }
        std::map<std::uint32_t, std::vector<std::uint32_t>> members;
        for (const auto& [row, root] : smallest)
            members[root].push_back(row);
        for (const auto& [root, rows] : members)
            found.emplace(level, rows);
    }
    return found;
}

TEST(components, are_those_of_each_level)
{
    support::random_source random = {14};
    for (int round = 0; round < 300; round++) {
        const std::size_t rows = 1 + random.below(80);
        const int levels = 1 + static_cast<int>(random.below(4));
        std::vector<edge> edges(random.below(2 * rows));
        for (edge& each : edges)
            each = {static_cast<std::uint32_t>(random.below(rows)),
                    static_cast<std::uint32_t>(random.below(rows)),
                    static_cast<int>(random.below(static_cast<std::size_t>(levels)))};
        ASSERT_EQ(components(edges, levels), components_slowly(edges, levels)) << "round " << round;
    }
}

TEST(components, a_row_of_a_pair_with_itself_is_one)
{
    EXPECT_EQ(components({{0, 0, 1}}, 2), (component_list{{1, {0}}}));
    EXPECT_EQ(components({}, 2), component_list());
}

TEST(components, a_path_of_a_million_is_one_component)
{
    constexpr std::uint32_t rows = 1'000'000;
    std::vector<std::uint32_t> all(rows);
    std::iota(all.begin(), all.end(), 0);
    for (const std::uint32_t step : {7919u, rows - 1}) { // shuffled, backwards
        std::vector<edge> edges;
        for (std::uint64_t i = 0, at = 0; i < rows; i++, at = (at + step) % rows)
            if (at + 1 < rows)
                edges.push_back(
                    {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + 1), static_cast<int>(at % 2)});
        EXPECT_EQ(components(edges, 2).count({1, all}), 1u);
    }
}

TEST(numbering, numbers_values_in_the_order_in_which_they_come)
{
    test_host host;
    support::random_source random = {15};
    // Hashes of few bits make many values collide.
    for (const std::uint32_t mask : {0u, 7u, 0xFFFFFFFFu}) {
        bulk::numbering numbers = bulk::start_numbering(host);
        std::vector<std::uint64_t> values;
        std::map<std::uint64_t, std::uint32_t> expected;
        const std::size_t most = mask == 0xFFFFFFFFu ? 20'000 : 500;
        for (std::size_t i = 0; i < 3 * most; i++) {
            const std::uint64_t value = random.below(most);
            const auto hash = static_cast<std::uint32_t>(minhash::first_cell(value)) & mask;
            bulk::prefetch_entry(numbers, hash);
            const std::uint32_t likely = bulk::likely_number(numbers, hash);
            EXPECT_TRUE(likely == bulk::no_row || likely < values.size());
            const std::uint32_t number =
                bulk::number_of(numbers, hash, [&](std::uint32_t other) { return values[other] == value; });
            EXPECT_EQ(number, expected.try_emplace(value, static_cast<std::uint32_t>(values.size())).first->second);
            if (number == values.size())
                values.push_back(value);
        }
        EXPECT_EQ(numbers.count, values.size());
    }
}

} // namespace
