#include "bulk/search/clusters.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using bulk_support::check_clusters;
using bulk_support::problem;

TEST(clusters, are_the_components_of_true_pairs)
{
    support::random_source random = {84};
    for (int round = 0; round < 500; round++) {
        const problem given = bulk_support::random_problem(random, 60);
        ASSERT_EQ(check_clusters(given), "") << "round " << round;
    }
}

// Each text shares most of its words with the next one: they are one component, whose ends are far apart.
TEST(clusters, chains_are_one_cluster_unless_members_must_be_near)
{
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {64, 2};
    given.task.threshold = 0.7;
    given.task.exact = true;
    for (int i = 0; i < 60; i++) {
        std::string text;
        for (int word = 0; word < 40; word++)
            text += std::to_string((i * 3 + word) * 7919) + " ";
        given.texts.push_back(text);
        given.ranks.push_back(static_cast<std::uint32_t>(i * 37 % 60));
    }
    EXPECT_EQ(bulk_support::truth(given).clusters().size(), 1u);
    EXPECT_EQ(check_clusters(given), "");
    given.clusters.near_representative = true;
    EXPECT_GT(bulk_support::truth(given).clusters().size(), 5u);
    EXPECT_EQ(check_clusters(given), "");
    given.clusters.singletons = true;
    EXPECT_EQ(check_clusters(given), "");
}

// Some verdicts are on twins, on rows with one id, on ids of no row, or on an id and itself.
TEST(clusters, have_no_rows_that_were_told_apart)
{
    support::random_source random = {86};
    for (int round = 0; round < 500; round++) {
        problem given = bulk_support::random_problem(random, 60);
        bulk_support::tell_apart(given, random);
        ASSERT_EQ(check_clusters(given), "") << "round " << round;
    }
}

// All rows are near each other. The row that was told apart from the best row leads a cluster of its own, and the row
// that was told apart from another member of the first cluster joins it.
TEST(clusters, take_rows_that_better_clusters_must_not_have)
{
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {64, 2};
    given.task.threshold = 0.8;
    given.task.exact = true;
    given.texts = std::vector<std::string>(6, "the same text");
    given.ranks = std::vector<std::uint32_t>(6, 0);
    given.clusters.near_representative = true;
    given.ids = {0, 1, 2, 3, 4, minhash::bulk::no_row};
    given.verdicts = {{2, 0}, {1, 3}, {4, 4}, {7, 9}, {0, 2}};
    const bulk_support::cluster_list expected = {{{0, 1}, {1, 1}, {4, 1}, {5, 1}}, {{2, 1}, {3, 1}}};
    EXPECT_EQ(bulk_support::truth(given).clusters(), expected);
    EXPECT_EQ(check_clusters(given), "");
}

// The buckets are large because they have many rows, or many pairs that may be near. Their rows belong to one cluster,
// to several clusters, or are just too far apart.
TEST(clusters, large_buckets_give_what_small_ones_give)
{
    for (const double threshold : {0.5, 0.8, 0.85, 0.9, 0.95}) {
        for (const std::size_t memory : {std::size_t{0}, std::size_t{1} << 24}) {
            problem given = bulk_support::many_alike(150);
            for (int i = 0; i < 50; i++)
                given.texts[static_cast<std::size_t>(i) * 3] += " and others but for some words";
            given.task.threshold = threshold;
            given.memory = memory;
            given.workers = memory == 0 ? 2 : 0;
            EXPECT_EQ(check_clusters(given), "") << threshold;
            given.clusters.near_representative = true;
            EXPECT_EQ(check_clusters(given), "") << threshold;
            given.clusters.singletons = true;
            given.task.scoped = true;
            for (std::uint32_t row = 0; row < given.count(); row++)
                given.scopes.push_back(row % 7 == 0);
            EXPECT_EQ(check_clusters(given), "") << threshold;
            given.task.exact = false;
            EXPECT_EQ(check_clusters(given), "") << threshold;
            given.task.max_bucket = 60;
            EXPECT_EQ(check_clusters(given), "") << threshold;
        }
    }
}

TEST(clusters, of_one_row)
{
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {13, 7};
    given.task.threshold = 0.8;
    given.texts = {"alone"};
    given.ranks = {0};
    EXPECT_EQ(check_clusters(given), "");
    given.clusters.singletons = true;
    EXPECT_EQ(check_clusters(given), "");
}

} // namespace
