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
