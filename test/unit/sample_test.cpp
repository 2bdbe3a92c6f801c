#include "bulk/tuning/sample.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using bulk_support::test_host;
using minhash::bulk::agreement_counts;
using minhash::bulk::row_sample;

// A signature whose slots are 1, but for the last ones, which are `own`.
std::vector<std::uint32_t> slots_of(int num_hashes, int different, std::uint32_t own)
{
    std::vector<std::uint32_t> slots(static_cast<std::size_t>(num_hashes), 1);
    std::fill(slots.end() - different, slots.end(), own);
    return slots;
}

TEST(sample, counts_in_how_many_slots_each_two_rows_agree)
{
    test_host host;
    minhash::scheme scheme = support::default_scheme;
    scheme.num_hashes = 20;
    row_sample sample = minhash::bulk::start_sample(host, scheme);
    for (const int different : {0, 3, 3, 5}) {
        const std::vector<std::uint32_t> slots = slots_of(20, different, sample.count + std::uint32_t{7});
        add_to_sample(sample, {scheme, slots});
    }
    add_to_sample(sample, {scheme, {}}); // the empty set is near nothing
    EXPECT_EQ(sample.count, 4U);
    minhash::bulk::sampled_counts room;
    const agreement_counts counts = tally_agreements(sample, room);
    ASSERT_EQ(counts.size(), 21U);
    std::vector<std::uint64_t> expected(21);
    expected[17] = 3; // 0 and 3, twice, and the two of 3
    expected[15] = 3; // all with that of 5
    EXPECT_EQ(std::vector<std::uint64_t>(counts.begin(), counts.end()), expected);
}

TEST(sample, rows_that_are_the_same_do_not_count)
{
    test_host host;
    minhash::scheme scheme = support::default_scheme;
    row_sample sample = minhash::bulk::start_sample(host, scheme);
    const std::vector<std::uint32_t> slots = slots_of(scheme.num_hashes, 0, 0);
    for (int row = 0; row < 5; row++)
        add_to_sample(sample, {scheme, slots});
    minhash::bulk::sampled_counts room;
    for (const std::uint64_t count : tally_agreements(sample, room))
        EXPECT_EQ(count, 0U);
}

TEST(sample, long_signatures_are_compared_by_their_first_slots)
{
    test_host host;
    for (const int bits : {32, 8}) {
        minhash::scheme scheme = support::default_scheme;
        scheme.num_hashes = 300;
        scheme.bits = static_cast<std::uint8_t>(bits);
        row_sample sample = minhash::bulk::start_sample(host, scheme);
        for (const std::uint8_t last : {std::uint8_t{1}, std::uint8_t{2}}) {
            std::vector<std::uint8_t> slots(minhash::slot_bytes(bits, 300), 9);
            std::fill(slots.begin() + static_cast<long>(minhash::slot_bytes(bits, 100)), slots.end(), last);
            add_to_sample(sample, minhash::with_slots(scheme, slots));
        }
        minhash::bulk::sampled_counts room;
        const agreement_counts counts = tally_agreements(sample, room);
        ASSERT_EQ(counts.size(), 129U);
        EXPECT_EQ(counts[100], 1U) << bits;
    }
}

} // namespace
