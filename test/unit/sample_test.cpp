#include "bulk/tuning/choose_bands.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using bulk_support::test_host;
using minhash::bulk::agreement_counts;

// Adds a signature's slots to a sample: all slots are 1, except the last ones, which are `own`.
void add(std::vector<std::uint8_t>& sample, const minhash::scheme& scheme, int different, std::uint32_t own)
{
    std::vector<std::uint32_t> slots(scheme.num_hashes, 1);
    std::fill(slots.end() - different, slots.end(), own);
    const auto bytes = minhash::signature{scheme, slots}.stored_slots();
    sample.insert(sample.end(), bytes.begin(), bytes.end());
}

TEST(sample, counts_in_how_many_slots_each_two_rows_agree)
{
    test_host host;
    minhash::scheme scheme = support::default_scheme;
    scheme.num_hashes = 20;
    std::vector<std::uint8_t> sample;
    std::uint32_t own = 7;
    for (const int different : {0, 3, 3, 5})
        add(sample, scheme, different, own++);
    minhash::bulk::sampled_counts room;
    const agreement_counts counts = tally_agreements(host, scheme, sample, room);
    ASSERT_EQ(counts.size(), 21U);
    std::vector<std::uint64_t> expected(21);
    expected[17] = 3; // the row with 0 meets the two with 3, and these meet each other
    expected[15] = 3; // the row with 5 meets each of the others
    EXPECT_EQ(std::vector<std::uint64_t>(counts.begin(), counts.end()), expected);
}

TEST(sample, rows_that_are_the_same_do_not_count)
{
    test_host host;
    const minhash::scheme scheme = support::default_scheme;
    std::vector<std::uint8_t> sample;
    for (int row = 0; row < 5; row++)
        add(sample, scheme, 0, 0);
    minhash::bulk::sampled_counts room;
    for (const std::uint64_t count : tally_agreements(host, scheme, sample, room))
        EXPECT_EQ(count, 0U);
}

TEST(sample, long_signatures_are_compared_by_their_first_slots)
{
    test_host host;
    for (const int bits : {32, 8}) {
        bulk_support::problem given;
        given.from_texts = false;
        given.task.scheme = support::default_scheme;
        given.task.scheme.num_hashes = 300;
        given.task.scheme.bits = static_cast<std::uint8_t>(bits);
        for (const std::uint8_t last : {std::uint8_t{1}, std::uint8_t{2}}) {
            std::vector<std::uint8_t>& slots = given.slots.emplace_back(minhash::slot_bytes(bits, 300), 9);
            std::fill(slots.begin() + static_cast<long>(minhash::slot_bytes(bits, 100)), slots.end(), last);
        }
        bulk_support::engine_call call = {&host, &given, bulk_support::job::pairs, 0, {}};
        minhash::bulk::sampled_counts room;
        double mean_bytes = 0;
        const agreement_counts counts = sample_rows(take_rows(call), room, mean_bytes);
        ASSERT_EQ(counts.size(), 129U);
        EXPECT_EQ(counts[100], 1U) << bits;
        EXPECT_EQ(mean_bytes, static_cast<double>(minhash::slot_bytes(bits, 300)));
    }
}

} // namespace
