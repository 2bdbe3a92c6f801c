#include "bulk/evaluation.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

namespace bulk = minhash::bulk;
using bulk_support::engine_call;
using bulk_support::problem;
using bulk_support::test_host;

std::vector<bulk::setting> tried;
std::uint64_t true_pairs;

void evaluate(engine_call& call)
{
    bulk::row_set& rows = bulk_support::take_rows(call);
    true_pairs = bulk::evaluate(rows, tried);
    bulk::close_stores(call.budget);
}

TEST(evaluation, counts_what_brute_force_counts)
{
    support::random_source random = {85};
    for (int round = 0; round < 150; round++) {
        problem given = bulk_support::random_problem(random, 40);
        if (!given.from_texts || given.count() < 2)
            continue;
        given.task.scoped = false; // lsh_evaluate() knows no scopes
        given.scopes.clear();
        given.task.exact = true;
        given.task.threshold = 0.3;
        given.task.max_bucket = 0;
        const int hashes = given.task.scheme.num_hashes;
        const auto shapes = std::vector<minhash::band_choice>{{1, 1},
                                                              {hashes, 1},
                                                              {hashes / 3, 3},
                                                              {1, hashes},
                                                              given.task.shape};
        tried.clear();
        for (const minhash::band_choice& shape : shapes)
            tried.push_back({shape, 0, 0, 0});
        test_host host;
        engine_call call = {&host, &given, bulk_support::job::pairs, 0, {}};
        ASSERT_EQ(bulk_support::run(host, evaluate, call), bulk_support::finished);

        for (const bulk::setting& each : tried) {
            problem banded = given;
            banded.task.shape = each.shape;
            const bulk_support::truth truth(banded);
            std::uint64_t candidates = 0;
            std::uint64_t found = 0;
            std::uint64_t all = 0;
            double predicted = 0;
            for (std::uint32_t a = 0; a < given.count(); a++)
                for (std::uint32_t b = a + 1; b < given.count(); b++) {
                    const double jaccard = truth.jaccard(a, b);
                    const bool is_true = jaccard >= given.task.threshold;
                    candidates += truth.meet(a, b);
                    all += is_true;
                    found += is_true && truth.meet(a, b);
                    if (is_true)
                        predicted +=
                            minhash::band_probability(jaccard, each.shape.bands, each.shape.rows);
                }
            EXPECT_EQ(true_pairs, all);
            EXPECT_EQ(each.candidates, candidates);
            EXPECT_EQ(each.found, found);
            EXPECT_NEAR(each.predicted, predicted, 1e-9);
        }
    }
}

} // namespace
