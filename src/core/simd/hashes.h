// Hashes of the windows of one width that start at each byte (the character shingles of ASCII texts), of runs of words,
// of integers that are members of sets, and of numbered occurrences in bags.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

// Hashes `count` numbers of 64 bits with mix(), several vectors at a time. load(at, a, b) must set `a` to the low
// halves and `b` to the high halves of the vector of numbers that starts at index `at`.
template <typename Load>
MINHASH_INLINE void mix_each(std::size_t count, u32* lo, u32* hi, Load load)
{
    for (std::size_t at = 0; at < count; at += chains * lanes) {
        vecs a, b;
#pragma GCC unroll 4
        for (std::size_t index = 0; index < chains; index++)
            load(at + index * lanes, a.of[index], b.of[index]);
        mix(a, b);
        store(lo + at, a);
        store(hi + at, b);
    }
}

// Hashes the numbers in an array with mix(). Each number is first XORed with `flip`.
MINHASH_INLINE void mix_numbers(const u64* numbers, std::size_t count, u64 flip, u32* lo, u32* hi)
{
    mix_each(count, lo, hi, [&](std::size_t at, vec& a, vec& b) {
        load_halves(numbers + at, a, b);
        a ^= low(flip);
        b ^= high(flip);
    });
}

// Loads `lanes` windows, which start at `from` and at each of the bytes after it. Bytes 0 to 3 of each window go into
// `a`, and bytes 4 to 7 into `b`.
MINHASH_INLINE void load_windows(const u8* from, vec& a, vec& b)
{
#if defined(MINHASH_AVX512)
    static constexpr byte_table<64> order([](std::size_t index) { return index / 4 + index % 4; });

    const __m512i first = _mm512_load_si512(order.of);
    const __m512i given = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    a = (vec)_mm512_permutexvar_epi8(first, given);
    b = (vec)_mm512_permutexvar_epi8(_mm512_add_epi8(first, _mm512_set1_epi8(4)), given);
#elif defined(MINHASH_HAS_LOOKUP)
    static constexpr byte_table<vector_bytes> order([](std::size_t index) { return index % 16 / 4 + index % 4; });
#if defined(__AVX2__) // each group of 16 bytes gives four lanes
    const bytes given =
        (bytes)_mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(from + 4), reinterpret_cast<const __m128i*>(from));
#else
    const bytes given = load_as<bytes>(from);
#endif
    const bytes first = load_as<bytes>(order.of);
    a = (vec)shuffle(given, first);
    b = (vec)shuffle(given, first + 4);
#else
    for (std::size_t lane = 0; lane < lanes; lane++) {
        std::memcpy(reinterpret_cast<u8*>(&a) + lane * 4, from + lane, 4);
        std::memcpy(reinterpret_cast<u8*>(&b) + lane * 4, from + lane + 4, 4);
    }
#endif
}

void hash_windows(const u8* text, std::size_t windows, std::size_t width, std::int64_t seed, u32* lo, u32* hi) noexcept
{
    if (width > 8) {
        const medium_hash medium(seed);
        for (std::size_t at = 0; at < windows; at++) {
            const u64 hash = width <= 16 ? medium(text + at, width) : hash_bytes(text + at, width, seed);
            split(hash, lo[at], hi[at]);
        }
        return;
    }
    const u64 mask = byte_mask(width);
    const u64 flip = window_mask(seed);
    mix_each(windows, lo, hi, [&](std::size_t at, vec& a, vec& b) {
        load_windows(text + at, a, b);
        a = (a & low(mask)) ^ low(flip);
        b = (b & high(mask)) ^ high(flip);
    });
}

void chain_words(
    const u32* word_lo, const u32* word_hi, std::size_t shingles, std::size_t size, u32* lo, u32* hi) noexcept
{
    for (std::size_t at = 0; at < shingles; at += chains * lanes) {
        vecs a = {};
        vecs b = {};
        for (std::size_t word = 0; word < size; word++)
            chain_word(a, b, load_vecs(word_lo + at + word), load_vecs(word_hi + at + word));
        mix(a, b);
        store(lo + at, a);
        store(hi + at, b);
    }
}

void hash_integers(const std::int64_t* values, std::size_t count, std::int64_t seed, u32* lo, u32* hi) noexcept
{
    mix_numbers(reinterpret_cast<const u64*>(values), count, integer_mask(seed), lo, hi);
}

void hash_occurrences(u32* lo, u32* hi, const u32* occurrences, std::size_t count) noexcept
{
    constexpr u64 factor = occurrence_factor;
    for (std::size_t at = 0; at < count; at += chains * lanes) {
        const vecs first_lo = load_vecs(lo + at);
        const vecs first_hi = load_vecs(hi + at);
        const vecs number = load_vecs(occurrences + at);
        vecs a = first_lo ^ number * low(factor);
        vecs b = each([&](std::size_t index) {
            const vec of = number.of[index];
            return first_hi.of[index] ^ (of * high(factor) + high_product(of, splat(low(factor))));
        });
        mix(a, b);
        store(lo + at,
              each([&](std::size_t index) { return number.of[index] == 0 ? first_lo.of[index] : a.of[index]; }));
        store(hi + at,
              each([&](std::size_t index) { return number.of[index] == 0 ? first_hi.of[index] : b.of[index]; }));
    }
}

} // namespace
} // namespace minhash::simd
