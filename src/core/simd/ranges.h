// Hashes of ranges of bytes: of words, and of character shingles of texts that are not all ASCII.
#pragma once

#include "core/hash.h"
#include "core/simd/hashes.h"
#include "core/simd/vector64.h"

namespace minhash::simd {
namespace {

constexpr std::size_t step = 256; // how many ranges are hashed together

// Hashes the ranges of up to 8 bytes. Longer ranges get arbitrary hashes.
void hash_short(
    const u8* text, const u32* begin, const u32* length, std::size_t count, std::int64_t seed, u32* lo, u32* hi)
{
    alignas(64) u64 window[step + lanes];
#if defined(MINHASH_HAS_VEC64)
    for (std::size_t at = 0; at < count; at += lanes64) {
        const vec64 eight = load_each(text, begin + at, smaller(lanes64, count - at));
        store(window + at, front_bytes(eight, widen(length + at)));
    }
#else
    for (std::size_t index = 0; index < count; index++)
        window[index] = in_register(load_as<u64>(text + begin[index])) & byte_mask(length[index]);
#endif
    mix_numbers(window, count, window_mask(seed), lo, hi);
}

// Hashes the ranges of 9 to 16 bytes (hash.h: medium_hash). Other ranges get arbitrary hashes.
void hash_medium(
    const u8* text, const u32* begin, const u32* length, std::size_t count, std::int64_t seed, u32* lo, u32* hi)
{
    const medium_hash medium(seed);
    alignas(64) u32 clamped[step + lanes];
    alignas(64) u32 back_at[step + lanes];
    for (std::size_t index = 0; index < count; index += lanes) {
        const vec size = smaller(larger(load(length + index), splat(8)), splat(16));
        store(clamped + index, size);
        store(back_at + index, load(begin + index) + size - 8);
    }
#if defined(MINHASH_HAS_VEC64)
    alignas(64) u64 fronts[step + lanes];
    alignas(64) u64 backs[step + lanes];
    for (std::size_t at = 0; at < count; at += lanes64) {
        const std::size_t valid = smaller(lanes64, count - at);
        store(fronts + at, load_each(text, begin + at, valid) ^ medium.flip_front);
        store(backs + at, load_each(text, back_at + at, valid) ^ medium.flip_back);
    }
    for (std::size_t index = 0; index < count; index += lanes) {
        const auto hash_lanes = [&](std::size_t at) {
            const vec64 front = load_as<vec64>(fronts + at);
            const vec64 back = load_as<vec64>(backs + at);
            const vec64 hash = widen(clamped + at) + swap_bytes(front) + back + fold_products(front, back);
            store(fronts + at, hash ^ hash >> 37);
        };
        hash_lanes(index);
        hash_lanes(index + lanes64);
        // Multiplies by `factor` modulo 2^64, in 32-bit halves, and XORs the upper half into the lower half.
        vec a, b;
        load_halves(fronts + index, a, b);
        const vec high_half = high_product(a, splat(low(medium_hash::factor))) + a * high(medium_hash::factor) +
                              b * low(medium_hash::factor);
        store(lo + index, (a * low(medium_hash::factor)) ^ high_half);
        store(hi + index, high_half);
    }
#else
    alignas(64) u64 hashes[step + lanes];
    for (std::size_t index = 0; index < count; index++)
        hashes[index] = in_register(medium(text + begin[index], clamped[index]));
    for (std::size_t index = 0; index < count; index += lanes) {
        vec a, b;
        load_halves(hashes + index, a, b);
        store(lo + index, a);
        store(hi + index, b);
    }
#endif
}

// Ranges selected from a step, stored without gaps. `number` is the index of each range in the step.
struct some_ranges {
    alignas(64) u32 number[step + lanes];
    alignas(64) u32 begin[step + lanes];
    alignas(64) u32 length[step + lanes];
    std::size_t count;
};

// Finds the ranges whose length lies between `least` and `most`, inclusive. There is no branch on whether a vector
// contains any such ranges, because it would be unpredictable.
MINHASH_INLINE void
find_ranges(const u32* begin, const u32* length, std::size_t count, u32 least, u32 most, some_ranges& found)
{
    std::size_t ready = 0;
    for (std::size_t index = 0; index < count; index += lanes) {
        const vec lengths = load(length + index);
        const u32 set = ~less(splat(most - least), lengths - least) & first_lanes(count - index);
        append(found.number + ready, splat(static_cast<u32>(index)) + lane_numbers(), set);
        append(found.begin + ready, load(begin + index), set);
        append(found.length + ready, lengths, set);
        ready += count_bits(set);
    }
    found.count = ready;
}

// Hashes up to `step` ranges without a branch on the length of each. First, all ranges are hashed as if they were
// short, or all as if they were of medium length, whichever length is more frequent. Then the ranges for which this was
// wrong are gathered by length and hashed again.
void hash_step(const u8* text, const u32* begin, const u32* end, std::size_t count, std::int64_t seed, u32* lo, u32* hi)
{
    alignas(64) u32 length[step + lanes];
    u32 longer = 0;
    u32 longest = 0;
    for (std::size_t index = 0; index < count; index++) {
        length[index] = end[index] - begin[index];
        longer += length[index] > 8;
        longest += length[index] > 16;
    }
    const u32 mediums = longer - longest;
    const u32 shorts = static_cast<u32>(count) - longer;
    const bool mostly_short = shorts > mediums;

    const auto most = mostly_short ? hash_short : hash_medium;
    const auto rest = mostly_short ? hash_medium : hash_short;
    if (longest < count)
        most(text, begin, length, count, seed, lo, hi);
    some_ranges found;
    if (shorts > 0 && mediums > 0) {
        find_ranges(begin, length, count, mostly_short ? 9 : 0, mostly_short ? 16 : 8, found);
        alignas(64) u32 found_lo[step + lanes];
        alignas(64) u32 found_hi[step + lanes];
        rest(text, found.begin, found.length, found.count, seed, found_lo, found_hi);
        for (std::size_t rank = 0; rank < found.count; rank++) {
            lo[found.number[rank]] = found_lo[rank];
            hi[found.number[rank]] = found_hi[rank];
        }
    }
    if (longest > 0) {
        find_ranges(begin, length, count, 17, ~0u, found);
        for (std::size_t rank = 0; rank < found.count; rank++) {
            const u64 hash = XXH3_64bits_withSeed(text + found.begin[rank], found.length[rank], static_cast<u64>(seed));
            split(hash, lo[found.number[rank]], hi[found.number[rank]]);
        }
    }
}

void hash_ranges(
    const u8* text, const u32* begin, const u32* end, std::size_t count, std::int64_t seed, u32* lo, u32* hi) noexcept
{
    for (std::size_t from = 0; from < count; from += step)
        hash_step(text, begin + from, end + from, smaller(count - from, step), seed, lo + from, hi + from);
}

} // namespace
} // namespace minhash::simd
