#include <gtest/gtest.h>

#include "texts.h"

namespace {

using minhash::bag_entry;
using minhash::unit;
using reference::hash_list;

std::unique_ptr<minhash::shingle_batch> batch_of(const hash_list& elements)
{
    auto batch = std::make_unique<minhash::shingle_batch>();
    for (const std::uint64_t element : elements) {
        batch->lo[batch->count] = static_cast<std::uint32_t>(element);
        batch->hi[batch->count++] = static_cast<std::uint32_t>(element >> 32);
    }
    return batch;
}

// All elements that leave the counter, pass after pass.
hash_list number(const hash_list& elements, std::size_t entries, int* passes = nullptr)
{
    std::vector<bag_entry> table(entries);
    minhash::bag_counter counter;
    minhash::start(counter, table);
    hash_list found;
    int count = 0;
    do {
        count++;
        for (std::size_t at = 0; at < elements.size(); at += 1000) {
            const auto first = elements.begin() + static_cast<std::ptrdiff_t>(at);
            const auto many = std::min<std::size_t>(1000, elements.size() - at);
            const auto batch = batch_of({first, first + static_cast<std::ptrdiff_t>(many)});
            minhash::number_occurrences(counter, *batch);
            support::append(found, *batch);
        }
    } while (minhash::start_next_pass(counter));
    if (passes != nullptr)
        *passes = count;
    return found;
}

// `count` hashes, most of them several times; some lie at the ends of the range.
hash_list repeated_hashes(support::random_source& random, std::size_t count, std::size_t distinct)
{
    hash_list pool = support::random_hashes(random, distinct);
    pool[0] = 0;
    pool[distinct - 1] = ~std::uint64_t{0};
    hash_list scheme;
    for (std::size_t index = 0; index < count; index++)
        scheme.push_back(pool[random.below(distinct)]);
    return scheme;
}

TEST(bag, numbers_like_the_reference)
{
    support::random_source random = {41};
    for (const std::size_t distinct : {1u, 2u, 10u, 300u, 3000u}) {
        const hash_list elements = repeated_hashes(random, 4000, distinct);
        int passes = 0;
        EXPECT_EQ(number(elements, 8192, &passes), reference::number_occurrences(elements));
        EXPECT_EQ(passes, 1);
    }
    EXPECT_EQ(number({}, 128), hash_list());
}

TEST(bag, a_small_table_takes_more_passes_to_the_same_elements)
{
    support::random_source random = {42};
    for (const std::size_t entries : {4u, 16u, 64u, 1024u}) {
        const hash_list elements = repeated_hashes(random, 3000, 900);
        int passes = 0;
        const hash_list found = number(elements, entries, &passes);
        const hash_list expected = reference::number_occurrences(elements);
        EXPECT_EQ(std::set(found.begin(), found.end()), std::set(expected.begin(), expected.end()));
        if (entries < 1024) {
            EXPECT_GT(passes, 900 / static_cast<int>(entries));
        }
        EXPECT_LT(passes, 40 * 900 / static_cast<int>(entries));
    }
}

// Hashes that share their upper bits make the passes narrow down on them. Passes over the empty
// rest of the range are not waited for.
TEST(bag, passes_cope_with_crowded_hashes)
{
    for (const std::uint64_t from :
         {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0} - 99}) {
        hash_list elements;
        for (std::uint64_t index = 0; index < 100; index++)
            elements.insert(elements.end(), 1 + index % 3, from + index);
        const hash_list expected = reference::number_occurrences(elements);
        std::vector<bag_entry> table(32);
        minhash::bag_counter counter;
        minhash::start(counter, table);
        std::set<std::uint64_t> found;
        int overflows = 0;
        for (int pass = 0; pass < 400; pass++) {
            const auto batch = batch_of(elements);
            minhash::number_occurrences(counter, *batch);
            hash_list numbered;
            support::append(numbered, *batch);
            found.insert(numbered.begin(), numbered.end());
            overflows += counter.overflowed;
            if (found.size() == expected.size())
                break;
            ASSERT_TRUE(minhash::start_next_pass(counter));
        }
        EXPECT_EQ(found, std::set(expected.begin(), expected.end()));
        EXPECT_GT(overflows, 50);
    }
}

TEST(bag, signatures_do_not_feel_the_size_of_the_table)
{
    support::random_source random = {43};
    for (const texts::kind& kind : texts::kinds) {
        const std::string text = texts::make(kind, 3000, random);
        minhash::scheme scheme = support::default_scheme;
        scheme.shingles.bag = true;
        for (const unit of : {unit::character, unit::word}) {
            scheme.shingles.of = of;
            scheme.shingles.size = 2;
            const reference::slot_list expected = reference::sign(text, scheme);
            EXPECT_EQ(support::sign(text, scheme), expected) << kind.name;
            EXPECT_EQ(support::sign(text, scheme, 100, 256), expected) << kind.name;
        }
    }
}

TEST(bag, occurrences_distinguish_repetitions)
{
    minhash::scheme scheme = support::default_scheme;
    const std::string once = "to be or not to be";
    const std::string twice = once + " " + once + " " + once;
    scheme.shingles = {unit::word, 1, true, false};
    EXPECT_EQ(support::sign(once, scheme), support::sign(twice, scheme));
    scheme.shingles.bag = true;
    EXPECT_NE(support::sign(once, scheme), support::sign(twice, scheme));
}

TEST(bag, table_sizes)
{
    std::size_t last = 0;
    for (std::size_t bytes = 0; bytes < 10'000'000; bytes += 1 + bytes / 3) {
        const std::size_t size = minhash::bag_table_size(bytes);
        EXPECT_EQ(size & (size - 1), 0u);
        EXPECT_GE(size, last);
        EXPECT_LE(size, std::size_t{1} << 22);
        if (bytes <= 2'000'000) {
            EXPECT_GT(size / 4 * 3, bytes); // one entry per byte never overflows
        }
        last = size;
    }
    EXPECT_EQ(minhash::bag_table_size(SIZE_MAX), std::size_t{1} << 22);
}

} // namespace
