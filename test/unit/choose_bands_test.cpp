#include "bulk/tuning/choose_bands.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "support.h"

namespace {

using minhash::bulk::bands_plan;
using minhash::bulk::bands_wanted;

constexpr int slots = 128;
using counts = std::vector<std::uint64_t>;

// The sample that results from pairs of the given similarities, each drawn `times` times.
counts sample_of(const std::vector<double>& similarities, int times, support::random_source& random)
{
    counts sample(slots + 1);
    for (const double similarity : similarities) {
        const auto limit = static_cast<std::size_t>(similarity * 1e9);
        for (int time = 0; time < times; time++) {
            int equal = 0;
            for (int slot = 0; slot < slots; slot++)
                equal += random.below(1'000'000'000) < limit;
            sample[static_cast<std::size_t>(equal)]++;
        }
    }
    return sample;
}

bands_wanted wanted_of(double rows, double threshold, double recall)
{
    return {rows, rows * (rows - 1) / 2, threshold, recall, minhash::bulk::share_missed(recall), 64, 1024, true};
}

const minhash::bulk::work_costs costs = minhash::bulk::costs_of(1000, true);

TEST(choose_bands, foretells_the_candidates_of_a_sample)
{
    support::random_source random = {81};
    std::vector<double> similarities;
    for (int i = 0; i < 500; i++)
        similarities.push_back(0.02 + 0.0004 * i); // up to 0.22
    const counts sample = sample_of(similarities, 100, random);
    for (const auto& [bands, rows] : {std::pair(35, 3), {72, 4}, {13, 7}, {120, 2}}) {
        double expected = 0;
        for (const double similarity : similarities)
            expected += minhash::band_probability(similarity, bands, rows) / 500;
        const bands_wanted wanted = wanted_of(1000, 0.5, 0.99);
        const bands_plan plan = predict_cost(wanted, 512, {bands, rows}, sample, costs);
        EXPECT_NEAR(plan.candidates, expected * 999 / 2, 0.15 * expected * 999 / 2 + 0.002) << bands << " x " << rows;
    }
}

TEST(choose_bands, foretells_how_many_candidates_are_compared_by_their_texts)
{
    support::random_source random = {82};
    const counts sample = sample_of({0.7}, 10000, random);
    const bands_wanted wanted = wanted_of(1000, 0.8, 0.99);
    double last = 1e9;
    for (const int num_hashes : {64, 128, 256, 512, 1024}) {
        const bands_plan plan = predict_cost(wanted, num_hashes, {16, 4}, sample, costs);
        EXPECT_GT(plan.candidates, 480);
        EXPECT_LT(plan.checks, last) << num_hashes; // more hashes reject more candidates
        last = plan.checks;
    }
    EXPECT_LT(last, 100); // only the scatter of the sample keeps this from 0
    bands_wanted estimated = wanted;
    estimated.exact = false;
    EXPECT_EQ(predict_cost(estimated, 128, {16, 4}, sample, costs).checks, 0);
}

TEST(choose_bands, finds_the_recall_wanted_at_the_threshold)
{
    support::random_source random = {83};
    const counts sample = sample_of({0.01, 0.05, 0.1, 0.2}, 1000, random);
    for (const double threshold : {0.2, 0.3, 0.5, 0.8, 0.95, 1.0})
        for (const double recall : {0.5, 0.95, 0.99, 0.9975})
            for (const double rows : {0.0, 1.0, 1e5}) {
                const bands_wanted wanted = wanted_of(rows, threshold, recall);
                const bands_plan plan = choose_by_cost(wanted, sample, costs);
                ASSERT_GT(plan.banding.bands, 0) << threshold << ", " << recall;
                EXPECT_LE(plan.banding.bands * plan.banding.rows, plan.num_hashes);
                EXPECT_GE(plan.num_hashes, wanted.least_hashes);
                EXPECT_LE(plan.num_hashes, wanted.most_hashes);
                EXPECT_GE(minhash::band_probability(threshold, plan.banding.bands, plan.banding.rows), recall);
            }
}

TEST(choose_bands, signatures_that_are_given_keep_their_hashes)
{
    support::random_source random = {84};
    const counts sample = sample_of({0.1}, 1000, random);
    bands_wanted wanted = wanted_of(1e6, 0.5, 0.99);
    wanted.least_hashes = wanted.most_hashes = 100;
    const bands_plan plan = choose_by_cost(wanted, sample, costs);
    EXPECT_EQ(plan.num_hashes, 100);
    EXPECT_LE(plan.banding.bands * plan.banding.rows, 100);
    wanted.least_hashes = wanted.most_hashes = 16;
    wanted.threshold = 0.1;
    EXPECT_EQ(choose_by_cost(wanted, sample, costs).banding.bands, 0);
}

// At a threshold of 0.5, the candidates of 128 hashes grow with the square of the rows.
TEST(choose_bands, cost_grows_far_slower_than_pairs)
{
    support::random_source random = {85};
    std::vector<double> similarities;
    for (int i = 0; i < 100; i++)
        similarities.push_back(0.03 + 0.0008 * i);
    const counts sample = sample_of(similarities, 1000, random);
    const bands_plan few = choose_by_cost(wanted_of(25e3, 0.5, 0.9975), sample, costs);
    const bands_plan many = choose_by_cost(wanted_of(100e3, 0.5, 0.9975), sample, costs);
    EXPECT_LT(many.cost, 8 * few.cost);
    EXPECT_GT(many.banding.rows, choose_by_cost(wanted_of(1e3, 0.5, 0.9975), sample, costs).banding.rows);
    const minhash::banding usual = minhash::choose_by_recall(0.5, 128, 0.99);
    EXPECT_LT(many.cost, 0.5 * predict_cost(wanted_of(100e3, 0.5, 0.99), 128, usual, sample, costs).cost);
    // At 0.2 no choice helps, and the plan says so.
    EXPECT_GT(choose_by_cost(wanted_of(100e3, 0.2, 0.9975), sample, costs).candidates, 1000);
    EXPECT_LT(many.candidates, 1000);
}

TEST(choose_bands, promises_leave_room_for_chance)
{
    EXPECT_DOUBLE_EQ(minhash::bulk::recall_to_expect(0.99), 0.9975);
    EXPECT_DOUBLE_EQ(minhash::bulk::recall_to_expect(1), 1);
    EXPECT_DOUBLE_EQ(minhash::bulk::recall_to_expect(0.5), 0.875);
}

} // namespace
