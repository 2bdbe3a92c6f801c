// Operations on the slots of finished signatures, and the minima for the classic method and the guarantee round of
// FSS-4.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

// Sets out[i] to the minimum of multipliers[i] * lo + hi over all elements, for each i below blocks * lanes. The
// multipliers and minima stay in registers.
template <std::size_t blocks>
MINHASH_INLINE void minima_of_blocks(const u32* lo, const u32* hi, std::size_t count, const u32* multipliers, u32* out)
{
    vec factor[blocks];
    vec least[blocks];
#pragma GCC unroll 8
    for (std::size_t index = 0; index < blocks; index++) {
        factor[index] = load(multipliers + index * lanes);
        least[index] = splat(~0u);
    }
    for (std::size_t element = 0; element < count; element++) {
        const vec times = splat(lo[element]);
        const vec plus = splat(hi[element]);
#pragma GCC unroll 8
        for (std::size_t index = 0; index < blocks; index++)
            least[index] = smaller(least[index], factor[index] * times + plus);
    }
#pragma GCC unroll 8
    for (std::size_t index = 0; index < blocks; index++)
        store(out + index * lanes, least[index]);
}

// The minimum for one multiplier, computed from a vector of elements at a time. There must be at least `lanes`
// elements.
MINHASH_INLINE u32 minimum(const u32* lo, const u32* hi, std::size_t count, u32 multiplier)
{
    vec least = splat(~0u);
    for (std::size_t at = 0; at < count; at += lanes) {
        const std::size_t from = smaller(at, count - lanes); // may read some elements twice, which does no harm
        least = smaller(least, load(lo + from) * multiplier + load(hi + from));
    }
    return least_lane(least);
}

// Computes the minima for `rows` multipliers. `multipliers` and `out` must be padded.
void minima(const u32* lo, const u32* hi, std::size_t count, const u32* multipliers, std::size_t rows, u32* out)
{
    constexpr std::size_t most = vector_bytes == 64 ? 8 : vector_bytes == 32 ? 6 : 4;
    std::size_t row = 0;
    if (rows <= 2 && count >= 4 * lanes) {
        for (; row < rows; row++)
            out[row] = minimum(lo, hi, count, multipliers[row]);
        return;
    }
    for (; row + most * lanes <= rows; row += most * lanes)
        minima_of_blocks<most>(lo, hi, count, multipliers + row, out + row);
    // The number of remaining rows varies, but they usually fit into one or two vectors, so the processor predicts
    // these branches well.
    for (; row + lanes < rows; row += 2 * lanes)
        minima_of_blocks<2>(lo, hi, count, multipliers + row, out + row);
    if (row < rows)
        minima_of_blocks<1>(lo, hi, count, multipliers + row, out + row);
}

void absorb_classic(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count) noexcept
{
    constexpr std::size_t step = 512;
    for (std::size_t from = 0; from < num_hashes; from += step) {
        const std::size_t rows = smaller<std::size_t>(step, num_hashes - from);
        alignas(64) u32 least[step + lanes];
        minima(lo, hi, count, multiplier.row + from, rows, least);
        for (std::size_t row = 0; row < rows; row++)
            slots[from + row] = smaller(slots[from + row], least[row]);
    }
}

u32 count_equal(const u32* a, const u32* b, u32 num_hashes) noexcept
{
    vec differences = {}; // each lane counts equal slots, downwards from 0
    std::size_t slot = 0;
    for (; slot + lanes <= num_hashes; slot += lanes)
        differences += (vec)(load(a + slot) == load(b + slot));
    u32 equal = 0;
    for (std::size_t lane = 0; lane < lanes; lane++)
        equal -= differences[lane];
    for (; slot < num_hashes; slot++)
        equal += a[slot] == b[slot];
    return equal;
}

void compress_slots(const u32* slots, u32 num_hashes, u8* packed) noexcept
{
    typedef u8 narrow __attribute__((vector_size(lanes)));
    std::size_t slot = 0;
    for (; slot + lanes <= num_hashes; slot += lanes) {
        const narrow kept = __builtin_convertvector(load(slots + slot) * compress_factor >> 24, narrow);
        std::memcpy(packed + slot, &kept, sizeof(kept));
    }
    for (; slot < num_hashes; slot++)
        packed[slot] = static_cast<u8>(slots[slot] * compress_factor >> 24);
}

// Counts the bytes of all slots that differ, so a differing slot of two bytes counts twice.
template <typename Slots>
u32 count_different_bytes(const u8* a, const u8* b, std::size_t size) noexcept
{
    const auto different = [](bytes x, bytes y) { return (bytes)((Slots)x != (Slots)y); };
    u32 count = 0;
    std::size_t at = 0;
    while (at < size) {
        bytes counts = {}; // each byte counts upwards from 0, to at most 255
        const std::size_t end = smaller(size, at + 255 * vector_bytes);
        for (; at + vector_bytes <= end; at += vector_bytes)
            counts -= different(load_as<bytes>(a + at), load_as<bytes>(b + at));
        if (at < end) {
            u8 rest[2][vector_bytes] = {};
            std::memcpy(rest[0], a + at, end - at);
            std::memcpy(rest[1], b + at, end - at);
            counts -= different(load_as<bytes>(rest[0]), load_as<bytes>(rest[1]));
            at = end;
        }
        count += sum_of(counts);
    }
    return count;
}

// Counts the slots that differ, 64 bits at a time. The differing bits of a slot are ORed into its lowest bit, and the
// lowest bits are counted.
template <int bits>
u32 count_different_bits(const u8* a, const u8* b, std::size_t size) noexcept
{
    constexpr u64 lowest = ~u64{0} / ((u64{1} << bits) - 1);
    const auto different = [](u64 x, u64 y) {
        x ^= y;
#pragma GCC unroll 2
        for (int shift = bits / 2; shift > 0; shift /= 2)
            x |= x >> shift;
        return count_bits(x & lowest);
    };
    u32 count = 0;
    std::size_t byte = 0;
    for (; byte + 8 <= size; byte += 8)
        count += different(load_as<u64>(a + byte), load_as<u64>(b + byte));
    if (byte < size) {
        u64 rest[2] = {};
        std::memcpy(&rest[0], a + byte, size - byte);
        std::memcpy(&rest[1], b + byte, size - byte);
        count += different(rest[0], rest[1]);
    }
    return count;
}

u32 count_different(const u8* a, const u8* b, u32 num_hashes, int bits) noexcept
{
    typedef u16 pairs __attribute__((vector_size(MINHASH_VECTOR_BYTES)));
    const std::size_t size = (num_hashes * static_cast<std::size_t>(bits) + 7) / 8;
    switch (bits) {
    case 1:
        return count_different_bits<1>(a, b, size);
    case 2:
        return count_different_bits<2>(a, b, size);
    case 4:
        return count_different_bits<4>(a, b, size);
    case 8:
        return count_different_bytes<bytes>(a, b, size);
    default:
        return count_different_bytes<pairs>(a, b, size) / 2;
    }
}

void count_agreements(
    const u8* copies, std::size_t stride, std::size_t count, const u8* query, u32 num_hashes, u16* agreements) noexcept
{
    const auto different = [](const u8* a, const u8* b) {
        return count_bits(high_bits((bytes)(load_as<bytes>(a) != load_as<bytes>(b))));
    };
    const std::size_t whole = num_hashes / vector_bytes * vector_bytes;
    u8 rest_of_query[vector_bytes] = {};
    u8 rest_of_copy[vector_bytes] = {};
    std::memcpy(rest_of_query, query + whole, num_hashes - whole);
    for (std::size_t at = 0; at < count; at++, copies += stride) {
        u32 differences = 0;
        for (std::size_t slot = 0; slot < whole; slot += vector_bytes)
            differences += different(copies + slot, query + slot);
        if (whole < num_hashes) {
            std::memcpy(rest_of_copy, copies + whole, num_hashes - whole);
            differences += different(rest_of_copy, rest_of_query);
        }
        agreements[at] = static_cast<u16>(num_hashes - differences);
    }
}

void merge(const u32* a, const u32* b, u32 num_hashes, u32* into) noexcept
{
    for (std::size_t slot = 0; slot < num_hashes; slot++)
        into[slot] = smaller(a[slot], b[slot]);
}

} // namespace
} // namespace minhash::simd
