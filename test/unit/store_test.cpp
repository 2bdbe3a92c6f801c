#include "bulk/memory/store.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

namespace bulk = minhash::bulk;
using bulk_support::test_host;

TEST(store, gives_back_what_was_appended_in_memory_and_in_files)
{
    support::random_source random = {81};
    for (int round = 0; round < 60; round++) {
        test_host host;
        bulk::memory_budget budget = bulk::make_budget(host, std::size_t{1} << (10 + random.below(8)));
        const std::size_t stores = 1 + random.below(4);
        std::vector<bulk::byte_store*> all;
        std::vector<std::string> expected(stores);
        for (std::size_t i = 0; i < stores; i++)
            all.push_back(bulk::open_store(budget,
                                           std::size_t{1} << (10 + random.below(3)),
                                           random.below(2) == 0 ? bulk::reading::in_order : bulk::reading::at_random));
        for (int step = 0; step < 400; step++) {
            const std::size_t i = random.below(stores);
            std::string bytes(random.below(10) == 0 ? random.below(9000) : random.below(40), 'x');
            for (char& byte : bytes)
                byte = static_cast<char>(random.next());
            bulk::append(*all[i], bytes.data(), bytes.size());
            expected[i] += bytes;

            if (expected[i].empty())
                continue;
            const std::size_t offset = random.below(expected[i].size());
            const std::size_t count = 1 + random.below(std::min<std::size_t>(expected[i].size() - offset, 5000));
            const std::unique_ptr<char[]> buffer(new char[count]);
            const void* const found = bulk::fetch(*all[i], offset, count, buffer.get());
            ASSERT_EQ(std::string(static_cast<const char*>(found), count), expected[i].substr(offset, count));
        }
        std::uint64_t filed = 0;
        for (std::size_t i = 0; i < stores; i++) {
            ASSERT_EQ(all[i]->size, expected[i].size());
            filed += all[i]->filed;
            std::string read;
            bulk::each_piece<char>(*all[i], 0, all[i]->size, [&read](std::span<const char> piece) {
                read.append(piece.data(), piece.size());
            });
            ASSERT_EQ(read, expected[i]);
        }
        EXPECT_EQ(budget.filed, filed);
        EXPECT_GE(bulk::needed_bytes(budget), filed);
        // Each store keeps its last chunk in memory.
        EXPECT_LE(budget.used, budget.limit + stores * 4096);
    }
}

TEST(store, chunks_become_smaller_where_memory_is_short)
{
    test_host host;
    const bulk::memory_budget plenty = bulk::make_budget(host, 1 << 30);
    EXPECT_EQ(bulk::chunk_for(plenty, 10, 64 * 1024), 64u * 1024);
    const bulk::memory_budget little = bulk::make_budget(host, 1 << 20);
    EXPECT_EQ(bulk::chunk_for(little, 64, 64 * 1024), 4096u);
    EXPECT_EQ(bulk::chunk_for(little, 5000, 64 * 1024), 1024u);
}

TEST(store, files_first_what_is_read_in_order)
{
    constexpr std::size_t chunk = 1024;
    test_host host;
    bulk::memory_budget budget = bulk::make_budget(host, 20 * chunk);
    bulk::byte_store& at_random = *bulk::open_store(budget, chunk);
    bulk::byte_store& in_order = *bulk::open_store(budget, chunk, bulk::reading::in_order);
    const std::string bytes(chunk, 'x');
    for (int i = 0; i < 16; i++)
        bulk::append(at_random, bytes.data(), bytes.size());
    for (int i = 0; i < 8; i++)
        bulk::append(in_order, bytes.data(), bytes.size());
    EXPECT_EQ(at_random.filed, 0);
    EXPECT_GT(in_order.filed, 0);
    for (int i = 0; i < 16; i++)
        bulk::append(at_random, bytes.data(), bytes.size());
    EXPECT_GT(at_random.filed, 0);
}

} // namespace
