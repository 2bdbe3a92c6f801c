#include "bulk/search/pairs.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using bulk_support::check_pairs;
using bulk_support::many_alike;
using bulk_support::problem;

TEST(pairs, are_those_that_brute_force_finds)
{
    support::random_source random = {82};
    for (int round = 0; round < 500; round++) {
        const problem given = bulk_support::random_problem(random, 60);
        ASSERT_EQ(check_pairs(given), "") << "round " << round;
    }
}

TEST(pairs, of_rows_that_were_told_apart_are_left_out)
{
    support::random_source random = {88};
    for (int round = 0; round < 500; round++) {
        problem given = bulk_support::random_problem(random, 60);
        bulk_support::tell_apart(given, random);
        ASSERT_EQ(check_pairs(given), "") << "round " << round;
    }
}

// Between two queries, a verdict is on a row of the first and one of the second.
TEST(pairs, across_queries_are_told_apart_in_one_direction)
{
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {64, 2};
    given.task.threshold = 0.8;
    given.task.exact = true;
    given.texts = std::vector<std::string>(4, "the same text");
    given.first_count = 2;
    given.crossing = true;
    given.ids = {0, 1, 0, 1};
    given.verdicts = {{0, 0}, {0, 1}};
    const bulk_support::pair_list expected = {{1, 2, 1}, {1, 3, 1}};
    EXPECT_EQ(bulk_support::truth(given).pairs(), expected);
    EXPECT_EQ(check_pairs(given), "");
}

TEST(pairs, large_buckets_give_what_small_ones_give)
{
    for (const bool crossing : {false, true}) {
        for (const std::size_t memory : {std::size_t{0}, std::size_t{1} << 24}) {
            problem given = many_alike(150);
            given.crossing = crossing;
            given.memory = memory;
            EXPECT_EQ(check_pairs(given), "");
            given.task.exact = false;
            EXPECT_EQ(check_pairs(given), "");
            given.task.max_bucket = 60;
            EXPECT_EQ(check_pairs(given), "");
        }
    }
}

TEST(pairs, a_bucket_of_just_the_largest_size_is_kept)
{
    problem given = many_alike(40);
    given.task.banding = {1, 1};
    given.task.threshold = 0;
    const std::size_t all = bulk_support::truth(given).pairs().size();
    for (given.task.max_bucket = 1; given.task.max_bucket < 45; given.task.max_bucket++) {
        EXPECT_EQ(check_pairs(given), "");
        EXPECT_LE(bulk_support::truth(given).pairs().size(), all);
    }
}

TEST(pairs, long_texts_outgrow_the_first_table)
{
    support::random_source random = {83};
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {128, 1};
    given.task.threshold = 0.1;
    given.task.exact = true;
    const std::string common = texts::make(texts::kinds[0], 20'000, random);
    given.texts.push_back("a short one " + common.substr(0, 100));
    for (const std::size_t length : {1000u, 400'000u, 90'000u, 5u})
        given.texts.push_back(common + texts::make(texts::kinds[0], length, random));
    EXPECT_EQ(check_pairs(given), "");
    given.task.scheme.shingles.bag = true;
    EXPECT_EQ(check_pairs(given), "");
    given.memory = 0;
    EXPECT_EQ(check_pairs(given), "");
}

// Makes signatures that have more slots than are compared first. Their first slots alone cannot show that two rows are
// not near.
problem families_of_signatures(std::uint8_t bits, std::uint16_t num_hashes, std::size_t rows)
{
    support::random_source random = {95};
    problem made;
    made.from_texts = false;
    made.task.scheme = support::default_scheme;
    made.task.scheme.method = minhash::method::external;
    made.task.scheme.bits = bits;
    made.task.scheme.num_hashes = num_hashes;
    made.task.banding = {num_hashes / 2, 2};
    for (std::size_t row = 0; row < rows; row++) {
        support::random_source own = {row % 2};
        auto& slots = made.slots.emplace_back(minhash::slot_bytes(bits, num_hashes));
        for (std::uint8_t& byte : slots) {
            const auto common = static_cast<std::uint8_t>(own.below(256));
            byte = random.below(4) > 0 ? common : static_cast<std::uint8_t>(random.below(256));
        }
        made.ranks.push_back(static_cast<std::uint32_t>(row));
    }
    return made;
}

TEST(pairs, long_signatures_lose_nothing_by_their_first_slots)
{
    for (const int num_hashes : {128, 129, 200, 256, 512, 1024}) {
        problem given = families_of_signatures(8, static_cast<std::uint16_t>(num_hashes), 40);
        for (given.task.threshold = 0; given.task.threshold < 1; given.task.threshold += 0.1) {
            EXPECT_EQ(check_pairs(given), "") << num_hashes << " at " << given.task.threshold;
            EXPECT_EQ(bulk_support::check_clusters(given), "") << num_hashes << " at " << given.task.threshold;
        }
    }
}

TEST(pairs, low_thresholds_of_exact_pairs_lose_nothing_by_first_slots)
{
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.scheme.num_hashes = 512;
    given.task.banding = {512, 1};
    given.task.exact = true;
    support::random_source random = {96};
    const std::string common = texts::make(texts::kinds[0], 150, random);
    for (std::size_t i = 0; i < 60; i++)
        given.texts.push_back(common + texts::make(texts::kinds[0], 500 + random.below(1500), random));
    for (const double recall : {0.95, 0.99999})
        for (const double threshold : {0.02, 0.05, 0.1, 0.2}) {
            given.task.recall = recall;
            given.task.threshold = threshold;
            EXPECT_EQ(check_pairs(given), "") << threshold << " with recall " << recall;
        }
}

} // namespace
