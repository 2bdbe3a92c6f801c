#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;

// The engine's results, in the order in which it returns them.
struct result {
    outcome left;
    pair_list pairs;
    cluster_list clusters;
    std::uint64_t large_buckets;
    long helped; // how often workers helped
    bool filed;  // whether the call's budget has counted anything in files
    bool files;  // whether files were made
    long reads;  // how often documents were read again
};

result solve(problem given, job what, int workers)
{
    given.workers = workers;
    test_host host;
    host.ranks = given.ranks;
    engine_call call = {&host, &given, what, 0, {}};
    result found = {};
    found.left = run(host, call_engine, call);
    for (const bulk::found_pair& each : host.pairs)
        found.pairs.emplace_back(each.left, each.right, each.similarity);
    found.clusters = host.clusters;
    found.large_buckets = call.large_buckets;
    found.helped = host.helped;
    found.filed = call.budget.filed > 0;
    found.files = host.next_file > 1;
    found.reads = host.reads;
    return found;
}

TEST(workers, number_of_them_changes_nothing)
{
    support::random_source random = {91};
    long helped = 0;
    for (int round = 0; round < 150; round++) {
        problem given = random_problem(random, 80);
        if (round % 3 == 0)
            tell_apart(given, random);
        given.computed = static_cast<std::uint32_t>(round % 4);
        for (const job what : {job::pairs, job::clusters}) {
            given.crossing = given.crossing && what == job::pairs;
            const result alone = solve(given, what, 0);
            for (const int workers : {1, 2, 4}) {
                const result shared = solve(given, what, workers);
                ASSERT_EQ(shared.left, finished) << "round " << round;
                ASSERT_EQ(shared.pairs, alone.pairs) << "round " << round;
                ASSERT_EQ(shared.clusters, alone.clusters) << "round " << round;
                ASSERT_EQ(shared.large_buckets, alone.large_buckets) << "round " << round;
                ASSERT_EQ(shared.filed, shared.files) << "round " << round;
                helped += shared.helped;
            }
        }
    }
    EXPECT_GT(helped, 1000);
}

// If documents are far, each is read once to be signed and once to be compared; and the answers must be the same.
TEST(workers, read_far_documents_in_order_and_once)
{
    support::random_source random = {93};
    long reads = 0;
    long reads_far = 0;
    for (int round = 0; round < 100; round++) {
        problem given = random_problem(random, 80);
        given.elsewhere = 7;
        given.computed = 5;
        for (const job what : {job::pairs, job::clusters}) {
            given.crossing = given.crossing && what == job::pairs;
            given.far = false;
            const result near = solve(given, what, 0);
            long count = 0; // of rows that are read again
            for (std::uint32_t row = 0; row < given.count(); row++)
                count += given.place_of(row) != 0 && !given.is_computed(row);
            reads += near.reads - count; // without the reads for signing
            given.far = true;
            for (const int workers : {0, 2}) {
                const result far = solve(given, what, workers);
                ASSERT_EQ(far.left, finished) << "round " << round;
                ASSERT_EQ(far.pairs, near.pairs) << "round " << round;
                ASSERT_EQ(far.clusters, near.clusters) << "round " << round;
                ASSERT_EQ(far.large_buckets, near.large_buckets) << "round " << round;
                ASSERT_LE(far.reads, 2 * count);
                reads_far += workers == 0 ? far.reads - count : 0;
            }
        }
    }
    EXPECT_GT(reads_far, 1000);
    EXPECT_LT(reads_far, reads / 2);
}

TEST(workers, share_large_texts)
{
    support::random_source random = {92};
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.banding = {128, 1};
    given.task.threshold = 0.1;
    given.task.exact = true;
    const std::string common = texts::make(texts::kinds[0], 20'000, random);
    for (const std::size_t length : {100u, 100'000u, 90'000u, 5u, 30'000u, 700u})
        given.texts.push_back(common + texts::make(texts::kinds[0], length, random));
    given.memory = 0;
    const result alone = solve(given, job::pairs, 0);
    EXPECT_EQ(solve(given, job::pairs, 2).pairs, alone.pairs);
    EXPECT_FALSE(alone.pairs.empty());
}

// The memory, which decides how many parts the index of witnesses has, must not change the order either.
TEST(workers, find_rows_within_others_in_one_order)
{
    support::random_source random = {93};
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.threshold = 0.7;
    given.task.exact = true;
    given.task.sets_only = true;
    for (int i = 0; i < 100; i++) {
        given.texts.push_back(texts::make(texts::kinds[0], 400, random));
        for (const std::size_t length : {400u, 300u, 150u, 40u})
            given.texts.push_back(given.texts.back().substr(0, length) + (i % 9 == 0 ? "?" : ""));
    }
    std::vector<std::string> mixed;
    for (std::size_t i = 0; i < given.texts.size(); i++)
        mixed.push_back(given.texts[i * 7 % given.texts.size()]);
    given.texts = mixed;
    given.first_count = given.count() / 3;
    given.elsewhere = 7;
    int with_help = 0;
    for (const bool crossing : {false, true}) {
        given.crossing = crossing;
        given.memory = 1 << 24;
        const result alone = solve(given, job::pairs, 0);
        EXPECT_GT(alone.pairs.size(), 100u);
        for (const std::size_t memory : {std::size_t{0}, std::size_t{1} << 17, given.memory})
            for (const int workers : {0, 1, 4}) {
                given.memory = memory;
                const result shared = solve(given, job::pairs, workers);
                ASSERT_EQ(shared.left, finished);
                ASSERT_EQ(shared.pairs, alone.pairs) << memory << " bytes, " << workers;
                with_help += shared.helped > 0; // sometimes there is no room to share
            }
    }
    EXPECT_GE(with_help, 6); // at least half of the 12 runs
}

} // namespace
