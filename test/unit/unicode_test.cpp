#include <functional>
#include <gtest/gtest.h>

#include "support.h"

namespace {

// FNV-1a over numbers: turns a table into one figure. A script that shares nothing with unicode_tables.pl computed the
// same figure from the Unicode 15.0.0 files.
std::uint64_t checksum(const std::vector<std::uint64_t>& numbers)
{
    std::uint64_t sum = 0xcbf29ce484222325u;
    for (const std::uint64_t number : numbers)
        sum = (sum ^ number) * 0x100000001b3u;
    return sum;
}

std::vector<std::uint64_t> code_points_where(const std::function<bool(char32_t)>& holds)
{
    std::vector<std::uint64_t> found;
    for (char32_t code = 0; code <= 0x10FFFF; code++)
        if (holds(code))
            found.push_back(code);
    return found;
}

minhash::utf8_character decode(const std::string& text)
{
    const auto copy = support::exact_copy<std::uint8_t>(text.data(), text.size());
    return minhash::decode_utf8(copy.get(), text.size());
}

TEST(unicode, folds_1454_code_points)
{
    std::vector<std::uint64_t> pairs;
    for (char32_t code = 0; code <= 0x10FFFF; code++) {
        const char32_t folded = minhash::fold_case(code);
        ASSERT_LE(folded, 0x10FFFFu);
        EXPECT_EQ(minhash::fold_case(folded), folded);
        if (folded != code)
            pairs.insert(pairs.end(), {code, folded});
    }
    EXPECT_EQ(pairs.size(), 2 * 1454u);
    EXPECT_EQ(checksum(pairs), 0x67bc908b2b286b36u);
}

TEST(unicode, knows_the_parts_of_words)
{
    const auto expect = [](minhash::word_part part, std::size_t count, std::uint64_t sum) {
        const auto found = code_points_where([&](char32_t c) { return minhash::part_of(c) == part; });
        EXPECT_EQ(found.size(), count) << static_cast<int>(part);
        EXPECT_EQ(checksum(found), sum) << static_cast<int>(part);
    };
    expect(minhash::word_part::white_space, 25, 0x231591ad12ffe059u);
    expect(minhash::word_part::punctuation, 812, 0x5bcad1211b3deb36u);
    expect(minhash::word_part::ignorable, 4174, 0x3c33a86fa8b4b844u);
    expect(minhash::word_part::dash, 7, 0xb839e56cfed73384u);
    expect(minhash::word_part::number, 1894, 0x295f4a48e1cb0253u);
}

TEST(unicode, folds_simply)
{
    EXPECT_EQ(minhash::fold_case(U'A'), U'a');
    EXPECT_EQ(minhash::fold_case(U'['), U'[');
    EXPECT_EQ(minhash::fold_case(0x0416), 0x0436u); // Cyrillic
    EXPECT_EQ(minhash::fold_case(0x017F), U's');    // long s
    EXPECT_EQ(minhash::fold_case(0x212A), U'k');    // Kelvin sign
    EXPECT_EQ(minhash::fold_case(0x00B5), 0x03BCu); // micro sign
    EXPECT_EQ(minhash::fold_case(0x03C2), 0x03C3u); // final sigma
    EXPECT_EQ(minhash::fold_case(0x00DF), 0x00DFu); // sharp s folds fully to ss, simply to itself
    EXPECT_EQ(minhash::fold_case(0x1E9E), 0x00DFu);
    EXPECT_EQ(minhash::fold_case(0x0130), 0x0130u); // dotted capital I has no simple folding
    EXPECT_EQ(minhash::fold_case(0x10400), 0x10428u);
}

TEST(unicode, encodes_and_decodes_every_code_point)
{
    for (char32_t code = 0; code <= 0x10FFFF; code++) {
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        std::uint8_t bytes[4];
        const std::size_t length = minhash::encode_utf8(code, bytes);
        const std::string text(reinterpret_cast<const char*>(bytes), length);
        ASSERT_EQ(text, reference::encode(code));
        const minhash::utf8_character read = minhash::decode_utf8(bytes, length);
        ASSERT_EQ(read.code_point, code);
        ASSERT_EQ(read.bytes, length);
    }
}

TEST(unicode, refuses_every_ill_formed_sequence)
{
    static const int edges[] = {0x01, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xFF};
    for (int first = 1; first <= 0xFF; first++) {
        for (int second = 1; second <= 0xFF; second++) {
            for (const int third : edges) {
                for (const int fourth : {0x41, 0x80, 0xBF, 0xC2}) {
                    const char bytes[] = {static_cast<char>(first),
                                          static_cast<char>(second),
                                          static_cast<char>(third),
                                          static_cast<char>(fourth)};
                    const auto* text = reinterpret_cast<const std::uint8_t*>(bytes);
                    const std::string whole(bytes, 4);
                    const std::size_t length = reference::well_formed(whole, 0);
                    const minhash::utf8_character read = minhash::decode_utf8(text, 4);
                    ASSERT_EQ(read.bytes, std::max<std::size_t>(1, length));
                    ASSERT_EQ(read.code_point == minhash::invalid_byte, length == 0);
                    if (length > 0) {
                        ASSERT_EQ(read.code_point, reference::code_point(whole.substr(0, length)));
                    }
                }
            }
        }
    }
}

TEST(unicode, a_cut_sequence_is_single_bytes)
{
    const std::string whole = "\U0001F600";
    for (std::size_t length = 1; length < 4; length++) {
        const minhash::utf8_character read = decode(whole.substr(0, length));
        EXPECT_EQ(read.code_point, minhash::invalid_byte);
        EXPECT_EQ(read.bytes, 1);
    }
    EXPECT_EQ(decode(whole).code_point, 0x1F600u);
}

// Whatever the bytes are, a prefix that whole_characters accepts must read the same when more bytes follow.
TEST(unicode, whole_characters_never_cuts)
{
    support::random_source random = {1};
    static const unsigned often[] = {0x41, 0x80, 0x9F, 0xC3, 0xE2, 0xF0, 0xF4, 0xFF};
    for (int trial = 0; trial < 20000; trial++) {
        std::string text;
        for (std::size_t left = 1 + random.below(9); left > 0; left--)
            text += static_cast<char>(often[random.below(8)]);
        const std::size_t cut = 1 + random.below(text.size());
        const auto copy = support::exact_copy<std::uint8_t>(text.data(), cut);
        const std::size_t whole = minhash::whole_characters(copy.get(), cut);
        ASSERT_LE(whole, cut);
        ASSERT_LE(cut - whole, 3u);
        reference::string_list parts = reference::characters(text.substr(0, whole));
        for (const std::string& rest : reference::characters(text.substr(whole)))
            parts.push_back(rest);
        ASSERT_EQ(parts, reference::characters(text)) << testing::PrintToString(text);
    }
    EXPECT_EQ(minhash::whole_characters(nullptr, 0), 0u);
}

} // namespace
