#include "core/difference.h"

#include <bit>
#include <gtest/gtest.h>

#include "texts.h"

namespace {

using minhash::shingling;
using minhash::text_point;
using minhash::unit;
using reference::string_list;

// A span of a text: its bytes, the number of its first character, and the number of the character after it.
struct span {
    std::size_t from;
    std::size_t to;
    std::string passage;

    bool operator==(const span&) const = default;
};

std::ostream& operator<<(std::ostream& out, const span& value)
{
    return out << value.from << " to " << value.to << ": " << value.passage;
}

using span_list = std::vector<span>;

// --- as the glue does it --------------------------------------------------------------------

// Reads a text once more after it was folded, character by character.
struct reader {
    std::string text;
    std::size_t at;
    minhash::original_walk original;

    void read_to(std::uint32_t folded)
    {
        while (!minhash::has_written(original, folded)) {
            const auto bytes = reinterpret_cast<const std::uint8_t*>(text.data()) + at;
            const std::size_t size = minhash::decode_utf8(bytes, text.size() - at).bytes;
            minhash::take(original, bytes, size, {size, 1});
            at += size;
        }
    }
};

span_list differences(const std::string (&texts)[2], int which, const shingling& how)
{
    const std::string folded[2] = {support::fold(texts[0], how), support::fold(texts[1], how)};
    const std::string both = folded[0] + folded[1];
    const auto buffer = support::padded_copy(both);
    const auto middle = static_cast<std::uint32_t>(folded[0].size());
    const std::uint32_t from[2] = {0, middle};
    const std::uint32_t to[2] = {middle, static_cast<std::uint32_t>(both.size())};

    std::vector<minhash::counted_shingle> entries(both.size() + 1);
    std::vector<std::uint32_t> table(minhash::table_size(entries.size()));
    minhash::shingle_counts counts = {buffer.get(), how.bag, entries, 0, table, {}};
    minhash::shingle_group group;
    for (const int text : {0, 1}) {
        minhash::shingle_walk walk = minhash::start_walk(buffer.get(), from[text], to[text], how);
        while (minhash::next(walk, group))
            minhash::count(counts, group, text);
    }

    span_list found;
    reader source = {texts[which], 0, minhash::start_original(how, from[which])};
    minhash::coverage state = minhash::start_coverage(how.of, from[which], to[which]);
    const auto cover = [&](const minhash::shingle_range& shared) {
        minhash::shingle_range left;
        if (!minhash::cover(state, shared, left))
            return;
        source.read_to(left.offset + 1);
        const text_point first = minhash::start_in_original(source.original, left.offset);
        source.read_to(left.offset + left.bytes);
        const text_point last = minhash::end_in_original(source.original, left.offset + left.bytes);
        found.push_back(
            {first.characters, last.characters, texts[which].substr(first.bytes, last.bytes - first.bytes)});
    };
    minhash::shingle_walk walk = minhash::start_walk(buffer.get(), from[which], to[which], how);
    while (minhash::next(walk, group))
        for (std::size_t i = 0; i < group.count; i++)
            if (minhash::take_shared(counts, group, i, which))
                cover(group.at(i));
    cover({to[which], 0});
    return found;
}

// --- by definition --------------------------------------------------------------------------

// A folded character or word, and the characters of the text that it stands for.
struct folded_unit {
    std::string folded;
    std::size_t from;
    std::size_t to;
};

std::vector<folded_unit> folded_units(const std::string& text, const shingling& how)
{
    const string_list characters = reference::characters(text);
    const bool raw = how.of == unit::character && !how.fold;
    std::vector<folded_unit> units;
    std::size_t behind = 0; // the character after the last one that was written
    std::size_t dash = 0;   // the last dash
    std::string read, before;
    for (std::size_t i = 0; i < characters.size(); i++) {
        read += characters[i];
        const std::string after = reference::fold(read, how);
        std::string added = after.substr(before.size());
        before = after;
        if (reference::well_formed(characters[i], 0) > 0 &&
            minhash::part_of(static_cast<char32_t>(reference::code_point(characters[i]))) == minhash::word_part::dash)
            dash = i;
        if (added.empty())
            continue;
        const bool gap = !raw && added[0] == ' ';
        added.erase(0, gap);
        const bool minus = added.size() > 1 && added[0] == '-'; // it was written with the number after it
        if (gap && how.of == unit::character)
            units.push_back({" ", behind, i});
        if (how.of == unit::word && !units.empty() && !gap) {
            units.back().folded += added;
            units.back().to = i + 1;
        } else {
            units.push_back({added, minus ? dash : i, i + 1});
        }
        behind = i + 1;
    }
    return units;
}

// The shingles of a text, by the number of their first unit.
string_list windows(const std::vector<folded_unit>& units, const shingling& how)
{
    string_list found;
    const std::size_t size = std::min<std::size_t>(how.size, units.size());
    for (std::size_t first = 0; size > 0 && first + size <= units.size(); first++) {
        string_list parts;
        for (std::size_t i = first; i < first + size; i++)
            parts.push_back(units[i].folded);
        found.push_back(reference::join(parts, how.of == unit::word ? " " : ""));
    }
    return found;
}

span_list expected_differences(const std::string (&texts)[2], std::size_t which, const shingling& how)
{
    const std::vector<folded_unit> units = folded_units(texts[which], how);
    const string_list mine = windows(units, how);
    const string_list others = windows(folded_units(texts[1 - which], how), how);
    std::multiset<std::string> left(others.begin(), others.end());
    std::vector<bool> covered(units.size());
    for (std::size_t first = 0; first < mine.size(); first++) {
        const auto same = left.find(mine[first]);
        if (same == left.end())
            continue;
        if (how.bag)
            left.erase(same);
        for (std::size_t i = first; i < std::min<std::size_t>(first + how.size, units.size()); i++)
            covered[i] = true;
    }
    const string_list characters = reference::characters(texts[which]);
    span_list found;
    for (std::size_t i = 0; i < units.size(); i++) {
        if (covered[i])
            continue;
        if (i == 0 || covered[i - 1])
            found.push_back({units[i].from, 0, ""});
        found.back().to = units[i].to;
    }
    for (span& each : found)
        for (std::size_t i = each.from; i < each.to; i++)
            each.passage += characters[i];
    return found;
}

// --- the two compared -----------------------------------------------------------------------

// Two texts that share passages, some of them more than once.
void make_texts(const texts::kind& kind, std::size_t length, support::random_source& random, std::string (&made)[2])
{
    std::string pieces[6];
    for (std::string& piece : pieces)
        piece = texts::make(kind, random.below(length + 1), random);
    for (std::string& text : made) {
        text.clear();
        for (std::size_t i = random.below(6); i > 0; i--)
            text += pieces[random.below(6)];
        if (random.below(2) == 0)
            text += texts::make(kind, random.below(4), random);
    }
}

std::size_t shared_shingles(const std::string (&texts)[2], const shingling& how)
{
    string_list shingles[2] = {reference::shingles(texts[0], how), reference::shingles(texts[1], how)};
    for (string_list& of : shingles) {
        std::sort(of.begin(), of.end());
        if (!how.bag)
            of.erase(std::unique(of.begin(), of.end()), of.end());
    }
    string_list shared;
    std::set_intersection(shingles[0].begin(),
                          shingles[0].end(),
                          shingles[1].begin(),
                          shingles[1].end(),
                          std::back_inserter(shared));
    return shared.size();
}

// Returns the text with one character in place of each span.
std::string replace(const std::string& text, const span_list& spans, const std::string& by)
{
    const string_list characters = reference::characters(text);
    std::string made;
    std::size_t at = 0;
    for (const span& each : spans) {
        for (; at < each.from; at++)
            made += characters[at];
        made += by;
        at = each.to;
    }
    for (; at < characters.size(); at++)
        made += characters[at];
    return made;
}

// Compares differences with their definition. Also tests the property that makes them unique: the text without its
// differences has all shared shingles, and nothing more can be left out of the text.
void expect_right(const std::string (&texts)[2], const shingling& how)
{
    const span_list found[2] = {differences(texts, 0, how), differences(texts, 1, how)};
    ASSERT_EQ(found[0], expected_differences(texts, 0, how));
    ASSERT_EQ(found[1], expected_differences(texts, 1, how));

    static const std::string marks[2] = {"\U000F0000", "\U000F0001"};
    const std::string remaining[2] = {replace(texts[0], found[0], marks[0]), replace(texts[1], found[1], marks[1])};
    ASSERT_EQ(shared_shingles(remaining, how), shared_shingles(texts, how));
    for (const int which : {0, 1}) {
        const span_list again = differences(remaining, which, how);
        ASSERT_EQ(again.size(), found[which].size());
        for (const span& each : again)
            ASSERT_EQ(each.passage, marks[which]);
    }
}

TEST(difference, equals_the_reference)
{
    support::random_source random = {91};
    std::string made[2];
    for (const texts::kind& kind : texts::kinds) {
        for (const std::size_t length : {0u, 1u, 3u, 8u, 30u}) {
            for (int round = 0; round < 10; round++) {
                make_texts(kind, length, random, made);
                for (shingling how : texts::shinglings({1, 2, 5, 40})) {
                    for (const bool bag : {false, true}) {
                        how.bag = bag;
                        SCOPED_TRACE(kind.name + (" " + std::to_string(length)) + " " + texts::describe(how) +
                                     (bag ? ", bag" : ""));
                        ASSERT_NO_FATAL_FAILURE(expect_right(made, how));
                    }
                }
            }
        }
    }
}

span_list of_first(const std::string& a, const std::string& b, const shingling& how)
{
    const std::string texts[2] = {a, b};
    return differences(texts, 0, how);
}

constexpr shingling characters = {unit::character, 5, true, false};
constexpr shingling words = {unit::word, 2, true, false};

TEST(difference, of_equal_and_of_empty_texts)
{
    EXPECT_EQ(of_first("some text", "Some  TEXT", characters), span_list{});
    EXPECT_EQ(of_first("", "some text", characters), span_list{});
    EXPECT_EQ(of_first(" \n ", "some text", characters), span_list{});
    EXPECT_EQ(of_first(" ab\n", "", characters), (span_list{{1, 3, "ab"}}));
}

TEST(difference, of_a_changed_character)
{
    EXPECT_EQ(of_first("abcdeXfghij", "abcdeYfghij", characters), (span_list{{5, 6, "X"}}));
    EXPECT_EQ(of_first("abcdefghij", "abcdeYfghij", characters), span_list{}); // no difference is marked needlessly
}

// A text shorter than a window is one shingle.
TEST(difference, of_short_texts)
{
    EXPECT_EQ(of_first("cat", "cats", characters), (span_list{{0, 3, "cat"}}));
    EXPECT_EQ(of_first("cat", "Cat", characters), span_list{});
    EXPECT_EQ(of_first("cat", "cat dog", words), (span_list{{0, 3, "cat"}}));
}

// A space between two characters that differ belongs to the difference; a space at its end does not. Punctuation
// between words that differ also belongs to it.
TEST(difference, of_separators)
{
    EXPECT_EQ(of_first("abcde  x \n y  fghij", "abcdefghij", characters), (span_list{{5, 14, "  x \n y  "}}));
    EXPECT_EQ(of_first("one two, three -- four; five six", "one two five six", words),
              (span_list{{9, 22, "three -- four"}}));
    EXPECT_EQ(of_first("one two five six", "one two -- five six", words), span_list{});
}

// A minus sign belongs to its number.
TEST(difference, of_signs)
{
    constexpr shingling single = {unit::word, 1, true, false};
    EXPECT_EQ(of_first("sum of -250 euros", "sum of 250 euros", single), (span_list{{7, 11, "-250"}}));
    EXPECT_EQ(of_first("-\u00AD5 euros", "", words), (span_list{{0, 9, "-\u00AD5 euros"}}));
    EXPECT_EQ(of_first("a C++ job", "a C# job", words), (span_list{{0, 9, "a C++ job"}}));
}

// Folding makes a capital sharp s shorter, and U+023A longer.
TEST(difference, counts_characters_of_the_text_as_it_is)
{
    EXPECT_EQ(of_first("STRA\u1E9EE \u023A\u023Axy", "stra\u00DFe xy", characters),
              (span_list{{7, 11, "\u023A\u023Axy"}}));
}

// One bag has a shingle three times, and the other has it once, so the first of the three occurrences is shared.
TEST(difference, of_bags)
{
    shingling bag = {unit::word, 1, true, true};
    EXPECT_EQ(of_first("a b a c a", "a", bag), (span_list{{2, 9, "b a c a"}}));
    bag.bag = false;
    EXPECT_EQ(of_first("a b a c a", "a", bag), (span_list{{2, 3, "b"}, {6, 7, "c"}}));
}

} // namespace
