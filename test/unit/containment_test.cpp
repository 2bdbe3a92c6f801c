#include "bulk/containment/containment.h"
#include "bulk/containment/witnesses.h"
#include "bulk/search/indexed_rows.h"

#include <cmath>
#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;
using minhash::containment;

using shingle_set = std::vector<std::uint64_t>; // sorted

std::vector<shingle_set> sets_of(const problem& given)
{
    std::vector<shingle_set> sets;
    const minhash::scheme& scheme = given.task.scheme;
    for (const std::string& text : given.texts) {
        support::hash_list cut = support::cut(text, scheme.shingles, scheme.seed);
        if (scheme.shingles.bag)
            cut = reference::number_occurrences(cut);
        std::sort(cut.begin(), cut.end());
        sets.emplace_back(cut.begin(), std::unique(cut.begin(), cut.end()));
    }
    return sets;
}

// The share of a row's shingles that another row has, if it reaches the threshold and they have the same scope;
// otherwise -1. It is also -1 without a common shingle.
double share_of(const problem& given, const std::vector<shingle_set>& sets, std::uint32_t row, std::uint32_t within)
{
    std::uint64_t shared = 0;
    const shingle_set& other = sets[within];
    for (auto at = other.begin(); const std::uint64_t element : sets[row]) {
        while (at != other.end() && *at < element)
            ++at;
        shared += at != other.end() && *at == element;
    }
    const double share = containment({sets[row].size(), 0, shared});
    const bool found = shared > 0 && share >= given.task.threshold && given.scope_of(row) == given.scope_of(within);
    return found ? share : -1;
}

// Pairs as (smaller row, larger row, share): of two rows with equally many shingles, either can be the contained one.
pair_list expected_pairs(const problem& given)
{
    const std::vector<shingle_set> sets = sets_of(given);
    pair_list found;
    for (std::uint32_t a = 0; a < given.count(); a++)
        for (std::uint32_t b = a + 1; b < given.count(); b++) {
            const bool is_pair = !given.crossing || (a < given.first_count && b >= given.first_count);
            const bool a_lies = given.crossing || sets[a].size() <= sets[b].size();
            const double share = a_lies ? share_of(given, sets, a, b) : share_of(given, sets, b, a);
            if (is_pair && share >= 0)
                found.emplace_back(a, b, share);
        }
    return found;
}

pair_list find_pairs(const problem& given, outcome expected = finished)
{
    test_host host;
    host.reporting = &host.always;
    engine_call call = {&host, &given, job::pairs, 0, {}};
    EXPECT_EQ(run(host, call_engine, call), expected);
    const std::vector<shingle_set> sets = sets_of(given);
    pair_list found;
    for (const bulk::found_pair& each : host.pairs) {
        if (given.crossing)
            EXPECT_LT(each.left, given.first_count);
        else
            EXPECT_LE(sets[each.left].size(), sets[each.right].size());
        found.emplace_back(std::min(each.left, each.right), std::max(each.left, each.right), each.similarity);
    }
    std::sort(found.begin(), found.end());
    return found;
}

// Makes rows that are texts and parts of texts, some of them changed. No pair may be missed.
problem random_parts(random_source& random, std::size_t most_rows)
{
    problem made = random_problem(random, most_rows);
    if (!made.from_texts) {
        made.from_texts = true;
        made.task.scheme = support::default_scheme;
        made.texts = random_texts(random, made.slots.size());
    }
    for (std::string& text : made.texts)
        if (random.below(2) == 0)
            text = text.substr(random.below(text.size()), 1 + random.below(text.size()));
    const auto is_empty = [&made](const std::string& text) { return support::sign(text, made.task.scheme).empty(); };
    std::erase_if(made.texts, is_empty);
    if (made.task.scoped)
        made.scopes.resize(made.count());
    made.first_count = std::min(made.first_count, made.count());
    made.task.exact = true;
    made.task.banding = {};
    made.task.sets_only = true;
    made.task.recall = 1;
    return made;
}

TEST(containment, pairs_are_those_that_brute_force_finds)
{
    random_source random = {91};
    for (int round = 0; round < 400; round++) {
        problem given = random_parts(random, 60);
        given.task.couples_from = round % 2 == 0 ? 0 : given.count() + 1;
        given.task.couples_pool = 1 + static_cast<std::uint32_t>(random.below(3)); // with 3, some rows have couples
        ASSERT_EQ(find_pairs(given), expected_pairs(given)) << "round " << round;
    }
}

// Makes a problem whose threshold is 0.8, and to which texts must still be added.
problem without_texts(double recall)
{
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.threshold = 0.8;
    given.task.exact = true;
    given.task.sets_only = true;
    given.task.recall = recall;
    given.task.couples_pool = 1; // also rows with few shingles have couples
    return given;
}

TEST(containment, long_texts_are_searched_as_well)
{
    random_source random = {93};
    problem given = without_texts(0.99);
    const std::string whole = texts::make(texts::kinds[0], 150'000, random);
    given.texts = {whole, whole.substr(1000, 90'000), whole.substr(149'000), whole.substr(7, 60)};
    EXPECT_EQ(find_pairs(given).size(), 3u);
    given.task.couples_from = 0; // the long texts have more couples than the index
    EXPECT_EQ(find_pairs(given), expected_pairs(given));
    given.elsewhere = 3; // except the first and the last part
    EXPECT_EQ(find_pairs(given), expected_pairs(given));
    given.task.recall = 1;
    EXPECT_EQ(find_pairs(given).size(), 3u);
    given.task.scheme.shingles.bag = true;
    given.memory = 0;
    EXPECT_EQ(find_pairs(given), expected_pairs(given));
}

// The promise must hold for pairs at the threshold, whatever the sizes of the two texts.
TEST(containment, finds_the_share_of_pairs_that_is_promised)
{
    random_source random = {94};
    problem given = without_texts(0.95);
    std::vector<std::string> parts;
    for (int i = 0; i < 80; i++) {
        given.texts.push_back(texts::make(texts::kinds[0], 2000, random));
        for (const std::size_t ratio : {1u, 2u, 4u, 8u, 16u}) {
            std::string part = given.texts.back().substr(0, 2000 / ratio);
            // Changing a letter removes five shingles.
            for (std::size_t change = part.size() / 27; change > 0; change--)
                part[random.below(part.size())] = static_cast<char>('a' + random.below(26));
            parts.push_back(part);
        }
    }
    given.texts.insert(given.texts.end(), parts.begin(), parts.end());
    const pair_list expected = expected_pairs(given);
    ASSERT_GT(expected.size(), 150u);
    for (const std::uint32_t couples_from : {0u, given.count() + 1}) {
        given.task.couples_from = couples_from;
        const pair_list found = find_pairs(given);
        EXPECT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
        EXPECT_GE(static_cast<double>(found.size()), 0.98 * static_cast<double>(expected.size()));
    }
}

// Texts of few different words: most have enough witnesses of most others, so their shingles are kept, if there is
// room. What is found must not depend on it.
TEST(containment, finds_the_same_whatever_is_kept_of_texts_that_are_alike)
{
    random_source random = {96};
    problem given = without_texts(0.95);
    for (int i = 0; i < 200; i++) {
        std::string text;
        for (std::size_t words = 10 + random.below(30); words > 0; words--)
            text += std::vector<std::string>{"love ",
                                             "night ",
                                             "world ",
                                             "blue ",
                                             "heart ",
                                             "song ",
                                             "rain "}[random.below(7)];
        given.texts.push_back(text);
    }
    given.task.couples_from = 200;
    for (const double threshold : {0.3, 0.6, 0.8, 0.3, 0.8}) {
        given.task.threshold = threshold;
        given.task.recall = 0.95;
        given.task.couples_from = 200 - given.task.couples_from;
        given.workers = 0;
        given.memory = std::size_t{64} << 20;
        const pair_list expected = expected_pairs(given);
        const pair_list found = find_pairs(given);
        ASSERT_GT(expected.size(), 50u) << threshold;
        EXPECT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
        EXPECT_GE(static_cast<double>(found.size()), 0.95 * static_cast<double>(expected.size()));
        for (const std::size_t memory : {std::size_t{0}, std::size_t{200'000}}) {
            given.memory = memory;
            given.workers = 1 - given.workers;
            EXPECT_EQ(find_pairs(given), found) << threshold;
        }
        given.task.recall = 1;
        EXPECT_EQ(find_pairs(given), expected) << threshold;
    }
}

// A few sought texts with changes, among many texts. Whatever is counted, pairs at the threshold must be found, in one
// scope or in several, by any number of workers, with any memory.
TEST(containment, finds_few_texts_within_many)
{
    random_source random = {95};
    problem given = without_texts(0.95);
    given.crossing = true;
    std::vector<std::string> many;
    for (int i = 0; i < 400; i++)
        many.push_back(texts::make(texts::kinds[0], 1000, random));
    many.insert(many.end(), 5, many[7]);
    for (int i = 0; i < 120; i++) {
        std::string part = many[random.below(60)].substr(random.below(400), 60 + random.below(500));
        for (std::size_t change = part.size() / 27; change > 0; change--)
            part[random.below(part.size())] = static_cast<char>('a' + random.below(26));
        given.texts.push_back(part);
    }
    given.first_count = given.count();
    given.texts.insert(given.texts.end(), many.begin(), many.end());
    given.texts.push_back("");
    given.texts.back().append(20'000, 'x').append(given.texts[3]); // many shingles that are equal
    for (const bool scoped : {false, true, true}) {
        given.task.couples_from = given.task.scoped ? 0 : given.count(); // the third time, couples
        given.task.scoped = scoped;
        given.scopes.clear();
        for (std::uint32_t row = 0; scoped && row < given.count(); row++)
            given.scopes.push_back(static_cast<std::uint32_t>(random.below(2)));
        given.task.recall = 0.95;
        given.workers = 0;
        given.memory = std::size_t{64} << 20;
        const pair_list expected = expected_pairs(given);
        const pair_list found = find_pairs(given);
        ASSERT_GT(expected.size(), scoped ? 30u : 60u);
        EXPECT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
        EXPECT_GE(static_cast<double>(found.size()), 0.95 * static_cast<double>(expected.size()));
        given.memory = 0;
        for (given.workers = 1; given.workers < 4; given.workers++)
            EXPECT_EQ(find_pairs(given), found);
        given.task.recall = 1;
        EXPECT_EQ(find_pairs(given), expected);
    }
}

// The hash of the only shingle of the first text, mixed with this scope, is 0.
TEST(containment, finds_a_row_whose_only_witness_is_the_least_of_all)
{
    problem given = without_texts(0.99);
    given.task.scheme.shingles.size = 8;
    given.task.scoped = true;
    given.crossing = true;
    given.texts = {"trbxrvbs", "a longer text with trbxrvbs in it"};
    given.first_count = 1;
    given.scopes = {3'726'035'074, 3'726'035'074};
    ASSERT_EQ(bulk::salt_of_scope(given.scopes[0]), sets_of(given)[0].front());
    for (const std::uint32_t couples_from : {0u, 2u}) {
        given.task.couples_from = couples_from;
        EXPECT_EQ(find_pairs(given), (pair_list{{0, 1, 1.0}}));
    }
}

double choose(double all, double chosen)
{
    return std::exp(std::lgamma(all + 1) - std::lgamma(chosen + 1) - std::lgamma(all - chosen + 1));
}

TEST(witnesses, enough_are_met_but_for_the_share_that_may_be_missed)
{
    for (const std::uint64_t pool : {1u, 2u, 20u, 100u, 170u})
        for (std::uint64_t shared = 1; shared <= pool; shared += 1 + pool / 9)
            for (const double missed : {0.0, 0.001, 0.01, 0.2}) {
                const bulk::witness_plan plan = bulk::plan_witnesses(pool, shared, missed, 0);
                ASSERT_LE(plan.least, plan.count);
                ASSERT_LE(plan.count, pool);
                ASSERT_GE(plan.least, 1u);
                const auto chance_below = [&](std::uint32_t least) {
                    double chance = 0;
                    for (std::uint64_t number = 0; number < least; number++)
                        if (number <= shared && plan.count - number <= pool - shared)
                            chance +=
                                choose(static_cast<double>(shared), static_cast<double>(number)) *
                                choose(static_cast<double>(pool - shared), static_cast<double>(plan.count - number)) /
                                choose(static_cast<double>(pool), plan.count);
                    return chance;
                };
                EXPECT_LE(chance_below(plan.least), missed + 1e-9) << pool << " " << shared << " " << missed;
                EXPECT_GT(chance_below(plan.least + 1), missed - 1e-9);
            }
}

// Draws the couples one after another: the chance that fewer than `wanted` of them are shared.
double chance_of_fewer(double pool, double shared, int couples, int wanted)
{
    if (wanted <= 0)
        return 0;
    if (couples == 0)
        return 1;
    const double others = pool - shared;
    const double both = shared * (shared - 1) / (pool * (pool - 1));
    const double one = 2 * shared * others / (pool * (pool - 1));
    const double none = others * (others - 1) / (pool * (pool - 1));
    double chance = 0;
    if (both > 0)
        chance += both * chance_of_fewer(pool - 2, shared - 2, couples - 1, wanted - 1);
    if (one > 0)
        chance += one * chance_of_fewer(pool - 2, shared - 1, couples - 1, wanted);
    if (none > 0)
        chance += none * chance_of_fewer(pool - 2, shared, couples - 1, wanted);
    return chance;
}

TEST(witnesses, the_chance_of_few_couples_is_that_of_drawing_them)
{
    for (const std::uint64_t pool : {2u, 3u, 9u, 20u, 60u})
        for (std::uint64_t shared = 0; shared <= pool; shared += 1 + pool / 11)
            for (std::uint64_t couples = 1; couples <= std::min<std::uint64_t>(pool / 2, 11); couples++)
                EXPECT_NEAR(bulk::chance_of_few_couples(pool, shared, couples),
                            chance_of_fewer(static_cast<double>(pool),
                                            static_cast<double>(shared),
                                            static_cast<int>(couples),
                                            bulk::couples_met),
                            1e-9)
                    << pool << " " << shared << " " << couples;
}

// Each of many terms is too large for a double, or too small, though their sum is not.
TEST(witnesses, the_chance_of_few_couples_is_that_of_independent_draws_in_large_pools)
{
    for (const std::uint64_t pool : {1'000'000u, 20'000'000u})
        for (const double share : {0.0, 0.01, 0.05, 0.08, 0.1, 0.2, 0.3, 0.5, 0.9, 1.0})
            for (const std::uint64_t couples : {1u, 30u, 200u, 1024u}) {
                const auto g = static_cast<double>(couples);
                const double both = share * share;
                const double expected = std::pow(1 - both, g) + g * both * std::pow(1 - both, g - 1);
                const auto shared = static_cast<std::uint64_t>(share * static_cast<double>(pool));
                EXPECT_NEAR(bulk::chance_of_few_couples(pool, shared, couples), expected, 1e-3)
                    << pool << " " << share << " " << couples;
            }
}

TEST(witnesses, couples_are_as_few_as_the_share_that_may_be_missed_allows)
{
    int in_couples = 0;
    for (const std::uint64_t pool : {1u, 2u, 14u, 20u, 100u, 170u, 3000u, 200'000u})
        for (std::uint64_t shared = 1; shared <= pool; shared += 1 + pool / 9)
            for (const double missed : {0.0, 0.001, 0.01, 0.2}) {
                const bulk::witness_plan plan = bulk::plan_witnesses(pool, shared, missed, 1);
                ASSERT_LE(plan.least, plan.count);
                ASSERT_LE(plan.count, pool);
                if (!plan.in_couples)
                    continue;
                in_couples++;
                ASSERT_LE(2 * plan.entries + bulk::slices, plan.count);
                EXPECT_LE(bulk::chance_of_few_couples(pool, shared, plan.entries), missed / 2);
                if (missed > 0) {
                    EXPECT_GT(bulk::chance_of_few_couples(pool, shared, plan.entries - 1), missed / 2);
                }
            }
    EXPECT_GT(in_couples, 80);
}

TEST(witnesses, are_met_for_certain_where_none_may_be_missed)
{
    for (const std::uint64_t pool : {5000u, 100'000u, 20'000'000u})
        for (const std::uint64_t shared : {std::uint64_t{1}, pool / 2, pool - 3, pool}) {
            const bulk::witness_plan plan = bulk::plan_witnesses(pool, shared, 0, 0);
            EXPECT_EQ(plan.least, plan.count - std::min<std::uint64_t>(plan.count, pool - shared));
            EXPECT_GE(plan.least, 1u);
        }
}

// Each missing shingle can break one couple. That this is improbable is not enough.
TEST(witnesses, couples_are_met_for_certain_where_none_may_be_missed)
{
    for (std::uint64_t missing = 1; missing < 30'000; missing += 1 + missing / 5) {
        const std::uint64_t pool = 3 * missing + 24;
        const bulk::witness_plan plan = bulk::plan_witnesses(pool, pool - missing, 0, 1);
        EXPECT_EQ(plan.in_couples, missing + bulk::couples_met <= 1024) << missing;
        if (plan.in_couples) {
            EXPECT_EQ(plan.entries, missing + bulk::couples_met) << missing;
        }
    }
}

TEST(witnesses, the_least_share_is_that_of_the_comparison)
{
    for (std::uint64_t size = 1; size < 500; size++)
        for (int percent = 0; percent <= 100; percent++) {
            const double threshold = percent / 100.0;
            const std::uint64_t least = bulk::least_contained(size, threshold);
            ASSERT_GE(containment({size, 0, least}), threshold);
            ASSERT_TRUE(least == 1 || containment({size, 0, least - 1}) < threshold);
        }
}

} // namespace
