#include "bulk/sets/exact_sets.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "support.h"

namespace {

using minhash::bulk::exact_sets;
using reference::hash_list;

// Memory of exactly the requested size, so that AddressSanitizer sees every access beyond it.
struct plain_host : minhash::bulk::host {
    std::map<void*, std::unique_ptr<std::uint8_t[]>> memory;
    int stop = 0;
    std::uint64_t pauses = 0;

    plain_host() : host{}
    {
        allocate = [](host& self, std::size_t bytes) -> void* {
            auto* const fresh = new std::uint8_t[bytes];
            static_cast<plain_host&>(self).memory[fresh].reset(fresh);
            return fresh;
        };
        release = [](host& self, void* given) { static_cast<plain_host&>(self).memory.erase(given); };
        pause = [](host& self) { static_cast<plain_host&>(self).pauses++; };
        stopping = &stop;
    }
};

// Rows, whose elements are read in batches.
struct rows_of_elements {
    std::vector<hash_list> rows;
    std::size_t batch = 100;
    std::size_t reads = 0;
    std::size_t most = 0; // the announced maximum of a row's elements; 0: announces their number

    minhash::bulk::element_source source()
    {
        return {this, [](void* from, std::uint32_t row, minhash::bulk::distinct_elements& set) {
                    auto& self = *static_cast<rows_of_elements*>(from);
                    self.reads++;
                    const hash_list& all = self.rows[row];
                    start_elements(set, self.most > 0 ? self.most : all.size());
                    for (std::size_t at = 0; at < all.size(); at += self.batch) {
                        std::vector<std::uint32_t> lo, hi;
                        for (std::size_t i = at; i < std::min(at + self.batch, all.size()); i++) {
                            lo.push_back(minhash::low(all[i]));
                            hi.push_back(minhash::high(all[i]));
                        }
                        add(set, lo.data(), hi.data(), lo.size());
                    }
                }};
    }
};

struct comparer {
    plain_host host;
    exact_sets sets;

    comparer(rows_of_elements& rows, std::size_t bytes)
    {
        start_sets(sets, host, rows.source(), static_cast<std::uint32_t>(rows.rows.size()), bytes);
    }
};

double jaccard(const hash_list& a, const hash_list& b)
{
    const std::set<std::uint64_t> first(a.begin(), a.end());
    const std::set<std::uint64_t> second(b.begin(), b.end());
    std::uint64_t shared = 0;
    for (const std::uint64_t element : second)
        shared += first.count(element);
    return minhash::jaccard({first.size(), second.size(), shared});
}

// Compares rows, and computes the right answer by brute force.
class checked_comparer {
public:
    checked_comparer(rows_of_elements& of, std::size_t bytes)
        : rows(of), by(of, bytes), expected(of.rows.size() * of.rows.size(), -1)
    {
    }

    void check(std::uint32_t a, std::uint32_t b, double least)
    {
        double& right = expected[std::min(a, b) * rows.rows.size() + std::max(a, b)];
        if (right < 0)
            right = jaccard(rows.rows[a], rows.rows[b]);
        const std::optional<double> found = compare(by.sets, a, b, least);
        ASSERT_EQ(found.has_value(), right >= least) << a << ", " << b << " at " << least;
        ASSERT_TRUE(!found || *found == right) << a << ", " << b << " at " << least;
    }

private:
    rows_of_elements& rows;
    comparer by;
    std::vector<double> expected;
};

// Makes groups of rows. Each row of a group is made from the same elements, by leaving out, adding and repeating some.
rows_of_elements grouped_rows(support::random_source& random, std::size_t groups, std::size_t members)
{
    rows_of_elements made;
    for (std::size_t group = 0; group < groups; group++) {
        const hash_list base = support::random_hashes(random, random.below(400));
        const std::size_t change = 1 + random.below(100);
        for (std::size_t member = 0; member < members; member++) {
            hash_list row;
            for (const std::uint64_t element : base)
                if (random.below(100) >= change)
                    row.push_back(element);
            for (std::size_t i = random.below(1 + change); i > 0; i--)
                row.push_back(random.next());
            for (std::size_t i = row.empty() ? 0 : random.below(20); i > 0; i--)
                row.push_back(row[random.below(row.size())]);
            made.rows.push_back(row);
        }
    }
    return made;
}

TEST(exact_sets, equal_brute_force_in_any_order)
{
    support::random_source random = {61};
    const double thresholds[] = {0, 0.1, 0.3, 0.5, 0.8, 0.9, 0.97, 1};
    for (const std::size_t bytes : {0u, 6000u, 40'000u, 4'000'000u}) {
        for (int round = 0; round < 4; round++) {
            rows_of_elements rows = grouped_rows(random, 4, 12);
            rows.batch = 1 + random.below(300);
            rows.most = random.below(2); // sets grow
            const auto count = static_cast<std::uint32_t>(rows.rows.size());
            checked_comparer by(rows, bytes);
            const double least = thresholds[random.below(std::size(thresholds))];
            // Compares rows in the order of pairs, in the order of clusters, and in a random order.
            for (std::uint32_t a = 0; a < count; a++)
                for (std::uint32_t b = a + 1; b < count; b++)
                    by.check(a, b, least);
            for (std::uint32_t b = 0; b < count; b++)
                for (std::uint32_t a = 0; a < b; a++)
                    by.check(a, b, least);
            for (int i = 0; i < 500; i++) {
                const auto a = static_cast<std::uint32_t>(random.below(count));
                const auto b = static_cast<std::uint32_t>(random.below(count));
                if (a != b)
                    by.check(a, b, thresholds[random.below(std::size(thresholds))]);
            }
        }
    }
}

// Compares small rows, some of them with repeats, where few rows can be kept, so that records of one form follow
// records of the other.
TEST(exact_sets, equal_brute_force_where_little_is_kept)
{
    support::random_source random = {66};
    for (int round = 0; round < 400; round++) {
        const hash_list base = support::random_hashes(random, 400);
        rows_of_elements rows;
        for (int i = 0; i < 8; i++) {
            hash_list row;
            for (std::size_t at = 0, end = 100 + random.below(300); at < end; at++) {
                row.push_back(random.below(20) == 0 ? random.next() : base[at]);
                if (round % 3 > 0 && random.below(10) == 0)
                    row.push_back(row[random.below(row.size())]);
            }
            rows.rows.push_back(row);
        }
        constexpr std::size_t rings[] = {2000, 8000, 20'000, 100'000};
        checked_comparer by(rows, rings[random.below(std::size(rings))]);
        for (int i = 0; i < 60; i++) {
            const auto a = static_cast<std::uint32_t>(random.below(rows.rows.size()));
            const auto b = static_cast<std::uint32_t>(random.below(rows.rows.size()));
            if (a == b)
                continue;
            ASSERT_NO_FATAL_FAILURE(by.check(a, b, 0));
        }
    }
}

// Up to 4,096 elements at the start of a row may be entered at once, in another way than the others.
TEST(exact_sets, equal_brute_force_whatever_the_batches)
{
    support::random_source random = {68};
    for (const std::size_t batch : {1u, 4095u, 4096u, 4097u, 6000u, 30'000u}) {
        const hash_list base = support::random_hashes(random, 9000);
        rows_of_elements rows;
        rows.batch = batch;
        for (int i = 0; i < 6; i++) {
            hash_list row;
            for (std::size_t at = random.below(2) * 4000; at < base.size(); at++) {
                row.push_back(random.below(20) == 0 ? random.next() : base[at]);
                if (random.below(5) == 0)
                    row.push_back(row[random.below(row.size())]);
            }
            rows.rows.push_back(row);
        }
        rows.rows.push_back(hash_list(10'000, base[0]));
        rows.most = batch % 2; // sets grow
        checked_comparer by(rows, 500'000);
        for (std::uint32_t a = 0; a < rows.rows.size(); a++)
            for (std::uint32_t b = a + 1; b < rows.rows.size(); b++)
                ASSERT_NO_FATAL_FAILURE(by.check(a, b, 0));
    }
}

TEST(exact_sets, empty_sets_and_element_zero)
{
    rows_of_elements rows = {{{}, {0}, {5}, {0, 0, 7}, {7, 0, 0}, {}}};
    checked_comparer by(rows, 10000);
    for (std::uint32_t a = 0; a < rows.rows.size(); a++)
        for (std::uint32_t b = a + 1; b < rows.rows.size(); b++)
            for (const double least : {0.0, 0.5, 1.0})
                by.check(a, b, least);
}

TEST(exact_sets, rows_are_read_once_and_almost_equal_ones_share_memory)
{
    support::random_source random = {62};
    const hash_list base = support::random_hashes(random, 1000);
    rows_of_elements rows;
    for (int copy = 0; copy < 200; copy++) {
        rows.rows.push_back(base);
        for (int i = 0; i < 20; i++)
            rows.rows.back().push_back(random.next());
    }
    // There is memory for a tenth of all elements; if kept by their base, the rows need a twentieth.
    comparer by(rows, 200 * 1020);
    for (std::uint32_t a = 0; a < rows.rows.size(); a++)
        for (std::uint32_t b = a + 1; b < rows.rows.size(); b++) {
            ASSERT_EQ(compare(by.sets, a, b, 0.8), 1000.0 / 1040);
            ASSERT_EQ(compare(by.sets, a, b, 0.97), std::nullopt);
        }
    EXPECT_LT(rows.reads, 210u);
}

TEST(exact_sets, sizes_reject_rows_unread)
{
    support::random_source random = {63};
    rows_of_elements rows;
    rows.rows = {support::random_hashes(random, 100),
                 support::random_hashes(random, 130),
                 support::random_hashes(random, 100)};
    comparer by(rows, 0); // no row is kept
    EXPECT_EQ(compare(by.sets, 0, 1, 0.8), std::nullopt);
    const std::size_t reads = rows.reads;
    EXPECT_EQ(compare(by.sets, 0, 1, 0.8), std::nullopt);
    EXPECT_EQ(rows.reads, reads);
    EXPECT_EQ(compare(by.sets, 0, 2, 0.8), std::nullopt);
    EXPECT_GT(rows.reads, reads);
}

hash_list without_repeats(const hash_list& elements)
{
    hash_list distinct;
    std::set<std::uint64_t> met;
    for (const std::uint64_t element : elements)
        if (met.insert(element).second)
            distinct.push_back(element);
    return distinct;
}

TEST(exact_sets, the_elements_of_a_base_are_marked_and_no_others_kept)
{
    support::random_source random = {65};
    plain_host host;
    for (int round = 0; round < 50; round++) {
        const hash_list first = support::random_hashes(random, random.below(700));
        hash_list came; // the same, and some of them again
        for (std::size_t at = 0; at < first.size(); at++) {
            came.push_back(first[at]);
            for (std::size_t from = random.below(20 * at + 20); from <= at; from += 1 + from % 3)
                came.push_back(first[from]);
        }
        hash_list second;
        while (second.size() < first.size()) { // runs of these, some again, and other elements
            for (std::size_t at = random.below(came.size()), left = 1 + random.below(40); at < came.size() && left > 0;
                 at++, left--)
                second.push_back(came[at]);
            for (std::size_t left = random.below(4); left > 0; left--)
                second.push_back(random.below(3) > 0 ? random.next() : second[0]);
        }
        minhash::bulk::distinct_elements base = {};
        minhash::bulk::distinct_elements set = {};
        base.owner = set.owner = &host;
        base.repeating = round % 2 == 0;
        start_elements(base, 1);
        add(base, came);
        const hash_list listed(base.elements().begin(), base.elements().end());
        ASSERT_EQ(base.count, first.size());
        ASSERT_EQ(without_repeats(listed), first);
        if (!base.repeating) {
            ASSERT_EQ(listed, first);
        }
        set.base = &base;
        start_elements(set, second.size());
        add(set, second);

        const std::set<std::uint64_t> all(second.begin(), second.end());
        std::set<std::uint64_t> found(set.elements().begin(), set.elements().end());
        ASSERT_EQ(found.size(), set.count);
        std::vector<std::uint64_t> words(listed.size() / 64 + 1);
        const std::size_t marked = take_marks(set, words.data());
        ASSERT_EQ(found.size() + marked, all.size());
        for (std::size_t offset = 0; offset < listed.size(); offset++)
            if (words[offset / 64] >> offset % 64 & 1) {
                ASSERT_TRUE(found.insert(listed[offset]).second);
            }
        ASSERT_EQ(found, all);
    }
}

TEST(exact_sets, equal_elements_at_the_front_are_counted)
{
    support::random_source random = {15};
    for (std::size_t count = 0; count < 100; count++)
        for (std::size_t different = 0; different <= count; different++) {
            std::vector<std::uint64_t> a(count);
            for (std::uint64_t& element : a)
                element = random.next();
            std::vector<std::uint64_t> b = a;
            if (different < count)
                b[different] ^= std::uint64_t{1} << random.below(64);
            const auto exact_a = support::exact_copy<std::uint64_t>(a.data(), count);
            const auto exact_b = support::exact_copy<std::uint64_t>(b.data(), count);
            ASSERT_EQ(minhash::bulk::count_equal_front(exact_a.get(), exact_b.get(), count), different) << count;
        }
}

TEST(exact_sets, large_rows_give_way_to_cancel)
{
    support::random_source random = {64};
    rows_of_elements rows;
    rows.batch = 2000;
    rows.rows.push_back(support::random_hashes(random, 300'000));
    rows.rows.push_back(rows.rows[0]);
    rows.rows[1].resize(250'000);
    comparer by(rows, 100'000'000);
    by.host.stop = 1;
    EXPECT_EQ(compare(by.sets, 0, 1, 0.8), 250.0 / 300);
    EXPECT_GT(by.host.pauses, 70u); // one in 4,096 elements
}

TEST(exact_sets, the_fewest_shared_elements_are_the_fewest)
{
    for (std::uint64_t a = 0; a < 60; a++)
        for (std::uint64_t b = 0; b < 60; b++)
            for (const double least : {0.0, 0.05, 0.3, 1.0 / 3, 0.5, 0.8, 0.95, 1.0}) {
                const std::uint64_t found = minhash::bulk::least_shared(a, b, least);
                const std::uint64_t most = std::min(a, b);
                ASSERT_LE(found, most + 1);
                ASSERT_TRUE(found > most || minhash::jaccard({a, b, found}) >= least);
                ASSERT_TRUE(found == 0 || minhash::jaccard({a, b, found - 1}) < least);
            }
}

} // namespace
