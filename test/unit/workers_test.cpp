#include "bulk/crew.h"
#include "bulk/text_ring.h"

#include <gtest/gtest.h>

#include "bulk_support.h"

namespace {

using namespace bulk_support;

// What the engine emits, in its order.
struct result {
    outcome left;
    pair_list pairs;
    cluster_list clusters;
    std::uint64_t large_buckets;
    long answered; // by workers
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
    found.answered = host.answered;
    return found;
}

TEST(workers, number_of_them_changes_nothing)
{
    support::random_source random = {91};
    long answered = 0;
    for (int round = 0; round < 150; round++) {
        problem given = random_problem(random, 80);
        for (const job what : {job::pairs, job::clusters}) {
            given.crossing = given.crossing && what == job::pairs;
            const result alone = solve(given, what, 0);
            for (const int workers : {1, 2, 4}) {
                const result shared = solve(given, what, workers);
                ASSERT_EQ(shared.left, finished) << "round " << round;
                ASSERT_EQ(shared.pairs, alone.pairs) << "round " << round;
                ASSERT_EQ(shared.clusters, alone.clusters) << "round " << round;
                ASSERT_EQ(shared.large_buckets, alone.large_buckets) << "round " << round;
                answered += shared.answered;
            }
        }
    }
    EXPECT_GT(answered, 1000);
}

TEST(workers, texts_too_large_to_be_sent_are_compared_here)
{
    support::random_source random = {92};
    problem given;
    given.task.scheme = support::default_scheme;
    given.task.shape = {128, 1};
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

TEST(workers, a_ring_keeps_what_it_says_it_does)
{
    test_host host;
    support::random_source random = {93};
    for (const std::size_t size : {64u, 1000u, 5000u}) {
        bulk::text_ring ring;
        bulk::start_ring(ring, host, size);
        std::vector<std::uint32_t> bytes(size, 0); // of which row each is
        for (int round = 0; round < 2000; round++) {
            const auto row = static_cast<std::uint32_t>(random.below(300));
            const std::size_t length = random.below(bulk::most_placed(ring) + 1);
            // As in a job: two texts that last are there together.
            const auto other = static_cast<std::uint32_t>(random.below(300));
            const bool lasted =
                bulk::lasts(ring, other) && (row & ring.mask) != (other & ring.mask);
            const std::size_t place = bulk::place_text(ring, row, length);
            ASSERT_LE(place + length, size);
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(place), length, row);
            ASSERT_TRUE(!lasted || bulk::find_text(ring, other) != nullptr);
            for (const std::uint32_t each : {row, other}) {
                const bulk::text_place* const found = bulk::find_text(ring, each);
                if (found == nullptr)
                    continue;
                const auto first =
                    bytes.begin() + static_cast<std::ptrdiff_t>(found->offset % size);
                ASSERT_EQ(std::count(first, first + found->bytes, each), found->bytes);
            }
        }
    }
}

} // namespace
