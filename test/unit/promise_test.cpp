// A choice by cost must find what it promises, and nothing else. (test/bench/recall_bench.cpp has more texts and
// seeds.)
#include "bulk/tuning/choose_bands.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;
using minhash::bulk::bands_plan;

// Makes texts. Most of them are copies of an earlier text with some words replaced.
std::vector<std::string> edited_texts(std::size_t count, std::size_t words, random_source& random)
{
    const auto word = [&random] { return texts::make(texts::kinds[0], 2 + random.below(6), random) + " "; };
    std::vector<std::vector<std::string>> made;
    for (std::size_t i = 0; i < count; i++) {
        made.emplace_back(words);
        if (i % 4 != 0)
            made[i] = made[random.below(i)];
        const std::size_t kept = i % 4 == 0 ? 0 : 3 + random.below(60); // a quarter shares nothing
        for (std::string& each : made[i])
            if (kept == 0 || random.below(kept) == 0)
                each = word();
    }
    std::vector<std::string> joined;
    for (const std::vector<std::string>& text : made) {
        joined.emplace_back();
        for (const std::string& each : text)
            joined.back() += each;
    }
    return joined;
}

bands_plan choose(test_host& host, const problem& given, double recall)
{
    minhash::scheme scheme = given.task.scheme;
    scheme.num_hashes = bulk::most_sampled_slots;
    std::vector<std::uint8_t> sample;
    for (const std::string& text : given.texts) {
        const std::vector<std::uint32_t> slots = support::sign(text, scheme);
        const auto bytes = minhash::signature{scheme, slots}.stored_slots();
        sample.insert(sample.end(), bytes.begin(), bytes.end());
    }
    bulk::sampled_counts counts;
    const double rows = given.count();
    return bulk::choose_by_cost({.rows = rows,
                                 .pairs = rows * (rows - 1) / 2,
                                 .threshold = given.task.threshold,
                                 .recall = bulk::recall_to_expect(recall),
                                 .missed = bulk::share_missed(recall),
                                 .least_hashes = 64,
                                 .most_hashes = 1024,
                                 .exact = true},
                                bulk::tally_agreements(host, scheme, sample, counts),
                                bulk::costs_of(300, true));
}

TEST(promise, recall_is_kept_and_precision_is_one)
{
    constexpr double promised = 0.99;
    constexpr std::size_t seeds = 5;
    random_source random = {91};
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.exact = true;
    given.texts = edited_texts(200, 50, random);
    const truth known(given);
    for (given.task.threshold = 0.3; given.task.threshold < 1; given.task.threshold += 0.2) {
        std::size_t near = 0;
        for (std::uint32_t b = 0; b < given.count(); b++)
            for (std::uint32_t a = 0; a < b; a++)
                near += known.jaccard(a, b) >= given.task.threshold;
        ASSERT_GT(near, 20U);
        std::size_t found = 0;
        for (std::size_t seed = 1; seed <= seeds; seed++) {
            test_host host;
            given.task.scheme.seed = static_cast<std::int64_t>(seed);
            const bands_plan plan = choose(host, given, promised);
            given.task.scheme.num_hashes = static_cast<std::uint16_t>(plan.num_hashes);
            given.task.banding = plan.banding;
            engine_call call = {&host, &given, job::pairs, 0, {}};
            ASSERT_EQ(run(host, call_engine, call), finished);
            for (const bulk::found_pair& pair : host.pairs) {
                EXPECT_GE(pair.similarity, given.task.threshold);
                EXPECT_DOUBLE_EQ(pair.similarity, known.jaccard(pair.left, pair.right));
            }
            found += host.pairs.size();
        }
        EXPECT_GE(static_cast<double>(found), promised * static_cast<double>(seeds * near))
            << "of " << near << " pairs at " << given.task.threshold;
    }
}

} // namespace
