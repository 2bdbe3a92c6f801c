// Operations on vectors of 64-bit lanes, for gathering text eight bytes at a time and for the products in XXH3. They
// are compiled only if the vectors are wide enough to be faster than scalar 64-bit multiplication.
#pragma once

#include "core/simd/vector.h"

#if MINHASH_VECTOR_BYTES >= 32
#define MINHASH_HAS_VEC64 1

namespace minhash::simd {
namespace {

constexpr std::size_t lanes64 = lanes / 2;

// Loads eight bytes from each of `count` positions in the text. The positions are in ascending order.
MINHASH_INLINE vec64 load_each(const u8* text, const u32* at, std::size_t count)
{
    const auto one_by_one = [&] {
        vec64 loaded = {};
        for (std::size_t index = 0; index < count; index++)
            loaded[index] = in_register(load_as<u64>(text + at[index]));
        return loaded;
    };
#if defined(MINHASH_AVX512)
    // Windows of neighbouring characters usually lie within one vector of text, so one permutation extracts them all.
    const u32 base = at[0];
    if (at[count - 1] - base > 64 - 8)
        return one_by_one();
    const __m256i where = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m512i offsets = _mm512_cvtepu32_epi64(_mm256_sub_epi32(where, _mm256_set1_epi32(static_cast<int>(base))));
    const __m512i first_of_lane = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8));
    const __m512i byte_of_lane = _mm512_set1_epi64(0x0706050403020100);
    const __m512i order = _mm512_add_epi8(_mm512_shuffle_epi8(offsets, first_of_lane), byte_of_lane);
    return (vec64)_mm512_permutexvar_epi8(order, _mm512_loadu_si512(text + base));
#else
    if (count < lanes64)
        return one_by_one();
    const auto pair = [&](std::size_t index) {
        const u64 two = in_register(load_as<u64>(at + index)); // one load for two positions
        const __m128 front = (__m128)_mm_loadu_si64(text + static_cast<u32>(two));
        return (__m128i)_mm_loadh_pi(front, reinterpret_cast<const __m64*>(text + (two >> 32)));
    };
    return (vec64)_mm256_inserti128_si256(_mm256_castsi128_si256(pair(0)), pair(2), 1);
#endif
}

MINHASH_INLINE vec64 widen(const u32* from)
{
#if defined(MINHASH_AVX512)
    return (vec64)_mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#else
    return (vec64)_mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#endif
}

// The first count[i] bytes of each lane i, followed by zeros. A lane whose count is more than eight gets an arbitrary
// value.
MINHASH_INLINE vec64 front_bytes(vec64 eight, vec64 count)
{
    const vec64 all = vec64{} + ~0ull;
    const vec64 shift = 64 - (count << 3);
#if defined(MINHASH_AVX512)
    return eight & (vec64)_mm512_srlv_epi64((__m512i)all, (__m512i)shift);
#else
    return eight & (vec64)_mm256_srlv_epi64((__m256i)all, (__m256i)shift);
#endif
}

// Reverses the order of the bytes in each lane.
MINHASH_INLINE vec64 swap_bytes(vec64 value)
{
    const __m128i order = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
#if defined(MINHASH_AVX512)
    return (vec64)_mm512_shuffle_epi8((__m512i)value, _mm512_broadcast_i32x4(order));
#else
    return (vec64)_mm256_shuffle_epi8((__m256i)value, _mm256_broadcastsi128_si256(order));
#endif
}

// For each pair of lanes, the two halves of their 128-bit product, XORed with each other.
MINHASH_INLINE vec64 fold_products(vec64 a, vec64 b)
{
    constexpr u64 low_half = 0xFFFFFFFF;
    const vec64 low_low = multiply(a, b);
    const vec64 high_low = multiply(a >> 32, b);
    const vec64 low_high = multiply(a, b >> 32);
    const vec64 high_high = multiply(a >> 32, b >> 32);
    const vec64 middle = (low_low >> 32) + low_high + (high_low & low_half);
    const vec64 product_high = high_high + (high_low >> 32) + (middle >> 32);
    const vec64 product_low = middle << 32 | (low_low & low_half);
    return product_low ^ product_high;
}

} // namespace
} // namespace minhash::simd
#endif
