// Finds where the characters of a text start, and where the spaces between its words are.
#pragma once

#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

#if defined(MINHASH_HAS_LOOKUP)
// Tables indexed by the low and the high half of a byte. The two entries share a set bit only if the byte is an invalid
// lead byte (C0, C1, F5 to FF) or a lead byte that restricts the range of the byte after it (E0, ED, F0, F4).
constexpr lookup_table narrow_low = {{7, 1, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 6, 4, 4}};
constexpr lookup_table narrow_high = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 4}};
#endif

// Whether the vector `given` continues a valid UTF-8 text. For each byte of `given`, `next` holds the byte after it.
// `continuation` has a bit set for each continuation byte in `given`. `owed` has a bit set for each byte that must be a
// continuation byte because its character began in the previous vector. On return, `owed` applies to the next vector.
MINHASH_INLINE bool goes_on(bytes given, bytes next, u64 continuation, u64& owed)
{
    const bytes twice = given + given; // moves each bit one place up
    const u64 two = high_bits(given) & ~continuation;
    const u64 three = two & high_bits(twice + twice);
    const u64 four = three & high_bits(twice + twice + twice + twice);
    const u64 all = vector_bytes == 64 ? ~0ull : (1ull << vector_bytes % 64) - 1;
    const u64 expected = (two << 1 | three << 2 | four << 3 | owed) & all;
    owed = two >> (vector_bytes - 1) | three >> (vector_bytes - 2) | four >> (vector_bytes - 3);
    if (expected != continuation)
        return false;

#if defined(MINHASH_HAS_LOOKUP)
    const bytes narrow = look_up(narrow_low, given & 0x0F) & look_up(narrow_high, given >> 4);
    if (high_bits((bytes)(narrow != 0)) == 0)
        return true;
#endif
    return high_bits(
               ((bytes)(given == 0xC0) | (bytes)(given == 0xC1) | between(given, 0xF5, 0xFF)) |
               ((bytes)(given == 0xE0) & (bytes)(next < 0xA0)) | ((bytes)(given == 0xED) & (bytes)(next >= 0xA0)) |
               ((bytes)(given == 0xF0) & (bytes)(next < 0x90)) | ((bytes)(given == 0xF4) & (bytes)(next >= 0x90))) == 0;
}

// Adds `base` to the position of each bit that is set in `set`, writes the sums in ascending order, and returns where
// they end. Whole vectors are written, so some elements after the end may be overwritten.
MINHASH_INLINE u32* append_positions(u32* to, u64 set, u32 base)
{
#if defined(MINHASH_AVX512)
    static constexpr byte_table<64> counted([](std::size_t index) { return index; });

    const __m512i packed = _mm512_maskz_compress_epi8(set, _mm512_load_si512(counted.of));
    const u32 count = count_bits(set);
    const __m512i offset = _mm512_set1_epi32(static_cast<int>(base));
    const auto write = [&](u32 from, __m128i sixteen) {
        _mm512_storeu_si512(to + from, _mm512_add_epi32(_mm512_cvtepu8_epi32(sixteen), offset));
    };
    write(0, _mm512_castsi512_si128(packed));
    if (count > 16)
        write(16, _mm512_extracti32x4_epi32(packed, 1));
    if (count > 32) {
        write(32, _mm512_extracti32x4_epi32(packed, 2));
        write(48, _mm512_extracti32x4_epi32(packed, 3));
    }
    return to + count;
#elif defined(__SSE4_1__)
    for (std::size_t from = 0; from < vector_bytes; from += 8) {
        const u8 eight = static_cast<u8>(set >> from);
        const u32 first = base + static_cast<u32>(from);
        const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(positions.of + 8 * eight));
#if defined(__AVX2__)
        store(to, (vec)_mm256_cvtepu8_epi32(packed) + first);
#else
        store(to, (vec)_mm_cvtepu8_epi32(packed) + first);
        store(to + lanes, (vec)_mm_cvtepu8_epi32(_mm_srli_si128(packed, 4)) + first);
#endif
        to += count_bits(eight);
    }
    return to;
#else
    for (; set != 0; set &= set - 1)
        *to++ = base + static_cast<u32>(__builtin_ctzll(set));
    return to;
#endif
}

std::size_t find_characters(const u8* text, std::size_t count, u32* begin) noexcept
{
    u32* to = begin;
    u64 owed = 0;
    for (std::size_t at = 0; at < count; at += vector_bytes) {
        const std::size_t left = count - at;
        const bytes given = load_at(text, at, count);
        const bytes next = load_at(text, at + 1, count);
        const u64 continuation = high_bits(given) & ~high_bits(given + given);
        if (!goes_on(given, next, continuation, owed))
            return 0;
        u64 starts = ~continuation;
        if (left < 64 || vector_bytes < 64)
            starts &= (1ull << smaller(left, vector_bytes)) - 1;
        to = append_positions(to, starts, static_cast<u32>(at));
    }
    *to = static_cast<u32>(count);
    return owed != 0 ? 0 : static_cast<std::size_t>(to - begin);
}

std::size_t find_spaces(const u8* text, std::size_t count, u32* spaces) noexcept
{
    u32* to = spaces;
    for (std::size_t at = 0; at < count; at += vector_bytes) {
        const bytes given = load_at(text, at, count);
        to = append_positions(to, high_bits((bytes)(given == ' ')), static_cast<u32>(at));
    }
    return static_cast<std::size_t>(to - spaces);
}

} // namespace
} // namespace minhash::simd
