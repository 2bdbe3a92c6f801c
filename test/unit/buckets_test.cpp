#include "bulk/buckets/buckets.h"

#include <chrono>
#include <gtest/gtest.h>
#include <map>

#include "support.h"

namespace {

using entry_list = std::vector<std::uint64_t>;
using bucket_list = std::vector<std::vector<std::uint32_t>>;

// Returns all buckets of a partition. Each array is exactly as long as needed, so that ASan sees any access beyond it.
bucket_list group(const entry_list& entries)
{
    const std::size_t count = entries.size();
    const std::unique_ptr<std::uint32_t[]> table(new std::uint32_t[minhash::bulk::bucket_table_size(count)]);
    const std::unique_ptr<std::uint32_t[]> next(new std::uint32_t[count]);
    const std::unique_ptr<std::uint32_t[]> shared(new std::uint32_t[count]);
    const std::unique_ptr<std::uint32_t[]> rows(new std::uint32_t[count]);
    bucket_list found;
    minhash::bulk::each_bucket(
        {entries.data(), count},
        {table.get(), next.get(), shared.get(), rows.get()},
        [&found](std::span<const std::uint32_t> bucket) { found.emplace_back(bucket.begin(), bucket.end()); });
    return found;
}

// Finds the buckets that group() must return, in a slow and simple way.
bucket_list group_slowly(const entry_list& entries)
{
    std::map<std::uint64_t, std::vector<std::uint32_t>> by_key;
    for (const std::uint64_t entry : entries)
        by_key[entry >> 32].push_back(static_cast<std::uint32_t>(entry));
    bucket_list found;
    for (const auto& [key, rows] : by_key)
        if (rows.size() > 1)
            found.push_back(rows);
    return found;
}

void expect_groups(const entry_list& entries)
{
    bucket_list found = group(entries);
    bucket_list expected = group_slowly(entries);
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << entries.size() << " entries";
}

// Makes entries whose row numbers are in no order and have gaps, as if a partition had only some of all rows.
template <typename Key>
entry_list make_entries(std::size_t count, Key key)
{
    entry_list made;
    for (std::size_t i = 0; i < count; i++)
        made.push_back(minhash::bulk::make_entry(key(i), static_cast<std::uint32_t>(i * 2654435761u)));
    return made;
}

TEST(buckets, are_those_of_a_map)
{
    support::random_source random = {71};
    for (std::size_t count = 0; count <= 5000; count = count * 3 / 2 + 1) {
        for (const std::size_t distinct : {std::size_t{1}, std::size_t{2}, count / 2 + 1, count + 1})
            expect_groups(make_entries(count, [&](std::size_t) {
                return static_cast<std::uint32_t>(random.below(distinct) * 0x9E3779B9u);
            }));
        expect_groups(make_entries(count, [](std::size_t i) { return static_cast<std::uint32_t>(i); }));
        expect_groups(make_entries(count, [](std::size_t) { return 0xFFFFFFFFu; }));
        // Keys with equal low bits, or consecutive keys, lie in one run of the table.
        expect_groups(make_entries(count, [](std::size_t i) { return static_cast<std::uint32_t>(i % 99) << 20; }));
        expect_groups(
            make_entries(count, [](std::size_t i) { return static_cast<std::uint32_t>(0xFFFFFFF0u + i % 40); }));
    }
}

TEST(buckets, all_buckets_of_a_partition_and_their_rows_in_order)
{
    const bucket_list found = group({minhash::bulk::make_entry(7, 3),
                                     minhash::bulk::make_entry(9, 4),
                                     minhash::bulk::make_entry(7, 5),
                                     minhash::bulk::make_entry(8, 6),
                                     minhash::bulk::make_entry(9, 0),
                                     minhash::bulk::make_entry(7, 1)});
    const bucket_list expected = {{3, 5, 1}, {4, 0}};
    EXPECT_EQ(bucket_list(found.rbegin(), found.rend()).size(), 2u);
    EXPECT_TRUE(found == expected || found == bucket_list(expected.rbegin(), expected.rend()));
}

// Somebody can craft texts whose keys have equal low bits. Then probing takes time in proportion to the square of a
// partition's size, which is some thousand entries: one nanosecond per pair of entries. That is less than verifying the
// pairs of an ordinary bucket of this size, so keys are not hashed again.
TEST(buckets, crafted_keys_cost_less_than_an_honest_bucket)
{
    const entry_list entries = make_entries(4096, [](std::size_t i) { return static_cast<std::uint32_t>(i) << 20; });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(group(entries).empty());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(buckets, partitions_follow_the_order_of_keys)
{
    int last = 0;
    for (std::size_t rows = 1; rows < 3'000'000'000; rows += 1 + rows / 7) {
        const int bits = minhash::bulk::partition_bits(rows);
        EXPECT_GE(bits, last);
        EXPECT_LE(bits, 12);
        last = bits;
        const std::size_t partitions = std::size_t{1} << bits;
        EXPECT_EQ(minhash::bulk::partition_of(0, bits), 0u);
        EXPECT_EQ(minhash::bulk::partition_of(0xFFFFFFFF, bits), partitions - 1);
        if (bits < 12) {
            EXPECT_LE(rows / partitions, 2048u);
        }
    }
    EXPECT_EQ(minhash::bulk::partition_bits(0), 0);
    EXPECT_EQ(minhash::bulk::partition_of(0x80000000, 1), 1u);
    EXPECT_EQ(minhash::bulk::partition_of(0x7FFFFFFF, 1), 0u);
}

TEST(buckets, tables_have_room_and_numbers_for_all_rows)
{
    for (std::size_t entries = 0; entries < minhash::bulk::most_rows; entries += 1 + entries / 5)
        EXPECT_GT(minhash::bulk::bucket_table_size(entries), entries);
    EXPECT_EQ(minhash::bulk::bucket_table_size(minhash::bulk::most_rows), std::size_t{1} << 32);
    EXPECT_EQ(minhash::bulk::make_entry(0xFFFFFFFF, 1), 0xFFFFFFFF'00000001u);
}

} // namespace
