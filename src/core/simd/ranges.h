// Hashes of ranges of bytes given by their ends: windows of characters that are not all ASCII, and
// words.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

constexpr std::size_t step = 256; // ranges hashed together

// Hashes as they come to two arrays of halves.
MINHASH_INLINE void split_halves(const u64* hashes, std::size_t count, u32* lo, u32* hi)
{
    for (std::size_t index = 0; index < count; index++) {
        split(hashes[index], lo[index], hi[index]);
    }
}

#if defined(__AVX512VBMI2__)
// For each of eight ascending places, the eight bytes from there on. Windows of neighbouring
// characters lie within one vector of text, from which a permutation takes them all.
MINHASH_INLINE __m512i load_eight(const u8* text, const u32* at, std::size_t valid)
{
    const u32 base = at[0];
    if (at[valid - 1] - base > 64 - 8) {
        alignas(64) u64 loaded[8] = {};
        for (std::size_t index = 0; index < valid; index++)
            loaded[index] = in_register(load64(text + at[index]));
        return _mm512_load_si512(loaded);
    }
    const __m256i places = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m512i offsets =
        _mm512_cvtepu32_epi64(_mm256_sub_epi32(places, _mm256_set1_epi32(static_cast<int>(base))));
    const __m512i first_of_lane =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8));
    const __m512i byte_of_lane = _mm512_set1_epi64(0x0706050403020100);
    const __m512i order =
        _mm512_add_epi8(_mm512_shuffle_epi8(offsets, first_of_lane), byte_of_lane);
    return _mm512_permutexvar_epi8(order, _mm512_loadu_si512(text + base));
}

MINHASH_INLINE void store_halves(u32* lo, u32* hi, __m512i hashes)
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lo), _mm512_cvtepi64_epi32(hashes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(hi),
                        _mm512_cvtepi64_epi32(_mm512_srli_epi64(hashes, 32)));
}
#endif

// Ranges of up to 8 bytes; longer ones get any value.
void hash_short(const u8* text,
                const u32* begin,
                const u32* length,
                std::size_t count,
                std::int64_t seed,
                u32* lo,
                u32* hi)
{
#if defined(__AVX512VBMI2__)
    for (std::size_t index = 0; index < count; index += 8) {
        const __m512i window =
            load_eight(text, begin + index, smaller<std::size_t>(8, count - index));
        const __m512i bytes_used = _mm512_cvtepu32_epi64(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(length + index)));
        const __m512i shift =
            _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(bytes_used, 3));
        const __m512i mask = _mm512_srlv_epi64(_mm512_set1_epi64(-1), shift);
        store_halves(lo + index, hi + index, _mm512_and_si512(window, mask));
    }
#else
    u64 window[step];
    for (std::size_t index = 0; index < count; index++)
        window[index] = in_register(load64(text + begin[index])) & byte_mask(length[index]);
    split_halves(window, count, lo, hi);
#endif
    const u64 flip = window_mask(seed);
    const vecs flip_lo = each([&](std::size_t) { return splat(low(flip)); });
    const vecs flip_hi = each([&](std::size_t) { return splat(high(flip)); });
    for (std::size_t index = 0; index < count; index += chains * lanes) {
        vecs a = load_vecs(lo + index) ^ flip_lo;
        vecs b = load_vecs(hi + index) ^ flip_hi;
        mix(a, b);
        store(lo + index, a);
        store(hi + index, b);
    }
}

#if defined(__AVX512VBMI2__)
// The halves of the 128-bit products of eight pairs, xored, from four products of halves.
MINHASH_INLINE __m512i fold_products(__m512i a, __m512i b)
{
    const __m512i low_half = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i a_high = _mm512_srli_epi64(a, 32);
    const __m512i b_high = _mm512_srli_epi64(b, 32);
    const __m512i low_low = _mm512_mul_epu32(a, b);
    const __m512i high_low = _mm512_mul_epu32(a_high, b);
    const __m512i low_high = _mm512_mul_epu32(a, b_high);
    const __m512i high_high = _mm512_mul_epu32(a_high, b_high);
    const __m512i middle =
        _mm512_add_epi64(_mm512_add_epi64(_mm512_srli_epi64(low_low, 32), low_high),
                         _mm512_and_si512(high_low, low_half));
    const __m512i product_high =
        _mm512_add_epi64(_mm512_add_epi64(high_high, _mm512_srli_epi64(high_low, 32)),
                         _mm512_srli_epi64(middle, 32));
    const __m512i product_low =
        _mm512_or_si512(_mm512_slli_epi64(middle, 32), _mm512_and_si512(low_low, low_half));
    return _mm512_xor_si512(product_low, product_high);
}
#endif

// Ranges of 9 to 16 bytes; others get any value. (hash.h: medium_hash.)
void hash_medium(const u8* text,
                 const u32* begin,
                 const u32* length,
                 std::size_t count,
                 std::int64_t seed,
                 u32* lo,
                 u32* hi)
{
    const medium_hash medium(seed);
    alignas(64) u32 clamped[step + lanes];
    for (std::size_t index = 0; index < count; index++)
        clamped[index] = smaller<u32>(length[index] < 8 ? 8 : length[index], 16);
#if defined(__AVX512VBMI2__)
    alignas(64) u32 back_at[step + lanes];
    for (std::size_t index = 0; index < count; index++)
        back_at[index] = begin[index] + clamped[index] - 8;
    const __m512i flip_front = _mm512_set1_epi64(static_cast<long long>(medium.flip_front));
    const __m512i flip_back = _mm512_set1_epi64(static_cast<long long>(medium.flip_back));
    const __m512i factor = _mm512_set1_epi64(medium_hash::factor);
    const __m512i swapped =
        _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    for (std::size_t index = 0; index < count; index += 8) {
        const std::size_t valid = smaller<std::size_t>(8, count - index);
        const __m512i front = _mm512_xor_si512(load_eight(text, begin + index, valid), flip_front);
        const __m512i back = _mm512_xor_si512(load_eight(text, back_at + index, valid), flip_back);
        const __m512i size = _mm512_cvtepu32_epi64(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(clamped + index)));

        __m512i hash = _mm512_add_epi64(size, _mm512_shuffle_epi8(front, swapped));
        hash = _mm512_add_epi64(_mm512_add_epi64(hash, back), fold_products(front, back));
        hash = _mm512_mullo_epi64(_mm512_xor_si512(hash, _mm512_srli_epi64(hash, 37)), factor);
        store_halves(lo + index, hi + index, _mm512_xor_si512(hash, _mm512_srli_epi64(hash, 32)));
    }
#else
    u64 hashes[step];
    for (std::size_t index = 0; index < count; index++)
        hashes[index] = in_register(medium(text + begin[index], clamped[index]));
    split_halves(hashes, count, lo, hi);
#endif
}

// Hashes up to `step` ranges. All of them are hashed as if they were short, or as if they were of
// medium length, whichever most are, without a branch on a length; the others then, gathered.
void hash_step(const u8* text,
               const u32* begin,
               const u32* end,
               std::size_t count,
               std::int64_t seed,
               u32* lo,
               u32* hi)
{
    alignas(64) u32 length[step + lanes];
    std::size_t longer = 0;
    for (std::size_t index = 0; index < count; index++) {
        length[index] = end[index] - begin[index];
        longer += length[index] > 8;
    }
    const bool mostly_short = longer * 2 < count;

    alignas(64) u32 other[step + lanes];
    alignas(64) u32 other_begin[step + lanes];
    alignas(64) u32 other_length[step + lanes];
    alignas(64) u32 longest[step + lanes];
    std::size_t others = 0;
    std::size_t longests = 0;
    for (std::size_t index = 0; index < count; index += lanes) {
        const vec lengths = load(length + index);
        const vec numbers = splat(static_cast<u32>(index)) + lane_numbers();
        const u32 valid = first_lanes(count - index);
        const u32 is_short = less(lengths, splat(9)) & valid;
        const u32 is_longest = less(splat(16), lengths) & valid;
        const u32 is_other = mostly_short ? valid & ~is_short & ~is_longest : is_short;
        if (is_other != 0) {
            append(other + others, numbers, is_other);
            append(other_begin + others, load(begin + index), is_other);
            append(other_length + others, lengths, is_other);
            others += count_bits(is_other);
        }
        if (is_longest != 0) {
            append(longest + longests, numbers, is_longest);
            longests += count_bits(is_longest);
        }
    }

    const auto most = mostly_short ? hash_short : hash_medium;
    const auto rest = mostly_short ? hash_medium : hash_short;
    if (longests < count)
        most(text, begin, length, count, seed, lo, hi);
    if (others > 0) {
        alignas(64) u32 other_lo[step + lanes];
        alignas(64) u32 other_hi[step + lanes];
        rest(text, other_begin, other_length, others, seed, other_lo, other_hi);
        for (std::size_t rank = 0; rank < others; rank++) {
            lo[other[rank]] = other_lo[rank];
            hi[other[rank]] = other_hi[rank];
        }
    }
    for (std::size_t rank = 0; rank < longests; rank++) {
        const u32 index = longest[rank];
        const u64 hash =
            XXH3_64bits_withSeed(text + begin[index], length[index], static_cast<u64>(seed));
        split(hash, lo[index], hi[index]);
    }
}

void hash_ranges(const u8* text,
                 const u32* begin,
                 const u32* end,
                 std::size_t count,
                 std::int64_t seed,
                 u32* lo,
                 u32* hi) noexcept
{
    for (std::size_t from = 0; from < count; from += step)
        hash_step(text,
                  begin + from,
                  end + from,
                  smaller(count - from, step),
                  seed,
                  lo + from,
                  hi + from);
}

} // namespace
} // namespace minhash::simd
