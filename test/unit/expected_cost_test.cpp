// What the engine tells its host about the cost of a call, from which the host makes the time left.
#include "bulk/search/found_pairs.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;

// Each of the 90 different texts is near each other one, and they are compared once.
constexpr double near_pairs = 90 * 89 / 2.0;

// A call on near-duplicates whose plan expects about as many candidates as there are.
problem planned_problem()
{
    problem given = many_alike(300);
    std::vector<std::uint64_t> sample(129);
    sample[120] = 100;
    const bulk::bands_wanted wanted = {
        .rows = 300,
        .pairs = 300 * 299 / 2,
        .threshold = given.task.threshold,
        .recall = 0.99,
        .missed = bulk::share_missed(0.99),
        .least_hashes = given.task.scheme.num_hashes,
        .most_hashes = given.task.scheme.num_hashes,
        .exact = true,
    };
    given.task.plan = bulk::foretell(wanted,
                                     wanted.least_hashes,
                                     given.task.shape,
                                     sample,
                                     bulk::costs_of(static_cast<double>(given.texts[0].size()), true));
    return given;
}

// Solves the problem with a host that notes costs.
void solve(test_host& host, problem given, int workers)
{
    given.workers = workers;
    host.reporting = &host.always;
    engine_call call = {&host, &given, job::pairs, 0, {}};
    ASSERT_EQ(run(host, call_engine, call), finished);
    EXPECT_EQ(host.pairs.size(), given.count() * (given.count() - 1) / 2);
    EXPECT_FALSE(host.cost);
}

TEST(expected_cost, follows_the_plan_and_then_the_candidates)
{
    const problem given = planned_problem();
    const bulk::bands_plan& plan = *given.task.plan;
    test_host host;
    solve(host, given, 0);
    auto& told = host.costs;
    for (const auto& [phase, cost] : told) {
        ASSERT_TRUE(cost) << phase;
        EXPECT_EQ(cost->rows, given.count()) << phase;
    }
    EXPECT_EQ(told["signing rows"]->phase, plan.signing);
    EXPECT_EQ(told["signing rows"]->after, plan.banding + plan.verifying);
    EXPECT_FALSE(told["signing rows"]->counted);
    EXPECT_EQ(told["looking for rows that are the same"]->phase, std::nullopt);
    EXPECT_EQ(told["looking for candidates"]->phase, plan.banding);
    const bulk::expected_cost verifying = *told["verifying candidates"];
    EXPECT_TRUE(verifying.counted);
    EXPECT_EQ(told["returning pairs of equal rows"]->phase, std::nullopt);
    const bulk::expected_cost returning = *told["returning pairs"];
    EXPECT_EQ(told["returning pairs of equal rows"]->after, returning.phase);
    EXPECT_EQ(returning.after, 0);
    EXPECT_NEAR(*returning.phase, near_pairs * bulk::emitting_cost, 0.1 * *returning.phase);
    EXPECT_GT(*verifying.phase, near_pairs * plan.check / 2);
    EXPECT_LT(*verifying.phase, near_pairs * plan.check * 2);
}

TEST(expected_cost, is_shared_by_all_processes)
{
    const problem given = planned_problem();
    const double check = given.task.plan->check;
    for (const int workers : {1, 3}) {
        test_host host;
        solve(host, given, workers);
        ASSERT_EQ(host.step_costs.size(), 4u); // sign, find twins, collect, verify
        for (const auto& cost : host.step_costs)
            ASSERT_TRUE(cost);
        EXPECT_EQ(host.step_costs[0]->phase, given.task.plan->signing / (workers + 1));
        EXPECT_FALSE(host.step_costs[2]->counted);
        EXPECT_TRUE(host.step_costs[3]->counted);
        const double all = *host.step_costs[3]->phase * (workers + 1);
        EXPECT_GT(all, near_pairs * check / 2) << workers;
        EXPECT_LT(all, near_pairs * check * 2) << workers;
    }
}

TEST(expected_cost, is_not_told_without_a_plan)
{
    problem given = planned_problem();
    given.task.plan.reset();
    test_host host;
    solve(host, given, 0);
    for (const auto& [phase, cost] : host.costs)
        EXPECT_FALSE(cost) << phase;
}

} // namespace
