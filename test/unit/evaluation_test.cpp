#include "bulk/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

namespace bulk = minhash::bulk;
using bulk_support::engine_call;
using bulk_support::problem;
using bulk_support::test_host;
using bulk_support::truth;

std::vector<std::uint32_t> anchors;
std::vector<bulk::setting> tried;
std::size_t most_pairs;
bulk::evaluation_result result;
long helped; // how often workers helped

void evaluate(engine_call& call)
{
    bulk::row_set& rows = bulk_support::take_rows(call);
    result = bulk::evaluate(rows, anchors, tried, most_pairs);
}

void run_evaluation(const problem& given)
{
    test_host host;
    host.reporting = &host.always;
    engine_call call = {&host, &given, bulk_support::job::pairs, 0, {}};
    ASSERT_EQ(bulk_support::run(host, evaluate, call), bulk_support::finished);
    helped += host.helped;
}

// Draws different rows in random order.
std::vector<std::uint32_t> draw(support::random_source& random, std::uint32_t rows, std::size_t count)
{
    std::vector<std::uint32_t> drawn;
    for (std::uint32_t row = 0; row < rows; row++)
        drawn.insert(drawn.begin() + static_cast<std::ptrdiff_t>(random.below(row + 1)), row);
    drawn.resize(count);
    return drawn;
}

// Compares the engine's counts with counts of the pairs that contain one of the anchors used.
void check(const problem& given)
{
    const std::set<std::uint32_t> used(anchors.begin(), anchors.begin() + result.anchors);
    for (const bulk::setting& each : tried) {
        problem banded = given;
        banded.task.banding = each.banding;
        const truth expected(banded);
        std::uint64_t candidates = 0;
        std::uint64_t found = 0;
        std::uint64_t all = 0;
        double predicted = 0;
        for (std::uint32_t a = 0; a < given.count(); a++)
            for (std::uint32_t b = a + 1; b < given.count(); b++) {
                if (used.count(a) + used.count(b) == 0)
                    continue;
                const bool is_true = expected.similarity(a, b) >= 0;
                const bool met = expected.meet(a, b);
                candidates += met;
                all += is_true;
                found += is_true && met;
                if (is_true)
                    predicted +=
                        minhash::band_probability(expected.jaccard(a, b), each.banding.bands, each.banding.rows);
            }
        EXPECT_EQ(result.true_pairs, all);
        EXPECT_EQ(each.candidates, candidates);
        EXPECT_EQ(each.found, found);
        EXPECT_NEAR(each.predicted, predicted, 1e-9 * (1 + predicted));
        if (all == 0)
            continue;
        const double recall = static_cast<double>(found) / static_cast<double>(all);
        EXPECT_LE(each.recall.low, recall);
        EXPECT_GE(each.recall.high, recall);
        EXPECT_EQ(each.recall.low == each.recall.high, used.size() == given.count());
    }
}

TEST(evaluation, counts_what_brute_force_counts)
{
    support::random_source random = {85};
    for (int round = 0; round < 150; round++) {
        problem given = bulk_support::random_problem(random, 40);
        if (!given.from_texts || given.count() < 2)
            continue;
        given.task.exact = true;
        given.task.whole_slots = true;
        given.task.recall = bulk::truth_recall;
        given.task.threshold = round % 3 == 0 ? 0.8 : 0.3;
        given.task.max_bucket = 0;
        given.workers = round % 4;
        const int hashes = given.task.scheme.num_hashes;
        const auto shapes =
            std::vector<minhash::banding>{{1, 1}, {hashes, 1}, {hashes / 3, 3}, {1, hashes}, given.task.banding};
        const std::uint32_t rows = given.count();
        anchors = draw(random, rows, random.below(3) == 0 ? rows : 1 + random.below(rows));
        most_pairs = bulk::most_true_pairs;
        tried.clear();
        for (const minhash::banding& banding : shapes)
            tried.push_back({banding, 0, 0, 0, {}});
        run_evaluation(given);
        ASSERT_EQ(result.anchors, anchors.size());
        check(given);
    }
    EXPECT_GT(helped, 100);
}

// If there are more true pairs than there is room for, fewer anchors are used, but never only a few.
TEST(evaluation, uses_fewer_anchors_for_many_pairs)
{
    support::random_source random = {86};
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {1, 1};
    given.task.threshold = 0.5;
    given.task.exact = true;
    given.task.whole_slots = true;
    given.task.recall = bulk::truth_recall;
    for (int i = 0; i < 300; i++)
        given.texts.push_back("one text that all rows have in common, and a number: " + std::to_string(i % 250));
    anchors = draw(random, given.count(), 260);
    for (const std::size_t room : {30000, 30000, 30000, 1, 1}) {
        most_pairs = room;
        given.workers = (given.workers + 1) % 3;
        tried = {{{13, 7}, 0, 0, 0, {}}, {{4, 32}, 0, 0, 0, {}}};
        run_evaluation(given);
        EXPECT_EQ(result.anchors, room == 1 ? 65u : 130u);
        EXPECT_GT(result.true_pairs, room == 1 ? 10000u : 20000u);
        check(given);
    }
}

} // namespace
