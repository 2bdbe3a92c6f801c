#include "core/exact.h"

#include <gtest/gtest.h>

#include "texts.h"

namespace {

using minhash::shingling;
using minhash::unit;
using reference::string_list;

// Folds two texts into one buffer, and counts them in a table that starts too small and grows.
struct comparison {
    string_list shingles[2];
    minhash::overlap set = {};
    minhash::overlap bag = {};

    double jaccard() const
    {
        return static_cast<double>(set.shared) / static_cast<double>(set.first + set.second - set.shared);
    }
};

// Two folded texts in one buffer, with arbitrary bytes after them.
struct two_texts {
    std::string both;
    std::unique_ptr<std::uint8_t[]> buffer;
    std::uint32_t end[2];
    shingling how;

    minhash::shingle_walk walk(int text) const
    {
        return minhash::start_walk(buffer.get(), text == 0 ? 0 : end[0], end[text], how);
    }
};

// Entries and a table that start too small and grow.
struct growing_counts {
    std::vector<minhash::counted_shingle> entries;
    std::vector<std::uint32_t> table;
    minhash::shingle_counts counts;

    growing_counts(const two_texts& texts, bool bag) : counts{texts.buffer.get(), bag, {}, 0, {}, {}} { grow(2); }

    void make_room(std::size_t shingles)
    {
        while (!minhash::has_room(counts, shingles))
            grow(2 * entries.size());
    }

private:
    void grow(std::size_t size)
    {
        entries.resize(size);
        table.assign(minhash::table_size(size), 0);
        counts.entries = entries;
        counts.table = table;
        // Enters the entries in two parts, as the caller does.
        minhash::enter(counts, 0, counts.used / 2);
        minhash::enter(counts, counts.used / 2, counts.used);
        EXPECT_EQ(std::count(table.begin(), table.end(), 0u), table.size() - counts.used);
    }
};

void count_text(growing_counts& counted, const two_texts& texts, int text, string_list& shingles)
{
    shingles.clear();
    minhash::shingle_walk walk = texts.walk(text);
    minhash::shingle_group group;
    while (minhash::next(walk, group)) {
        counted.make_room(group.count);
        minhash::count(counted.counts, group, text);
        for (std::size_t i = 0; i < group.count; i++) {
            const auto [offset, bytes] = group.at(i);
            EXPECT_GE(offset, text == 0 ? 0 : texts.end[0]);
            EXPECT_LE(offset + bytes, texts.end[text]);
            shingles.push_back(texts.both.substr(offset, bytes));
            const minhash::counted_shingle& entry = minhash::entry_of(counted.counts, group, i);
            EXPECT_EQ(texts.both.substr(entry.first.offset, entry.first.bytes), shingles.back());
            EXPECT_GE(entry.occurrences[text], 1u);
        }
    }
    EXPECT_FALSE(minhash::next(walk, group)); // after the end, next() keeps returning false
}

// Counts text `first` and then the other one, takes the other one back, and counts it again, which must change nothing.
minhash::overlap count_both(const two_texts& texts, bool bag, int first, string_list (&shingles)[2])
{
    growing_counts counted(texts, bag);
    const int other = 1 - first;
    count_text(counted, texts, first, shingles[first]);
    const minhash::shingle_counts before = counted.counts;
    count_text(counted, texts, other, shingles[other]);
    const minhash::shingle_counts both = counted.counts;

    // Some at a time, as the caller does.
    const std::size_t middle = (before.used + both.used) / 2;
    minhash::forget(counted.counts, 0, before.used / 2, other);
    minhash::forget(counted.counts, before.used / 2, before.used, other);
    minhash::remove(counted.counts, before.used, middle);
    minhash::remove(counted.counts, middle, both.used);
    counted.counts.used = before.used;
    counted.counts.sizes = before.sizes;
    EXPECT_EQ(std::count(counted.table.begin(), counted.table.end(), 0u), counted.table.size() - before.used);

    count_text(counted, texts, other, shingles[other]);
    EXPECT_EQ(counted.counts.used, both.used);
    EXPECT_EQ(counted.counts.sizes.first, both.sizes.first);
    EXPECT_EQ(counted.counts.sizes.second, both.sizes.second);
    EXPECT_EQ(counted.counts.sizes.shared, both.sizes.shared);
    return counted.counts.sizes;
}

void expect_equal(const minhash::overlap& found, const minhash::overlap& expected)
{
    EXPECT_EQ(found.first, expected.first);
    EXPECT_EQ(found.second, expected.second);
    EXPECT_EQ(found.shared, expected.shared);
}

comparison compare(const std::string& left, const std::string& right, const shingling& how)
{
    const std::string folded[2] = {support::fold(left, how), support::fold(right, how)};
    const two_texts texts = {
        folded[0] + folded[1],
        support::padded_copy(folded[0] + folded[1]),
        {static_cast<std::uint32_t>(folded[0].size()), static_cast<std::uint32_t>(folded[0].size() + folded[1].size())},
        how};
    comparison result = {};
    result.bag = count_both(texts, true, 1, result.shingles);
    result.set = count_both(texts, false, 0, result.shingles);
    return result;
}

minhash::overlap reference_set(const string_list& left, const string_list& right)
{
    const std::set<std::string> a(left.begin(), left.end());
    const std::set<std::string> b(right.begin(), right.end());
    string_list shared;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
    return {a.size(), b.size(), shared.size()};
}

minhash::overlap reference_bag(const string_list& left, const string_list& right)
{
    const std::multiset<std::string> a(left.begin(), left.end());
    const std::multiset<std::string> b(right.begin(), right.end());
    string_list shared;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
    return {a.size(), b.size(), shared.size()};
}

shingling characters(std::uint16_t size, bool fold = false) { return {unit::character, size, fold, false}; }

shingling words(std::uint16_t size, bool fold = true) { return {unit::word, size, fold, false}; }

string_list shingles(const std::string& text, const shingling& how) { return compare(text, "", how).shingles[0]; }

TEST(exact, equals_the_reference)
{
    support::random_source random = {81};
    for (const texts::kind& kind : texts::kinds) {
        for (const std::size_t length : {0u, 1u, 2u, 3u, 7u, 50u, 600u}) {
            const std::string left = texts::make(kind, length, random);
            const std::string right =
                left.substr(0, random.below(left.size() + 1)) + texts::make(kind, length / 2, random);
            for (const shingling& how : texts::shinglings({1, 2, 3, 5, 40, 255})) {
                SCOPED_TRACE(kind.name + (" " + std::to_string(length)) + " " + texts::describe(how));
                const comparison found = compare(left, right, how);
                const string_list expected[2] = {reference::shingles(left, how), reference::shingles(right, how)};
                ASSERT_EQ(found.shingles[0], expected[0]);
                ASSERT_EQ(found.shingles[1], expected[1]);
                expect_equal(found.set, reference_set(expected[0], expected[1]));
                expect_equal(found.bag, reference_bag(expected[0], expected[1]));
            }
        }
    }
}

// The strings that are compared exactly and the hashes that are signed must stand for the same shingles.
TEST(exact, has_as_many_shingles_as_are_signed)
{
    support::random_source random = {82};
    for (const texts::kind& kind : texts::kinds) {
        const std::string text = texts::make(kind, 400, random);
        for (const shingling& how : texts::shinglings({1, 3, 255}))
            EXPECT_EQ(shingles(text, how).size(), support::cut(text, how, 0).size());
    }
}

TEST(exact, moving_keeps_all_counts)
{
    support::random_source random = {83};
    const std::string left = texts::make(texts::kinds[0], 5000, random);
    const std::string right = texts::make(texts::kinds[0], 5000, random);
    const comparison found = compare(left, right, characters(2));
    const string_list expected[2] = {reference::shingles(left, characters(2)),
                                     reference::shingles(right, characters(2))};
    expect_equal(found.set, reference_set(expected[0], expected[1]));
    expect_equal(found.bag, reference_bag(expected[0], expected[1]));
}

// --- worked examples ------------------------------------------------------------------------

TEST(exact, examples_of_characters)
{
    EXPECT_EQ(shingles("abcdabd", characters(2)), (string_list{"ab", "bc", "cd", "da", "ab", "bd"}));
    const comparison a = compare("abcdabd", "", characters(2));
    EXPECT_EQ(a.set.first, 5u);
    EXPECT_EQ(a.bag.first, 6u);
    const comparison b = compare("abcab", "", characters(2));
    EXPECT_EQ(b.set.first, 3u);
    EXPECT_EQ(b.bag.first, 4u);
}

TEST(exact, examples_of_words)
{
    EXPECT_EQ(shingles("it is trivial to show", words(3)),
              (string_list{"it is trivial", "is trivial to", "trivial to show"}));
    EXPECT_EQ(shingles("The quick brown fox jumps over the lazy dog", words(5)),
              (string_list{"the quick brown fox jumps",
                           "quick brown fox jumps over",
                           "brown fox jumps over the",
                           "fox jumps over the lazy",
                           "jumps over the lazy dog"}));
    std::string many;
    for (int word = 0; word < 10000; word++)
        many += std::to_string(word) + " ";
    EXPECT_EQ(compare(many, "", words(5)).set.first, 9996u);
}

TEST(exact, examples_of_sets)
{
    EXPECT_DOUBLE_EQ(compare("2 3 5 7", "3 4 7", words(1)).jaccard(), 2.0 / 5);
    // The bit vectors 10111 and 10011, as the positions of their ones.
    EXPECT_DOUBLE_EQ(compare("1 3 4 5", "1 4 5", words(1)).jaccard(), 3.0 / 4);
    EXPECT_DOUBLE_EQ(compare("chair, desk, rug, keyboard, mouse", "chair, rug, keyboard", words(1)).jaccard(), 3.0 / 5);
}

TEST(exact, examples_of_word_order)
{
    const std::string left = "I went to work today";
    const std::string right = "today I went to work";
    EXPECT_DOUBLE_EQ(compare(left, right, words(1)).jaccard(), 1.0);
    EXPECT_DOUBLE_EQ(compare(left, right, words(2)).jaccard(), 3.0 / 5);
}

TEST(exact, example_rude_and_crude)
{
    const comparison found = compare("this is really rude", "this is really crude", characters(3));
    EXPECT_EQ(found.bag.first, 17u);
    EXPECT_EQ(found.bag.second, 18u);
    EXPECT_EQ(found.set.first, 16u);
    EXPECT_EQ(found.set.second, 17u);
    EXPECT_EQ(found.set.shared, 14u);
    EXPECT_DOUBLE_EQ(found.jaccard(), 0.7368421052631579);
    EXPECT_EQ(found.bag.shared, 15u);
    EXPECT_EQ(found.bag.first + found.bag.second - found.bag.shared, 20u);
}

TEST(exact, example_lorem_ipsum)
{
    const std::string left = "Lorem Ipsum dolor sit amet";
    const std::string right = left + " is how dummy text starts";
    const comparison five = compare(left, right, characters(5));
    EXPECT_EQ(five.set.shared, 22u);
    EXPECT_DOUBLE_EQ(five.jaccard(), 22.0 / 47);
    EXPECT_EQ(five.set.shared, five.set.first); // contained
    EXPECT_DOUBLE_EQ(compare(left, right, characters(3)).jaccard(), 24.0 / 49);
}

TEST(exact, examples_of_others)
{
    const comparison charlotte = compare("Charlotte Brown", "Charlene Browning", characters(2));
    EXPECT_DOUBLE_EQ(charlotte.jaccard(), 10.0 / 20);
    const comparison olivia = compare("Olivia Thomas", "Olive Thomason", characters(2));
    EXPECT_DOUBLE_EQ(olivia.jaccard(), 9.0 / 16);
}

TEST(exact, similarities_of_sizes)
{
    EXPECT_EQ(minhash::jaccard({3, 3, 2}), 0.5);
    EXPECT_EQ(minhash::jaccard({5, 5, 5}), 1);
    EXPECT_EQ(minhash::jaccard({5, 0, 0}), 0);
    EXPECT_EQ(minhash::jaccard({0, 0, 0}), 0);
    EXPECT_EQ(minhash::containment({4, 9, 3}), 0.75);
    EXPECT_EQ(minhash::containment({0, 9, 0}), 0);
}

} // namespace
