// Hashes of windows of one width from each byte on (the shingles of ASCII texts), and of runs of words.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

// The first bytes of the windows that start at the next `lanes` bytes: 0 to 3 of each in `a`, 4 to 7 in `b`.
MINHASH_INLINE void load_windows(const u8* from, vec& a, vec& b)
{
#if defined(MINHASH_AVX512)
    alignas(64) static constexpr struct lane_bytes {
        u8 of[64];

        constexpr lane_bytes() : of()
        {
            for (int lane = 0; lane < 16; lane++) {
                for (int byte = 0; byte < 4; byte++)
                    of[lane * 4 + byte] = static_cast<u8>(lane + byte);
            }
        }
    } order;

    const __m512i first = _mm512_load_si512(order.of);
    const __m512i given = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    a = (vec)_mm512_permutexvar_epi8(first, given);
    b = (vec)_mm512_permutexvar_epi8(_mm512_add_epi8(first, _mm512_set1_epi8(4)), given);
#elif defined(__AVX2__)
    const __m256i halves = _mm256_setr_epi32(0, 1, 2, 3, 1, 2, 3, 4);
    const __m256i first = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    const __m256i given =
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), halves);
    a = (vec)_mm256_shuffle_epi8(given, first);
    b = (vec)_mm256_shuffle_epi8(given, _mm256_add_epi8(first, _mm256_set1_epi8(4)));
#elif defined(__SSSE3__)
    const __m128i first = _mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6);
    const __m128i given = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    a = (vec)_mm_shuffle_epi8(given, first);
    b = (vec)_mm_shuffle_epi8(given, _mm_add_epi8(first, _mm_set1_epi8(4)));
#elif defined(MINHASH_NEON)
    constexpr u8 order[16] = {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6};
    const uint8x16_t first = vld1q_u8(order);
    const uint8x16_t given = vld1q_u8(from);
    a = (vec)vqtbl1q_u8(given, first);
    b = (vec)vqtbl1q_u8(given, vaddq_u8(first, vdupq_n_u8(4)));
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
    for (std::size_t at = 0; at < windows; at += chains * lanes) {
        vecs a, b;
#pragma GCC unroll 4
        for (std::size_t index = 0; index < chains; index++) {
            load_windows(text + at + index * lanes, a.of[index], b.of[index]);
            a.of[index] = (a.of[index] & low(mask)) ^ low(flip);
            b.of[index] = (b.of[index] & high(mask)) ^ high(flip);
        }
        mix(a, b);
        store(lo + at, a);
        store(hi + at, b);
    }
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

} // namespace
} // namespace minhash::simd
