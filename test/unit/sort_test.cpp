#include "core/sort.h"

#include <gtest/gtest.h>
#include <vector>

#include "support.h"

namespace {

// Values of which only the bytes that `used` has set are not 0.
std::vector<std::uint64_t> random_values(std::uint64_t seed, std::size_t count, std::uint64_t used)
{
    support::random_source random = {seed};
    std::vector<std::uint64_t> values(count);
    for (std::uint64_t& value : values)
        value = random.next() & used;
    return values;
}

TEST(sort, by_radix_equals_sort_by_comparison)
{
    for (const std::size_t count : {0, 1, 2, 64, 65, 5000})
        for (const std::uint64_t used : {~std::uint64_t{0}, std::uint64_t{0xFF00FF0000FF}, std::uint64_t{0x1FF}}) {
            std::vector<std::uint64_t> values = random_values(count, count, used);
            std::vector<std::uint64_t> expected = values;
            std::sort(expected.begin(), expected.end());
            std::vector<std::uint64_t> other(count);
            const std::uint64_t* const sorted = minhash::radix_sort<0>(values.data(), other.data(), count, [] {});
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted)) << count << " " << used;
        }
}

TEST(sort, by_radix_leaves_out_the_bytes_that_are_in_order)
{
    constexpr int ordinal_bits = 24;
    for (const std::size_t count : {50, 10000}) {
        std::vector<std::uint64_t> values = random_values(count, count, 0xFFFF);
        for (std::size_t ordinal = 0; ordinal < count; ordinal++)
            values[ordinal] = values[ordinal] << ordinal_bits | ordinal;
        std::vector<std::uint64_t> expected = values;
        std::sort(expected.begin(), expected.end());
        std::vector<std::uint64_t> other(count);
        int passes = 0;
        const std::uint64_t* const sorted =
            minhash::radix_sort<ordinal_bits / 8>(values.data(), other.data(), count, [&] { passes++; });
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sorted)) << count;
        EXPECT_LE(passes, 5);
    }
}

TEST(sort, counts_become_the_positions_of_first_values)
{
    std::uint32_t counts[] = {2, 0, 3, 1};
    EXPECT_EQ(minhash::sum_counts<std::uint32_t>(counts), 6u);
    EXPECT_EQ(std::vector(std::begin(counts), std::end(counts)), (std::vector<std::uint32_t>{0, 2, 2, 5}));
}

} // namespace
