#include "bulk/shared_elements.h"

#include <gtest/gtest.h>
#include <set>

#include "texts.h"

namespace {

using minhash::unit;
using reference::hash_list;

// One first set, compared with second ones as the glue does it, in memory with nothing to spare.
class comparison {
public:
    comparison(const hash_list& first, std::size_t second_room)
        : size(minhash::bulk::element_table_size(first.size() + second_room)),
          table(new std::uint64_t[size]), marks(new std::uint8_t[size]),
          second_entries(new std::uint32_t[first.size() + second_room + 1])
    {
        state = {};
        state.table = {table.get(), size};
        state.marks = marks.get();
        state.second_entries = second_entries.get();
        state.room = minhash::bulk::no_overflow;
        std::fill_n(table.get(), size, 0);
        minhash::bulk::start_first(state);
        add(first, minhash::bulk::add_first);
    }

    double with(const hash_list& second)
    {
        while (!minhash::bulk::forget_second(state, 100)) {
        }
        add(second, minhash::bulk::add_second);
        return minhash::jaccard(minhash::bulk::sizes_of(state));
    }

    minhash::bulk::shared_elements state;

private:
    template <typename Add>
    void add(const hash_list& elements, Add to)
    {
        std::vector<std::uint32_t> lo, hi;
        for (const std::uint64_t element : elements) {
            lo.push_back(static_cast<std::uint32_t>(element));
            hi.push_back(static_cast<std::uint32_t>(element >> 32));
        }
        for (std::size_t at = 0; at < lo.size(); at += 100)
            to(state, lo.data() + at, hi.data() + at, std::min<std::size_t>(100, lo.size() - at));
    }

    std::size_t size;
    std::unique_ptr<std::uint64_t[]> table;
    std::unique_ptr<std::uint8_t[]> marks;
    std::unique_ptr<std::uint32_t[]> second_entries;
};

double jaccard(const hash_list& a, const hash_list& b)
{
    const std::set<std::uint64_t> first(a.begin(), a.end());
    const std::set<std::uint64_t> second(b.begin(), b.end());
    std::size_t shared = 0;
    for (const std::uint64_t element : second)
        shared += first.count(element);
    const std::size_t united = first.size() + second.size() - shared;
    return united == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(united);
}

hash_list draw(support::random_source& random, const hash_list& pool, std::size_t count)
{
    hash_list scheme;
    for (std::size_t i = 0; i < count; i++)
        scheme.push_back(pool[random.below(pool.size())]);
    return scheme;
}

TEST(shared_elements, many_seconds_against_one_first)
{
    support::random_source random = {73};
    for (const std::size_t distinct : {1u, 3u, 50u, 2000u}) {
        hash_list pool = support::random_hashes(random, distinct);
        // Elements that are crowded at both ends of the table, whatever its size.
        for (std::uint64_t i = 1; i < 40; i++) {
            pool.push_back(~std::uint64_t{0} << 30 | (i % 2 == 0 ? i : ~i));
            pool.push_back(i << 40);
        }
        for (const std::size_t size : {0u, 1u, 10u, 700u}) {
            const hash_list first = draw(random, pool, size);
            comparison compared(first, 1000);
            for (int round = 0; round < 30; round++) {
                const hash_list second =
                    round % 7 == 0 ? first : draw(random, pool, random.below(1001));
                EXPECT_EQ(compared.with(second), jaccard(first, second));
                EXPECT_EQ(compared.state.first, std::set(first.begin(), first.end()).size());
            }
        }
    }
}

TEST(shared_elements, empty_sets_and_element_zero)
{
    EXPECT_EQ(comparison({}, 0).with({}), 0);
    EXPECT_EQ(comparison({5}, 0).with({}), 0);
    EXPECT_EQ(comparison({}, 1).with({5}), 0);
    EXPECT_EQ(comparison({0}, 1).with({0}), 1);
    EXPECT_EQ(comparison({0, 0, 7}, 3).with({7, 0, 0}), 1);
    EXPECT_EQ(comparison({0, 7}, 1).with({0}), 0.5);
    // The only two elements that pass for one.
    EXPECT_EQ(comparison({0}, 1).with({1}), 1);
}

TEST(shared_elements, a_full_table_still_has_free_entries)
{
    support::random_source random = {74};
    for (std::size_t size = 0; size < 300; size++) {
        const hash_list first = support::random_hashes(random, size);
        const hash_list second = support::random_hashes(random, size);
        comparison compared(first, size);
        EXPECT_EQ(compared.with(second), 0);
        EXPECT_EQ(compared.with(first), size > 0);
    }
}

TEST(shared_elements, overflows_before_an_addition_that_could_be_too_much)
{
    support::random_source random = {76};
    const hash_list pool = support::random_hashes(random, 100);
    for (std::size_t room = 0; room < 100; room++) {
        comparison compared({}, room);
        compared.state.room = room;
        const hash_list second(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(room));
        compared.with(second);
        EXPECT_FALSE(compared.state.overflowed);
        EXPECT_EQ(compared.state.second, room);
        compared.with({pool[room]});
        EXPECT_EQ(compared.state.overflowed, room == 0);
        compared.with(pool);
        EXPECT_TRUE(compared.state.overflowed);
        compared.with({pool[0]}); // until a new first set starts
        EXPECT_TRUE(compared.state.overflowed);
    }
}

TEST(shared_elements, texts_as_sets_and_as_bags)
{
    support::random_source random = {75};
    for (const texts::kind& kind : texts::kinds) {
        const std::string a = texts::make(kind, 2000, random);
        const std::string b = a.substr(0, a.size() / 2) + texts::make(kind, 500, random) + a;
        for (const unit of : {unit::character, unit::word}) {
            hash_list first = support::cut(a, {of, 2, true, false}, 42);
            hash_list second = support::cut(b, {of, 2, true, false}, 42);
            EXPECT_EQ(comparison(first, second.size()).with(second), jaccard(first, second))
                << kind.name;
            first = reference::number_occurrences(first);
            second = reference::number_occurrences(second);
            comparison bags(first, second.size());
            EXPECT_EQ(bags.with(second), jaccard(first, second)) << kind.name;
            EXPECT_EQ(bags.state.first, first.size());
        }
    }
}

} // namespace
