// Crafted sets must be as cheap as random ones in every table with open addressing. The tests count probes, which show
// how far entries lie from their place.

#include "bulk/sets/distinct_elements.h"

#include "core/probe.h"

#include <gtest/gtest.h>
#include <set>

#include "bulk_support.h"

namespace {

using reference::hash_list;

constexpr std::size_t count = 20000;
constexpr std::size_t entries = 65536;

// The mean number of probes that it takes to find an entry. `hash_at` returns the hash of the entry at an index, if
// that entry is in use.
template <typename HashAt>
double probes_per_entry(std::size_t table_size, HashAt hash_at)
{
    std::size_t used = 0;
    std::size_t probes = 0;
    for (std::size_t at = 0; at < table_size; at++) {
        std::uint64_t hash;
        if (!hash_at(at, hash))
            continue;
        used++;
        probes += 1 + ((at - minhash::first_cell(hash)) & (table_size - 1));
    }
    EXPECT_EQ(used, count);
    return static_cast<double>(probes) / static_cast<double>(used);
}

// The inverse of minhash::fmix64.
std::uint64_t unmix(std::uint64_t x)
{
    x = (x ^ x >> 33) * 0x9CB4B2F8129337DB;
    x = (x ^ x >> 33) * 0x4F74430C22A54005;
    return x ^ x >> 33;
}

// Sets of hashes that share bits: those at the ends, those that a public mix would move to the ends, and consecutive
// numbers.
std::vector<hash_list> crafted_sets()
{
    std::vector<hash_list> sets(6);
    for (std::uint64_t i = 1; i <= count; i++) {
        sets[0].push_back(i << 40 | 5);
        sets[1].push_back(i);
        sets[2].push_back(unmix(i << 40));
        sets[3].push_back(unmix(i));
        sets[4].push_back(i * 0x9E3779B97F4A7C15);
        sets[5].push_back((i & 0xFF) << 56 | i >> 8);
    }
    return sets;
}

double probes_of_bag(const hash_list& shingles)
{
    std::vector<std::uint32_t> room(entries * 2 * 3);
    const auto counter = std::make_unique<minhash::bag_counter>();
    minhash::start(*counter, room);
    const auto batch = std::make_unique<minhash::shingle_batch>();
    do {
        for (std::size_t at = 0; at < shingles.size(); at += 1000) {
            batch->count = std::min<std::size_t>(1000, shingles.size() - at);
            for (std::size_t i = 0; i < batch->count; i++)
                minhash::split(shingles[at + i], batch->lo[i], batch->hi[i]);
            minhash::number_occurrences(*counter, *batch);
        }
    } while (minhash::start_next_pass(*counter));
    EXPECT_EQ(counter->range_bits, 0);
    return probes_per_entry(counter->entries, [&](std::size_t at, std::uint64_t& hash) {
        const std::uint32_t* const entry = counter->room.data() + at * 3;
        hash = minhash::join(entry[0], entry[1]);
        return entry[2] > 0;
    });
}

double probes_of_distinct_elements(const hash_list& elements)
{
    bulk_support::test_host host;
    minhash::bulk::distinct_elements set = {};
    set.owner = &host;
    start_elements(set, elements.size());
    for (const std::uint64_t element : elements) {
        const std::uint32_t lo = minhash::low(element);
        const std::uint32_t hi = minhash::high(element);
        add(set, &lo, &hi, 1);
    }
    return probes_per_entry(set.entries, [&](std::size_t at, std::uint64_t& hash) {
        hash = set.list.values[set.table.values[at]];
        return hash != 0;
    });
}

// Each shingle has four letters.
double probes_of_exact(const std::vector<std::string>& shingles)
{
    std::string text;
    for (const std::string& shingle : shingles)
        text += shingle;
    std::vector<minhash::counted_shingle> counted(entries / 2);
    std::vector<std::uint32_t> table(entries);
    minhash::shingle_counts counts = {reinterpret_cast<const std::uint8_t*>(text.data()), false, counted, 0, table, {}};
    minhash::shingle_group one;
    one.count = 1;
    for (std::uint32_t at = 0; at < text.size(); at += 4) {
        one.begin[0] = at;
        one.end[0] = at + 4;
        minhash::split(minhash::hash_bytes(counts.buffer + at, 4, 0), one.lo[0], one.hi[0]);
        minhash::count(counts, one, 0);
    }
    return probes_per_entry(entries, [&](std::size_t at, std::uint64_t& hash) {
        if (table[at] == 0)
            return false;
        hash = counted[table[at] - 1].hash;
        return true;
    });
}

TEST(probe, crafted_hashes_are_as_cheap_as_random_ones)
{
    support::random_source random = {91};
    const hash_list any = support::random_hashes(random, count);
    const double bag = probes_of_bag(any);
    const double elements = probes_of_distinct_elements(any);
    EXPECT_LT(bag, 1.5);
    EXPECT_LT(elements, 1.5);
    for (const hash_list& crafted : crafted_sets()) {
        ASSERT_EQ(std::set(crafted.begin(), crafted.end()).size(), count);
        EXPECT_LT(probes_of_bag(crafted), 3 * bag);
        EXPECT_LT(probes_of_distinct_elements(crafted), 3 * elements);
    }
}

TEST(probe, crafted_texts_are_as_cheap_as_random_ones)
{
    std::vector<std::string> all;
    for (char a = 'a'; a <= 'z'; a++)
        for (char b = 'a'; b <= 'z'; b++)
            for (char c = '0'; c <= 'z'; c++)
                for (char d = '0'; d <= 'z'; d++)
                    all.push_back({a, b, c, d});
    // Of 3.8 million hashes, uses those that share the lowest seven bits.
    std::vector<std::string> crafted;
    for (const std::string& shingle : all)
        if (XXH3_64bits(shingle.data(), shingle.size()) % 128 == 77)
            crafted.push_back(shingle);
    ASSERT_GE(crafted.size(), count);
    crafted.resize(count);
    all.resize(count);
    const double random = probes_of_exact(all);
    EXPECT_LT(random, 1.5);
    EXPECT_LT(probes_of_exact(crafted), 3 * random);
}

TEST(probe, no_result_depends_on_the_secret)
{
    const minhash::probe_secret before = minhash::probing;
    support::random_source random = {92};
    std::string text;
    for (int i = 0; i < 3000; i++)
        text += static_cast<char>('a' + random.below(4));
    minhash::scheme scheme = support::default_scheme;
    scheme.shingles.bag = true;
    const support::slot_list expected = support::sign(text, scheme);
    for (int round = 0; round < 5; round++) {
        minhash::set_probe_secret(random.next(), random.next());
        EXPECT_EQ(minhash::probing.factor % 2, 1u);
        EXPECT_EQ(support::sign(text, scheme), expected);
    }
    minhash::probing = before;
}

} // namespace
