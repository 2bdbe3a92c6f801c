#include "core/hash.h"

#include <bit>
#include <gtest/gtest.h>

#include "support.h"

namespace {

std::uint64_t hash_of(const std::string& text, std::int64_t seed)
{
    const auto copy = support::exact_copy<std::uint8_t>(text.data(), text.size());
    return minhash::hash_bytes(copy.get(), text.size(), seed);
}

std::uint32_t hexadecimal(const std::string& digits)
{
    return static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16));
}

TEST(hash, golden_multipliers)
{
    const auto rows = support::read_golden("multipliers.tsv");
    ASSERT_EQ(rows.size(), 21u);
    for (const auto& row : rows) {
        const std::size_t index = std::stoul(row.at(1));
        const auto& own = minhash::multiplier;
        const std::uint32_t value = row.at(0) == "row"   ? own.row[index]
                                    : row.at(0) == "bin" ? own.bin[index]
                                                         : own.value[index];
        EXPECT_EQ(value, hexadecimal(row.at(2))) << row[0] << " " << index;
    }
    for (std::size_t index = 0; index < 4096; index++)
        EXPECT_EQ(minhash::multiplier.row[index], reference::multipliers().row[index]);
}

TEST(hash, golden_shingles)
{
    const auto rows = support::read_golden("shingle_hashes.tsv");
    ASSERT_GE(rows.size(), 30u);
    for (const auto& row : rows) {
        const std::uint64_t expected = std::stoull(row.at(2), nullptr, 16);
        EXPECT_EQ(hash_of(row.at(0), std::stoll(row.at(1))), expected) << row[0];
        EXPECT_EQ(reference::hash_bytes(row.at(0), std::stoll(row.at(1))), expected) << row[0];
    }
}

TEST(hash, equals_the_reference)
{
    support::random_source random = {21};
    for (int trial = 0; trial < 5000; trial++) {
        std::string text;
        for (std::size_t left = random.below(20); left > 0; left--)
            text += static_cast<char>(1 + random.below(255));
        const auto seed = static_cast<std::int64_t>(random.next());
        ASSERT_EQ(hash_of(text, seed), reference::hash_bytes(text, seed));

        const std::uint64_t hash = random.next();
        const auto occurrence = static_cast<std::uint32_t>(random.next() >> random.below(64));
        ASSERT_EQ(minhash::hash_occurrence(hash, occurrence), reference::hash_occurrence(hash, occurrence));
        ASSERT_EQ(minhash::fmix64(hash), reference::fmix64(hash));
        ASSERT_EQ(minhash::join(minhash::low(hash), minhash::high(hash)), hash);
    }
}

TEST(hash, integers_are_members_of_their_own)
{
    support::random_source random = {24};
    const std::int64_t ends[] = {0, 1, -1, 97, INT64_MIN, INT64_MAX};
    for (int trial = 0; trial < 5000; trial++) {
        const auto seed = static_cast<std::int64_t>(random.next());
        const auto value = trial < 6 ? ends[trial] : static_cast<std::int64_t>(random.next());
        ASSERT_EQ(minhash::hash_integer(value, seed), reference::hash_integer(value, seed));
        std::string bytes(reinterpret_cast<const char*>(&value), 8);
        ASSERT_NE(minhash::hash_integer(value, seed), hash_of(bytes, seed));
    }
    EXPECT_NE(minhash::hash_integer('a', 42), hash_of("a", 42));
}

TEST(hash, bytes_may_end_in_zeros)
{
    std::set<std::uint64_t> seen;
    for (std::size_t count = 0; count < 300; count++) {
        const std::string zeros(count, '\0');
        const auto copy = support::exact_copy<std::uint8_t>(zeros.data(), count);
        seen.insert(minhash::hash_any_bytes(copy.get(), count, 42));
        EXPECT_EQ(minhash::hash_any_bytes(copy.get(), count, 42), reference::hash_any_bytes(zeros, 42));
    }
    EXPECT_EQ(seen.size(), 300u);
}

TEST(hash, chains_words)
{
    support::random_source random = {22};
    for (int trial = 0; trial < 1000; trial++) {
        reference::string_list words;
        std::uint32_t a = 0;
        std::uint32_t b = 0;
        for (std::size_t left = 1 + random.below(6); left > 0; left--) {
            words.push_back(std::string(1 + random.below(12), static_cast<char>('a' + left)));
            const std::uint64_t hash = hash_of(words.back(), trial);
            minhash::chain_word(a, b, minhash::low(hash), minhash::high(hash));
        }
        minhash::mix(a, b);
        ASSERT_EQ(minhash::join(a, b), reference::hash_words(words, trial));
    }
}

TEST(hash, the_first_occurrence_is_the_shingle)
{
    EXPECT_EQ(minhash::hash_occurrence(12345, 0), 12345u);
    EXPECT_NE(minhash::hash_occurrence(12345, 1), 12345u);
    EXPECT_NE(minhash::hash_occurrence(12345, 1), minhash::hash_occurrence(12345, 2));
    EXPECT_NE(minhash::hash_occurrence(0, 1), minhash::hash_occurrence(1, 1));
}

// One bit of the input changes every bit of the hash half of the time.
TEST(hash, avalanche)
{
    constexpr int trials = 4000;
    support::random_source random = {23};
    std::vector<int> flips(64 * 64);
    for (int trial = 0; trial < trials; trial++) {
        const std::uint64_t x = random.next();
        const std::uint64_t hash = hash_of(std::string(reinterpret_cast<const char*>(&x), 8), 0);
        for (unsigned in = 0; in < 64; in++) {
            const std::uint64_t y = x ^ std::uint64_t{1} << in;
            const std::uint64_t changed = hash ^ hash_of(std::string(reinterpret_cast<const char*>(&y), 8), 0);
            for (unsigned out = 0; out < 64; out++)
                flips[in * 64 + out] += (changed >> out & 1) != 0;
        }
    }
    for (const int count : flips)
        ASSERT_NEAR(count, trials / 2, 180); // 5.7 standard deviations; a bias of 0.045
}

TEST(hash, short_windows_do_not_collide)
{
    std::set<std::uint64_t> seen;
    std::size_t count = 0;
    for (int a = 1; a < 256; a++) {
        for (int b = 0; b < 256; b++, count++) {
            std::string text(1, static_cast<char>(a));
            if (b > 0)
                text += static_cast<char>(b);
            seen.insert(hash_of(text, 1));
        }
    }
    EXPECT_EQ(seen.size(), count);
}

} // namespace
