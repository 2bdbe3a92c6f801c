#include <gtest/gtest.h>

#include "texts.h"

namespace {

using minhash::unit;

constexpr minhash::shingling folded_characters = {unit::character, 5, true, false};
constexpr minhash::shingling raw_characters = {unit::character, 5, false, false};
constexpr minhash::shingling folded_words = {unit::word, 3, true, false};
constexpr minhash::shingling raw_words = {unit::word, 3, false, false};

TEST(fold, examples)
{
    const std::string text = "\t The  QUICK,\u00A0brown \u2014 fox!\n";
    EXPECT_EQ(support::fold(text, folded_characters), "the quick, brown \u2014 fox!");
    EXPECT_EQ(support::fold(text, raw_characters), text);
    EXPECT_EQ(support::fold(text, folded_words), "the quick brown fox");
    EXPECT_EQ(support::fold(text, raw_words), "The QUICK, brown \u2014 fox!");
    EXPECT_EQ(support::fold("don't well-known 3.14 a_b", folded_words), "don t well known 3 14 a b");
    EXPECT_EQ(support::fold("\u4E00\u3000\u4E01\u3002\u4E02", folded_words), "\u4E00 \u4E01 \u4E02");
    EXPECT_EQ(support::fold("\u00A0 \u3000\t", folded_characters), "");
    EXPECT_EQ(support::fold("... !", folded_words), "");
    EXPECT_EQ(support::fold("... !", raw_words), "... !");
}

struct example {
    const char* text;
    const char* folded;
};

TEST(fold, keeps_signs_in_words)
{
    static constexpr example examples[] = {
        {"C, C++, C# and F#.", "c c++ c# and f#"},
        {"-250 (-250) +250 250", "-250 -250 +250 250"},
        {"\u2013250 \u2010250 \u2011250 \uFF0D250", "-250 -250 -250 -250"},
        {"\u2212250 -\u0662\u0665\u0660 -\u00BD", "\u2212250 -\u0662\u0665\u0660 -\u00BD"},
        {"$50 50 \u20AC 50 % 50% -$5 -\u20AC5 \u20B950 \u060B50",
         "$50 50 \u20AC 50 % 50% -$5 -\u20AC5 \u20B950 \u060B50"},
        {"R&D; 3 < 4; 24/7; a.b@c.de", "r&d 3 < 4 24 7 a b@c de"},
        {"e-mail, don't, well-known - and--so", "e mail don t well known and so"},
        {"2020-01-01 2020--21 pages 5-10 A-1 x -- y -z", "2020 01 01 2020 21 pages 5 10 a 1 x y z"},
        {"***", "***"},
        {"*** $ +", "*** $ +"},
        {"word. 'word' \"word\" (word) `word` word\u2014word \u201Cword\u201D",
         "word word word word word word word word"},
        {"5\u2030 5\u066A 5\uFF05 \u00A75 5\u2032 5\u2033 \u21165",
         "5\u2030 5\u066A 5\uFF05 \u00A75 5\u2032 5\u2033 \u21165"},
        {"\u6211\u5011\u3002\u4F60\u597D\uFF0C\uFF03\u4E00", "\u6211\u5011 \u4F60\u597D \uFF03\u4E00"},
        {"\u0E2A\u0E27\u0E31\u0E2A\u0E14\u0E35 \u0E5B", "\u0E2A\u0E27\u0E31\u0E2A\u0E14\u0E35"},
        {"\U0001F1E9\U0001F1EA! 1\uFE0F\u20E3 #\uFE0F\u20E3", "\U0001F1E9\U0001F1EA 1\u20E3 #\u20E3"},
        {"a - 5 -", "a 5"},
        {"-", ""},
        {"-\u00AD5 a\u00AD-5 -\u200B-5", "-5 a 5 5"},
    };
    for (const example& each : examples) {
        for (const std::size_t slice : {1u, 5u, 2048u})
            EXPECT_EQ(support::fold(each.text, folded_words, slice), each.folded) << slice;
        EXPECT_EQ(reference::fold(each.text, folded_words), each.folded);
    }
    EXPECT_EQ(support::fold("\u2013250 -\u00AD5", raw_words), "\u2013250 -\u00AD5");
    EXPECT_EQ(support::fold("\u2013250  -\u00AD5", folded_characters), "\u2013250 -5");
}

TEST(fold, drops_invisible_characters)
{
    static constexpr example examples[] = {
        {"\uFEFFso\u00ADft hy\u00ADphen", "soft hyphen"},
        {"\u200Bzero \u200B\u200Cwidth\u200D \u2060spaces\u2060", "zero width spaces"},
        {"\u200Ea\u200F \u202Ab\u202C \u2066c\u2069 \u061Cd", "a b c d"},
        {"\u2764\uFE0F \u845B\U000E0100 \u1820\u180B", "\u2764 \u845B \u1820"},
        {"\U0001F469\u200D\U0001F4BB", "\U0001F469\U0001F4BB"},
        {"\u0915\u094D\u200D\u0937 \u0645\u06CC\u200C\u062E", "\u0915\u094D\u0937 \u0645\u06CC\u062E"},
        {" \u00AD \u200B", ""},
    };
    for (const example& each : examples) {
        for (const minhash::shingling& how : {folded_characters, folded_words})
            EXPECT_EQ(support::fold(each.text, how), each.folded);
        EXPECT_EQ(support::fold(each.text, raw_characters), each.text);
    }
}

TEST(fold, keeps_invalid_bytes)
{
    EXPECT_EQ(support::fold("A\xFF\xE2\x82 B\xC0\x80", folded_words), "a\xFF\xE2\x82 b\xC0\x80");
    EXPECT_EQ(support::fold("\xE2\x80\xA8", folded_characters), ""); // U+2028
    EXPECT_EQ(support::fold("\xE2\x80", folded_characters), "\xE2\x80");
}

TEST(fold, grows_within_its_bound)
{
    for (std::size_t count = 1; count < 50; count++) {
        std::string text, longer;
        for (std::size_t index = 0; index < count; index++) {
            text += "\u023A";
            longer += "\u2C65";
        }
        EXPECT_EQ(support::fold(text, folded_characters), longer);
        EXPECT_LE(longer.size(), minhash::folded_room(text.size()));
        // A space held back is written in front of the next slice.
        EXPECT_EQ(support::fold("x " + text, folded_words, 2), "x " + longer);
    }
}

TEST(fold, equals_the_reference_and_does_not_feel_slices)
{
    support::random_source random = {2};
    for (const texts::kind& kind : texts::kinds) {
        for (const std::size_t characters : {0u, 1u, 2u, 3u, 17u, 100u, 3000u}) {
            const std::string text = texts::make(kind, characters, random);
            for (const minhash::shingling& how : texts::shinglings({5})) {
                SCOPED_TRACE(kind.name + (" " + std::to_string(characters)) + " " + texts::describe(how));
                const std::string expected = reference::fold(text, how);
                for (const std::size_t slice : {1u, 2u, 3u, 4u, 5u, 16u, 63u, 2048u})
                    ASSERT_EQ(support::fold(text, how, slice), expected) << "slice " << slice;
            }
        }
    }
}

TEST(fold, is_idempotent)
{
    support::random_source random = {3};
    for (const texts::kind& kind : texts::kinds) {
        const std::string text = texts::make(kind, 500, random);
        for (const minhash::shingling& how : texts::shinglings({5})) {
            const std::string once = support::fold(text, how);
            EXPECT_EQ(support::fold(once, how), once) << kind.name;
        }
    }
}

TEST(fold, an_empty_slice_changes_nothing)
{
    minhash::folder state = minhash::start_folding(folded_words);
    std::uint8_t out[minhash::folded_room(1)];
    const std::uint8_t letter = 'A';
    const std::uint8_t space = ' ';
    EXPECT_EQ(minhash::fold(state, &letter, 1, out), 1u);
    EXPECT_EQ(minhash::fold(state, &space, 1, out), 0u);
    EXPECT_EQ(minhash::fold(state, &space, 0, out), 0u);
    ASSERT_EQ(minhash::fold(state, &letter, 1, out), 2u);
    EXPECT_EQ(out[0], ' ');
    EXPECT_EQ(out[1], 'a');
}

} // namespace
