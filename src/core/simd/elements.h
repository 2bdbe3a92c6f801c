// Operations on lists of elements, for exact comparison. Lookups in hash tables are not here.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

#include <utility>

namespace minhash::simd {
namespace {

void join_halves(const u32* __restrict lo,
                 const u32* __restrict hi,
                 std::size_t count,
                 u64* __restrict elements) noexcept
{
    for (std::size_t index = 0; index < count; index++)
        elements[index] = element_of(lo[index], hi[index]);
}

std::size_t keep_small(const u32* lo, const u32* hi, std::size_t count, u64 flip, u32 most, u32* kept) noexcept
{
    const vec flip_lo = splat(low(flip));
    const vec flip_hi = splat(high(flip));
    const u32* const start = kept;
    for (std::size_t index = 0; index < count; index += lanes) {
        const vec upper = load(hi + index);
        const vec lower = load(lo + index);
        const vec mixed = (lower - (vec)((lower | upper) == 0)) ^ flip_lo;
        const u32 small = ~less(splat(most), upper ^ flip_hi) & first_lanes(count - index);
        kept = append(kept, mixed - (vec)(mixed == 0), small);
    }
    return static_cast<std::size_t>(kept - start);
}

std::size_t keep_known(const number_filter& filter, const u32* numbers, std::size_t count, u32* kept) noexcept
{
    const u32* const __restrict words = filter.words;
    const u32 factor = filter.factor;
    const int shift = filter.shift;
    u32* __restrict to = kept;
    for (std::size_t index = 0; index < count; index++) {
        const u32 number = numbers[index];
        const u32 product = in_register(number * factor);
        const u32 word = words[product >> shift];
        *to = number;
        to += word >> (product & 31) & word >> (product >> 5 & 31) & 1;
    }
    return static_cast<std::size_t>(to - kept);
}

std::size_t pack_marks(const u8* marks, std::size_t words, u64* bits) noexcept
{
    std::size_t set = 0;
    for (std::size_t word = 0; word < words; word++) {
        u64 packed = 0;
        for (std::size_t byte = 0; byte < 64; byte += vector_bytes)
            packed |= high_bits(load_as<bytes>(marks + word * 64 + byte)) << byte;
        bits[word] = packed;
        set += count_bits(packed);
    }
    return set;
}

} // namespace
} // namespace minhash::simd
