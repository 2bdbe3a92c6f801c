// Any call of the host may jump out of the engine: when memory or disk is short, or when a user cancels. Then freed
// memory must not be used, nothing may be left that the host cannot free, and the next call must work.
#include "pg/bulk/phases.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <span>

#include "bulk_support.h"

namespace {

using namespace bulk_support;

// Makes texts and signatures that exercise everything: twins, large buckets, files, bags, containment,
// weights.
problem every_way(int kind)
{
    problem made;
    minhash::scheme& scheme = made.task.scheme;
    scheme = support::default_scheme;
    scheme.num_hashes = 32;
    scheme.shingles.bag = kind == 1;
    made.task.banding = {16, 2};
    made.task.threshold = 0.6;
    made.task.exact = kind < 2 || kind > 3;
    made.from_texts = kind != 3;
    made.crossing = kind == 1 || kind == 5;
    made.weighted = kind > 5;
    made.memory = kind == 2 ? 1 << 24 : 0;
    made.workers = kind % 3;
    made.elsewhere = static_cast<std::uint32_t>(kind % 4);
    made.computed = kind % 3 == 1 ? 2 : 0;
    made.far = kind == 2 || kind == 3;
    made.clusters = {true, true};
    support::random_source random = {86};
    for (int i = 0; i < 120; i++)
        made.texts.push_back((i % 3 == 0 ? "all of these texts are alike but for a number: "
                                         : texts::make(texts::kinds[0], 300, random)) +
                             std::to_string(i % 77));
    if (!made.from_texts)
        for (const std::string& text : made.texts) {
            const support::slot_list slots = support::sign(text, scheme);
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(slots.data());
            made.slots.emplace_back(bytes, bytes + slots.size() * 4);
        }
    for (std::uint32_t row = 0; row < made.count(); row++)
        made.ranks.push_back(row % 7);
    made.first_count = 50;
    if (kind < 2)
        tell_apart(made, random);
    if (kind > 3) {
        made.task.sets_only = true;
        made.task.recall = 0.99;
        made.task.banding = {};
    }
    return made;
}

class bulk_failures : public testing::TestWithParam<std::tuple<int, job>> {};

TEST_P(bulk_failures, at_any_call_of_the_host)
{
    const problem given = every_way(std::get<0>(GetParam()));
    for (const outcome kind : {out_of_memory, write_failed, read_failed, stopped, worker_failed}) {
        test_host host;
        host.ranks = given.ranks;
        engine_call call = {&host, &given, std::get<1>(GetParam()), 0, {}};
        host.fail(kind, 0);
        ASSERT_EQ(run(host, call_engine, call), finished);
        const long calls = host.calls[kind];
        const auto pairs = host.pairs.size();
        const auto clusters = host.clusters;
        // Fails each of the first calls, then some of the later ones, fewer and fewer, and finally the last ones.
        for (long at = 1; at <= calls; at += at < calls - 20 ? 1 + at / 40 : 1) {
            host.fail(kind, at);
            const outcome left = run(host, call_engine, call);
            // The number of calls that a process makes depends on how many units of work it gets.
            if (given.workers == 0 || left != finished) {
                ASSERT_EQ(left, kind) << "call " << at << " of " << calls;
            }
        }
        host.fail(kind, given.workers == 0 ? calls + 1 : 0);
        ASSERT_EQ(run(host, call_engine, call), finished);
        EXPECT_EQ(host.pairs.size(), pairs);
        EXPECT_EQ(host.clusters, clusters);
    }
}

INSTANTIATE_TEST_SUITE_P(all,
                         bulk_failures,
                         testing::Combine(testing::Range(0, 4), testing::Values(job::pairs, job::clusters)));
INSTANTIATE_TEST_SUITE_P(of_contained,
                         bulk_failures,
                         testing::Combine(testing::Range(4, 6), testing::Values(job::pairs)));
INSTANTIATE_TEST_SUITE_P(of_weighted,
                         bulk_failures,
                         testing::Combine(testing::Range(6, 8), testing::Values(job::pairs, job::clusters)));

// The phases that a call reports, each once.
std::vector<std::string> phases_of(const problem& given, job what)
{
    test_host host;
    host.reporting = &host.always;
    engine_call call = {&host, &given, what, 0, {}};
    EXPECT_EQ(run(host, call_engine, call), finished);
    std::vector<std::string> phases;
    for (const std::string& phase : host.phases)
        if (std::ranges::find(phases, phase) == phases.end())
            phases.push_back(phase);
    return phases;
}

// The glue's list of the same phases, without the first, which the glue itself reports.
std::vector<std::string> told_by_glue(std::span<const char* const> phases)
{
    return {phases.begin() + 1, phases.end()};
}

TEST(bulk_failures, phases_are_reported)
{
    const problem texts = every_way(0);
    EXPECT_EQ(phases_of(texts, job::pairs), told_by_glue(minhash::pg::pair_phases));
    EXPECT_EQ(phases_of(texts, job::clusters), told_by_glue(minhash::pg::cluster_phases));
    problem contained = every_way(5);
    contained.workers = 0; // a process reports only the steps in which it does something
    EXPECT_EQ(phases_of(contained, job::pairs), told_by_glue(minhash::pg::contained_phases));
    for (const job what : {job::pairs, job::clusters})
        EXPECT_EQ(phases_of(every_way(6), what), told_by_glue(minhash::pg::weighted_phases));
}

} // namespace
