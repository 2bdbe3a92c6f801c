#include <gtest/gtest.h>

#include "texts.h"

namespace {

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

// Returns all elements that the counter yields, pass after pass.
hash_list number(const hash_list& elements, std::size_t words, int* passes = nullptr)
{
    std::vector<std::uint32_t> room(words);
    const auto counter = std::make_unique<minhash::bag_counter>();
    minhash::start(*counter, room);
    hash_list found;
    int count = 0;
    do {
        count++;
        for (std::size_t at = 0; at < elements.size() && !counter->overflowed; at += 1000) {
            const auto first = elements.begin() + static_cast<std::ptrdiff_t>(at);
            const auto many = std::min<std::size_t>(1000, elements.size() - at);
            const auto batch = batch_of({first, first + static_cast<std::ptrdiff_t>(many)});
            if (minhash::number_occurrences(*counter, *batch))
                support::append(found, *batch);
        }
    } while (minhash::start_next_pass(*counter));
    if (passes != nullptr)
        *passes = count;
    return found;
}

void make_unique(hash_list& elements)
{
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
}

// Makes `count` hashes, most of them repeated; some lie at the ends of the range.
hash_list repeated_hashes(support::random_source& random, std::size_t count, std::size_t distinct)
{
    hash_list pool = support::random_hashes(random, distinct);
    pool[0] = 0;
    pool[distinct - 1] = ~std::uint64_t{0};
    hash_list made;
    for (std::size_t index = 0; index < count; index++)
        made.push_back(pool[random.below(distinct)]);
    return made;
}

TEST(bag, numbers_like_the_reference)
{
    support::random_source random = {41};
    for (const std::size_t distinct : {1u, 2u, 10u, 300u, 3000u}) {
        const hash_list elements = repeated_hashes(random, 4000, distinct);
        int passes = 0;
        EXPECT_EQ(number(elements, 3 * 8192, &passes), reference::number_occurrences(elements));
        EXPECT_EQ(passes, 1);
    }
    EXPECT_EQ(number({}, 3 * 128), hash_list());
}

TEST(bag, a_small_table_takes_more_passes_to_the_same_elements)
{
    support::random_source random = {42};
    for (const std::size_t entries : {4u, 16u, 64u, 1024u}) {
        const hash_list elements = repeated_hashes(random, 3000, 900);
        int passes = 0;
        const hash_list found = number(elements, 3 * entries, &passes);
        const hash_list expected = reference::number_occurrences(elements);
        EXPECT_EQ(std::set(found.begin(), found.end()), std::set(expected.begin(), expected.end()));
        if (entries < 1024) {
            EXPECT_GT(passes, 900 / static_cast<int>(entries));
        }
        EXPECT_LT(passes, 40 * 900 / static_cast<int>(entries));
    }
}

// A text that needs a larger table repeats a pass with that table, and never for a part of the range.
TEST(bag, a_text_uses_all_of_its_memory)
{
    support::random_source random = {44};
    for (const std::size_t distinct : {12'000u, 12'289u, 20'000u, 32'768u, 98'000u, 196'608u, 196'609u, 262'144u}) {
        int passes = 0;
        const hash_list found = number(support::random_hashes(random, distinct), minhash::bag_room(distinct), &passes);
        EXPECT_GE(found.size(), distinct);
        EXPECT_EQ(passes, distinct <= 12'288 ? 1 : distinct <= 196'608 ? 2 : 3) << distinct;
    }
}

// A secret decides where passes begin and end, so hashes that share their upper bits do not crowd into one pass.
TEST(bag, crowded_hashes_take_as_many_passes_as_others)
{
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0} - 99}) {
        hash_list elements;
        for (std::uint64_t index = 0; index < 100; index++)
            elements.insert(elements.end(), 1 + index % 3, from + index);
        int passes = 0;
        hash_list found = number(elements, 3 * 32, &passes);
        hash_list expected = reference::number_occurrences(elements);
        make_unique(found);
        make_unique(expected);
        EXPECT_EQ(found, expected);
        EXPECT_GT(passes, 4);
        EXPECT_LT(passes, 25);
    }
}

// More distinct shingles than fit into the largest table are counted in two halves. One shingle in ten is the same as
// thousands of others.
TEST(bag, many_shingles_are_counted_in_halves)
{
    for (const std::size_t distinct : {900'000u, 3'600'000u}) {
        hash_list elements(distinct);
        for (std::size_t index = 0; index < distinct; index++)
            elements[index] = minhash::fmix64(index % 10 == 9 ? index % 1000 : index + 1);
        hash_list expected = elements;
        std::sort(expected.begin(), expected.end());
        std::uint64_t last = 0;
        std::uint32_t seen = 0;
        for (std::uint64_t& hash : expected) {
            seen = hash == last ? seen + 1 : 0;
            last = hash;
            hash = minhash::hash_occurrence(hash, seen);
        }
        make_unique(expected);
        int passes = 0;
        hash_list found = number(elements, minhash::bag_room(SIZE_MAX), &passes);
        make_unique(found);
        EXPECT_TRUE(found == expected) << found.size() << " of " << expected.size();
        EXPECT_EQ(passes, distinct < 1'000'000 ? 3 : 5);
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
            EXPECT_EQ(support::sign(text, scheme, 100, 3 * 256), expected) << kind.name;
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

TEST(bag, rooms)
{
    const std::size_t most = minhash::bag_room(SIZE_MAX);
    EXPECT_EQ(most * sizeof(std::uint32_t), std::size_t{48} << 20);
    std::size_t last = 0;
    for (std::size_t bytes = 0; bytes < 10'000'000; bytes += 1 + bytes / 3) {
        const std::size_t words = minhash::bag_room(bytes);
        EXPECT_GE(words, last);
        EXPECT_LE(words, most);
        if (words < most) {
            EXPECT_GT(words / 3 / 4 * 3, bytes); // one entry per byte never overflows
        }
        last = words;
    }
    EXPECT_EQ(last, most);
}

} // namespace
