// Vectors of 32-bit lanes and vectors of bytes, as wide as the registers of the instruction set for which the code is
// compiled. Most kernels use only the compiler's vector types. Operations that these types cannot express are here, in
// functions that do the same on every instruction set. Everything has internal linkage or is always inlined. Otherwise
// the linker could use an inline function compiled for one instruction set in the code for another.
#pragma once

#include "core/kernels.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(MINHASH_NEON)
#include <arm_neon.h>
#endif

#if defined(MINHASH_AVX512)
#define MINHASH_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define MINHASH_VECTOR_BYTES 32
#else
#define MINHASH_VECTOR_BYTES 16
#endif

namespace minhash::simd {
namespace {

constexpr std::size_t lanes = MINHASH_VECTOR_BYTES / 4;

constexpr std::size_t vector_bytes = MINHASH_VECTOR_BYTES;

typedef u32 vec __attribute__((vector_size(MINHASH_VECTOR_BYTES)));
typedef u8 bytes __attribute__((vector_size(MINHASH_VECTOR_BYTES)));

#define MINHASH_INLINE [[gnu::always_inline]] inline

MINHASH_INLINE vec splat(u32 value) { return vec{} + value; }

template <typename Value>
MINHASH_INLINE Value load_as(const void* from)
{
    Value value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

MINHASH_INLINE vec load(const u32* from) { return load_as<vec>(from); }

template <typename Element, typename Value>
MINHASH_INLINE void store(Element* to, Value value)
{
    std::memcpy(to, &value, sizeof(value));
}

// A table of bytes, computed at compile time: byte `index` is make(index).
template <std::size_t count>
struct byte_table {
    alignas(64) u8 of[count];

    constexpr byte_table(auto make) : of()
    {
        for (std::size_t index = 0; index < count; index++)
            of[index] = static_cast<u8>(make(index));
    }
};

// Forces a value into a register. Without this, gcc would vectorise loops of scattered loads lane by lane, which is
// slower by half, and it would compile a minimum to a branch, which would be unpredictable.
template <typename Value>
MINHASH_INLINE Value in_register(Value value)
{
    asm("" : "+r"(value));
    return value;
}

template <typename Value>
MINHASH_INLINE Value smaller(Value a, Value b)
{
    return a < b ? a : b;
}

template <typename Value>
MINHASH_INLINE Value larger(Value a, Value b)
{
    return a < b ? b : a;
}

// How many vectors to hash side by side. A hash is a chain of multiplications, each of which waits for the previous
// one. If only one chain ran at a time, too few multiplications would be in flight.
#if defined(MINHASH_AVX512)
constexpr std::size_t chains = 2;
#elif defined(__SSE4_1__) || defined(MINHASH_NEON)
constexpr std::size_t chains = 4;
#else
constexpr std::size_t chains = 1; // in SSE2, 32-bit multiplications are emulated
#endif

// One vector for each chain. Operations are applied to each of these vectors in turn.
struct vecs {
    vec of[chains];
};

// Sets the vector at each index to make(index).
template <typename Make>
MINHASH_INLINE vecs each(Make make)
{
    vecs made;
#pragma GCC unroll 4
    for (std::size_t index = 0; index < chains; index++)
        made.of[index] = make(index);
    return made;
}

MINHASH_INLINE vecs operator*(const vecs& a, u32 b)
{
    return each([&](std::size_t index) { return a.of[index] * b; });
}

MINHASH_INLINE vecs operator>>(const vecs& a, int bits)
{
    return each([&](std::size_t index) { return a.of[index] >> bits; });
}

MINHASH_INLINE vecs operator^(const vecs& a, const vecs& b)
{
    return each([&](std::size_t index) { return a.of[index] ^ b.of[index]; });
}

MINHASH_INLINE void operator^=(vecs& a, const vecs& b) { a = a ^ b; }

MINHASH_INLINE vecs load_vecs(const u32* from)
{
    return each([&](std::size_t index) { return load(from + index * lanes); });
}

MINHASH_INLINE void store(u32* to, const vecs& value)
{
#pragma GCC unroll 4
    for (std::size_t index = 0; index < chains; index++)
        store(to + index * lanes, value.of[index]);
}

#if defined(__x86_64__)
typedef u64 vec64 __attribute__((vector_size(MINHASH_VECTOR_BYTES)));

// For each pair of 64-bit lanes, the 64-bit product of their low halves.
MINHASH_INLINE vec64 multiply(vec64 a, vec64 b)
{
#if defined(MINHASH_AVX512)
    return (vec64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vec64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
    return (vec64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#endif
}
#endif

// The even lanes of the first vector and the odd lanes of the second one, each in its place.
template <int... lane>
MINHASH_INLINE vec take_turns(vec even, vec odd, std::integer_sequence<int, lane...>)
{
    return __builtin_shufflevector(even, odd, (lane % 2 * static_cast<int>(lanes) + lane)...);
}

// (a * b) >> 32 in each lane.
MINHASH_INLINE vec high_product(vec a, vec b)
{
#if defined(__x86_64__)
    const vec64 even = multiply((vec64)a, (vec64)b) >> 32;
    const vec64 odd = multiply((vec64)a >> 32, (vec64)b >> 32);
    return take_turns((vec)even, (vec)odd, std::make_integer_sequence<int, lanes>());
#elif defined(MINHASH_NEON)
    const uint32x4_t x = (uint32x4_t)a;
    const uint32x4_t y = (uint32x4_t)b;
    const uint64x2_t front = vmull_u32(vget_low_u32(x), vget_low_u32(y));
    const uint64x2_t back = vmull_high_u32(x, y);
    return (vec)vuzp2q_u32(vreinterpretq_u32_u64(front), vreinterpretq_u32_u64(back));
#else
    vec product;
    for (std::size_t lane = 0; lane < lanes; lane++)
        product[lane] = static_cast<u32>(static_cast<u64>(a[lane]) * b[lane] >> 32);
    return product;
#endif
}

// Bit i is set if lane i of a is less than lane i of b.
MINHASH_INLINE u32 less(vec a, vec b)
{
#if defined(MINHASH_AVX512)
    return _mm512_cmplt_epu32_mask((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return static_cast<u32>(_mm256_movemask_ps((__m256)(a < b)));
#elif defined(__x86_64__)
    return static_cast<u32>(_mm_movemask_ps((__m128)(a < b)));
#else
    u32 mask = 0;
    for (std::size_t lane = 0; lane < lanes; lane++)
        mask |= static_cast<u32>(a[lane] < b[lane]) << lane;
    return mask;
#endif
}

MINHASH_INLINE u32 least_lane(vec value)
{
    u32 least = value[0];
    for (std::size_t lane = 1; lane < lanes; lane++)
        least = smaller<u32>(least, value[lane]);
    return least;
}

constexpr u32 all_lanes = (1u << lanes) - 1;

// A bit for each of the first `left` lanes, or for all lanes if there are fewer than `left`.
MINHASH_INLINE u32 first_lanes(std::size_t left) { return left < lanes ? (1u << left) - 1 : all_lanes; }

MINHASH_INLINE vec lane_numbers()
{
    vec numbers = {};
    for (u32 lane = 0; lane < lanes; lane++)
        numbers[lane] = lane;
    return numbers;
}

MINHASH_INLINE u32 count_bits(u64 bits) { return static_cast<u32>(__builtin_popcountll(bits)); }

// For each value of a byte, eight bytes: the positions of its set bits in ascending order, and then zeros.
constexpr byte_table<256 * 8> positions([](std::size_t index) {
    std::size_t bits = index / 8;
    for (std::size_t before = index % 8; before > 0; before--)
        bits &= bits - 1;
    return bits == 0 ? 0 : __builtin_ctzll(bits);
});

// Writes the lanes whose bits are set in `bits`, without gaps, and returns the address after them. Up to a whole vector
// is written, so the elements after this address may be overwritten with arbitrary values.
MINHASH_INLINE u32* append(u32* to, vec value, u32 bits)
{
#if defined(MINHASH_AVX512)
    store(to, (vec)_mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), (__m512i)value));
#elif defined(__AVX2__)
    const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(positions.of + 8 * bits));
    const __m256i order = _mm256_cvtepu8_epi32(packed);
    store(to, (vec)_mm256_permutevar8x32_epi32((__m256i)value, order));
#else
    u32* at = to;
    for (std::size_t lane = 0; lane < lanes; lane++) {
        *at = value[lane];
        at += bits >> lane & 1;
    }
#endif
    return to + count_bits(bits);
}

#if defined(MINHASH_AVX512) || defined(__AVX2__)
#define MINHASH_HAS_SPREAD 1

// The inverse of append(): moves the first lanes, in order, to the positions whose bits are set in `bits`. The lanes at
// all other positions become 0xFFFFFFFF.
MINHASH_INLINE vec spread(vec value, u32 bits)
{
#if defined(MINHASH_AVX512)
    const __m512i others = _mm512_set1_epi32(-1);
    return (vec)_mm512_mask_expand_epi32(others, static_cast<__mmask16>(bits), (__m512i)value);
#else
    const u64 chosen = _pdep_u64(bits, 0x0101010101010101) * 0xFF;
    const u64 ranks = _pdep_u64(0x0706050403020100, chosen);
    const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(ranks)));
    const __m256i others = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<long long>(~chosen)));
    return (vec)_mm256_or_si256(_mm256_permutevar8x32_epi32((__m256i)value, order), others);
#endif
}
#endif

// A mask for the first `count` of eight bytes, or for all of them if `count` is larger.
MINHASH_INLINE u64 byte_mask(std::size_t count) { return count >= 8 ? ~0ull : (1ull << 8 * count) - 1; }

// Every second lane of `a` and then of `b`, beginning with lane `first`.
template <int first, int... lane>
MINHASH_INLINE vec every_second(vec a, vec b, std::integer_sequence<int, lane...>)
{
    return __builtin_shufflevector(a, b, (first + 2 * lane)...);
}

// Loads `lanes` 64-bit numbers, and splits them into a vector of low halves and a vector of high halves.
MINHASH_INLINE void load_halves(const u64* from, vec& low_halves, vec& high_halves)
{
    const vec front = load_as<vec>(from);
    const vec back = load_as<vec>(from + lanes / 2);
#if MINHASH_VECTOR_BYTES == 32 // gcc finds no short sequence of instructions for this
    const auto take = [](__m256 parts) { return (vec)_mm256_permute4x64_epi64((__m256i)parts, 0xD8); };
    low_halves = take(_mm256_shuffle_ps((__m256)front, (__m256)back, 0x88));
    high_halves = take(_mm256_shuffle_ps((__m256)front, (__m256)back, 0xDD));
#else
    constexpr std::make_integer_sequence<int, lanes> all = {};
    low_halves = every_second<0>(front, back, all);
    high_halves = every_second<1>(front, back, all);
#endif
}

// --- bytes ----------------------------------------------------------------------------------

// 0xFF in the first `count` bytes of a vector, and 0 in the others. `count` must be at most vector_bytes.
MINHASH_INLINE bytes front_mask(std::size_t count)
{
    static constexpr byte_table<2 * vector_bytes> ones(
        [](std::size_t index) { return index < vector_bytes ? 0xFF : 0; });
    return load_as<bytes>(ones.of + vector_bytes - count);
}

// Loads `count` bytes (at most a vector), followed by zeros. No other bytes are read.
MINHASH_INLINE bytes load_front(const u8* from, std::size_t count)
{
#if defined(MINHASH_AVX512)
    return (bytes)_mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, static_cast<u32>(count)), from);
#else
    bytes value = {};
    std::memcpy(&value, from, count);
    return value;
#endif
}

// Loads the vector of bytes that starts at index `at` of a padded text of `count` bytes. The bytes after the end of the
// text become zeros.
MINHASH_INLINE bytes load_at(const u8* text, std::size_t at, std::size_t count)
{
    const bytes given = load_as<bytes>(text + at);
    return at + vector_bytes <= count ? given : given & front_mask(count - at);
}

// A copy of the end of a text that is not padded. copy() copies the last `last` bytes (fewer than two vectors) of a
// text of `count` bytes, adds zeros after them, and returns where the copy starts.
struct end_of_text {
    alignas(64) u8 room[4 * vector_bytes];

    MINHASH_INLINE const u8* copy(const u8* text, std::size_t count, std::size_t last)
    {
        store(room + 2 * vector_bytes, bytes{});
        store(room + 3 * vector_bytes, bytes{});
#if defined(MINHASH_AVX512)
        const u8* const from = text + count - last;
        store(room, load_front(from, smaller<std::size_t>(last, 64)));
        store(room + 64, load_front(from + 64, last > 64 ? last - 64 : 0));
        return room;
#else
        u8* const to = room + 2 * vector_bytes - last;
        if (count < 2 * vector_bytes) {
            std::memcpy(to, text + count - last, last);
        } else {
            store(room, load_as<bytes>(text + count - 2 * vector_bytes));
            store(room + vector_bytes, load_as<bytes>(text + count - vector_bytes));
        }
        return to;
#endif
    }
};

// 0xFF in each byte whose value lies between `first` and `last`, inclusive.
MINHASH_INLINE bytes between(bytes value, u8 first, u8 last)
{
    return (bytes)(value - first <= bytes{} + static_cast<u8>(last - first));
}

MINHASH_INLINE u32 sum_of(bytes value)
{
    constexpr u64 even = 0x00FF00FF00FF00FF;
    u64 sums = 0; // four sums of 16 bits; each word adds at most 2 * 255 to each of them
    for (std::size_t word = 0; word < vector_bytes / 8; word++) {
        const u64 given = load_as<u64>(reinterpret_cast<const u8*>(&value) + word * 8);
        sums += (given & even) + (given >> 8 & even);
    }
    return static_cast<u32>(sums * 0x0001000100010001 >> 48);
}

// Bit i is the highest bit of byte i.
MINHASH_INLINE u64 high_bits(bytes value)
{
#if defined(MINHASH_AVX512)
    return _mm512_movepi8_mask((__m512i)value);
#elif defined(__AVX2__)
    return static_cast<u32>(_mm256_movemask_epi8((__m256i)value));
#elif defined(__x86_64__)
    return static_cast<u32>(_mm_movemask_epi8((__m128i)value));
#elif defined(MINHASH_NEON)
    constexpr u8 weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t set = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8((uint8x16_t)value), 7));
    const uint8x16_t weighed = vandq_u8(set, vld1q_u8(weights));
    return vaddv_u8(vget_low_u8(weighed)) | static_cast<u32>(vaddv_u8(vget_high_u8(weighed))) << 8;
#else
    u64 mask = 0;
    for (std::size_t index = 0; index < vector_bytes; index++)
        mask |= static_cast<u64>(value[index] >> 7) << index;
    return mask;
#endif
}

#if defined(__SSSE3__) || defined(MINHASH_NEON)
#define MINHASH_HAS_LOOKUP 1

// Within each group of 16 bytes, byte i of the result is value[index[i]]. All bytes of `index` must be below 16.
MINHASH_INLINE bytes shuffle(bytes value, bytes index)
{
#if defined(MINHASH_AVX512)
    return (bytes)_mm512_shuffle_epi8((__m512i)value, (__m512i)index);
#elif defined(__AVX2__)
    return (bytes)_mm256_shuffle_epi8((__m256i)value, (__m256i)index);
#elif defined(__SSSE3__)
    return (bytes)_mm_shuffle_epi8((__m128i)value, (__m128i)index);
#else
    return (bytes)vqtbl1q_u8((uint8x16_t)value, (uint8x16_t)index);
#endif
}

// A table of 16 bytes for look_up(), whose indices must be below 16.
struct lookup_table {
    alignas(16) u8 of[16];
};

MINHASH_INLINE bytes look_up(const lookup_table& table, bytes index)
{
    bytes tables;
    for (std::size_t at = 0; at < vector_bytes; at += 16)
        std::memcpy(reinterpret_cast<u8*>(&tables) + at, table.of, 16);
    return shuffle(tables, index);
}
#endif

// Writes the bytes whose bits are set in `bits`, without gaps, and returns the address after them. Up to a whole vector
// is written, so the bytes after this address may be overwritten with arbitrary values.
MINHASH_INLINE u8* append_bytes(u8* to, bytes value, u64 bits)
{
#if defined(MINHASH_AVX512)
    store(to, (bytes)_mm512_maskz_compress_epi8(bits, (__m512i)value));
    return to + count_bits(bits);
#elif defined(__SSSE3__) || defined(MINHASH_NEON)
    u8 eight[vector_bytes];
    store(eight, value);
    for (std::size_t from = 0; from < vector_bytes; from += 8) {
        const u8 kept = static_cast<u8>(bits >> from);
#if defined(__SSSE3__)
        const __m128i in = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(eight + from));
        const __m128i order = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(positions.of + 8 * kept));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(in, order));
#else
        vst1_u8(to, vtbl1_u8(vld1_u8(eight + from), vld1_u8(positions.of + 8 * kept)));
#endif
        to += count_bits(kept);
    }
    return to;
#else
    for (std::size_t index = 0; index < vector_bytes; index++) {
        *to = value[index];
        to += bits >> index & 1;
    }
    return to;
#endif
}

} // namespace
} // namespace minhash::simd
