#include "bulk/pairs.h"

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
    given.task.shape = {1, 1};
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
    given.task.shape = {128, 1};
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

} // namespace
