#include <gtest/gtest.h>

#include "texts.h"

namespace {

using minhash::shingling;
using minhash::unit;

std::string name_of(const texts::kind& kind, std::size_t characters, const shingling& how)
{
    return std::string(kind.name) + ", " + std::to_string(characters) + " characters, " + texts::describe(how);
}

TEST(shingle, short_text_is_one_shingle_and_empty_text_none)
{
    for (const shingling& how : texts::shinglings({1, 2, 5, 255})) {
        SCOPED_TRACE(texts::describe(how));
        EXPECT_EQ(support::cut("", how, 0).size(), 0u);
        EXPECT_EQ(support::cut("abc", how, 0).size(), how.of == unit::character && how.size < 4 ? 4u - how.size : 1u);
    }
    const shingling folded_words = {unit::word, 3, true, false};
    EXPECT_EQ(support::cut("one, two.", folded_words, 0).size(), 1u);
    EXPECT_EQ(support::cut("one two three", folded_words, 0).size(), 1u);
    EXPECT_EQ(support::cut("one two three four", folded_words, 0).size(), 2u);
    EXPECT_EQ(support::cut(" ,.\u3000", folded_words, 0).size(), 0u);
    EXPECT_EQ(support::cut("  \u3000", {unit::character, 3, true, false}, 0).size(), 0u);
    EXPECT_EQ(support::cut("     ", {unit::character, 3, false, false}, 0).size(), 3u);
}

TEST(shingle, a_word_shingle_knows_its_word_borders)
{
    const shingling pairs = {unit::word, 2, false, false};
    EXPECT_NE(support::cut("ab c", pairs, 0), support::cut("a bc", pairs, 0));
    EXPECT_NE(support::cut("ab c", pairs, 0), support::cut("c ab", pairs, 0));
    EXPECT_NE(support::cut("a a", pairs, 0), support::cut("b b", pairs, 0));
    EXPECT_NE(support::cut("a", pairs, 0), support::cut("a a", pairs, 0));
}

TEST(shingle, equals_the_reference)
{
    support::random_source random = {11};
    for (const texts::kind& kind : texts::kinds) {
        for (const std::size_t characters : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 9u, 10u, 31u, 32u, 33u, 100u, 700u}) {
            const std::string text = texts::make(kind, characters, random);
            for (const shingling& how : texts::shinglings({1, 2, 3, 5, 8, 9, 64, 255})) {
                const auto seed = static_cast<std::int64_t>(random.next());
                ASSERT_EQ(support::cut(text, how, seed), reference::hashes(text, how, seed))
                    << name_of(kind, characters, how) << ", seed " << seed;
            }
        }
    }
}

TEST(shingle, equals_the_reference_on_long_texts)
{
    support::random_source random = {12};
    for (const texts::kind& kind : texts::kinds) {
        for (const std::size_t characters : {2048u, 5000u, 20000u}) {
            const std::string text = texts::make(kind, characters, random);
            for (const shingling& how : texts::shinglings({3, 5})) {
                const reference::hash_list expected = reference::hashes(text, how, 42);
                for (const std::size_t slice : {2048u, 2047u, 1000u})
                    ASSERT_EQ(support::cut(text, how, 42, slice), expected)
                        << name_of(kind, characters, how) << ", slice " << slice;
            }
        }
    }
}

// The widest windows hold the most bytes back between two slices.
TEST(shingle, equals_the_reference_with_the_widest_windows)
{
    support::random_source random = {13};
    for (const texts::kind& kind : texts::kinds) {
        const std::string text = texts::make(kind, 2500, random);
        for (const shingling& how : texts::shinglings({254, 255})) {
            const reference::hash_list expected = reference::hashes(text, how, -3);
            for (const std::size_t slice : {2048u, 700u, 64u, 5u})
                ASSERT_EQ(support::cut(text, how, -3, slice), expected)
                    << name_of(kind, 2500, how) << ", slice " << slice;
        }
    }
}

TEST(shingle, chunked_is_whole_for_every_slice_size)
{
    support::random_source random = {14};
    std::string text = texts::make(texts::kinds[0], 900, random);
    for (const texts::kind& kind : texts::kinds)
        text += texts::make(kind, 60, random) + " ";
    for (const shingling& how : {shingling{unit::character, 5, true, false},
                                 shingling{unit::character, 3, false, false},
                                 shingling{unit::word, 3, true, false}}) {
        const reference::hash_list expected = reference::hashes(text, how, 7);
        for (std::size_t slice = 1; slice <= minhash::slice_bytes && slice <= text.size(); slice++)
            ASSERT_EQ(support::cut(text, how, 7, slice), expected) << texts::describe(how) << ", slice " << slice;
    }
}

// Words of about the size at which they no longer fit into the buffer and go to the streaming hash.
TEST(shingle, hashes_long_words_in_pieces)
{
    for (const std::size_t length :
         {8u, 9u, 240u, 241u, 1023u, 1024u, 1025u, 2047u, 2048u, 2049u, 3072u, 3073u, 4097u, 9000u}) {
        std::string word;
        for (std::size_t index = 0; index < length; index++)
            word += static_cast<char>('a' + index * index % 26);
        for (const std::string& text :
             {word, word + " ", " " + word, "x " + word + " y", word + " " + word + "z " + word}) {
            for (const shingling& how : {shingling{unit::word, 1, true, false},
                                         shingling{unit::word, 2, true, false},
                                         shingling{unit::word, 3, true, false}}) {
                const reference::hash_list expected = reference::hashes(text, how, 5);
                for (const std::size_t slice : {1u, 100u, 1024u, 1025u, 2047u, 2048u})
                    ASSERT_EQ(support::cut(text, how, 5, slice), expected)
                        << "word of " << length << " bytes, size " << how.size << ", slice " << slice;
            }
        }
    }
}

TEST(shingle, slices_of_random_sizes)
{
    support::random_source random = {15};
    for (int trial = 0; trial < 300; trial++) {
        const texts::kind& kind = texts::kinds[random.below(std::size(texts::kinds))];
        const std::string text = texts::make(kind, random.below(6000), random);
        const auto size = static_cast<std::uint16_t>(1 + random.below(12));
        const auto how = texts::shinglings({size})[random.below(4)];
        const std::size_t slice = 1 + random.below(minhash::slice_bytes);
        ASSERT_EQ(support::cut(text, how, trial, slice), reference::hashes(text, how, trial))
            << name_of(kind, text.size(), how) << ", slice " << slice << ", trial " << trial;
    }
}

TEST(shingle, a_shingler_can_be_used_again)
{
    const auto state = std::make_unique<minhash::shingler>();
    const auto batch = std::make_unique<minhash::shingle_batch>();
    const shingling how = {unit::word, 4, true, false};
    const std::string texts[] = {std::string(5000, 'q'), "one two", "a b c d e", ""};
    for (const std::string& text : texts) {
        reference::hash_list found;
        minhash::start(*state, how, 9);
        support::for_each_slice(text, 2048, [&](const std::uint8_t* bytes, std::size_t count) {
            minhash::cut(*state, bytes, count, false, *batch);
            support::append(found, *batch);
        });
        const std::uint8_t none = 0;
        minhash::cut(*state, &none, 0, true, *batch);
        support::append(found, *batch);
        EXPECT_EQ(found, reference::hashes(text, how, 9));
    }
}

// A shingler's memory may contain anything, even what looks as if it had hashed a long word before.
TEST(shingle, memory_that_was_used_before_does_not_matter)
{
    const minhash::shingling how = {minhash::unit::word, 1, true, false};
    const std::string word(2048, 'a');
    const auto batch = std::make_unique<minhash::shingle_batch>();
    const auto state = std::make_unique<minhash::shingler>();
    std::memset(static_cast<void*>(state.get()), 0xAA, sizeof(minhash::shingler));
    state->long_word.seed = 42;
    state->long_word.extSecret = nullptr;

    minhash::start(*state, how, 42);
    minhash::cut(*state, reinterpret_cast<const std::uint8_t*>(word.data()), word.size(), false, *batch);
    EXPECT_EQ(batch->count, 0u);
    const std::uint8_t none = 0;
    minhash::cut(*state, &none, 0, true, *batch);
    reference::hash_list found;
    support::append(found, *batch);
    EXPECT_EQ(found, reference::hashes(word, how, 42));
}

} // namespace
