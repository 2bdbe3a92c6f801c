// Hashes of integers, as members of sets that users give as such, and of numbered occurrences.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

void hash_integers(const std::int64_t* values, std::size_t count, std::int64_t seed, u32* lo, u32* hi) noexcept
{
    const u64* const words = reinterpret_cast<const u64*>(values);
    const u64 flip = integer_mask(seed);
    for (std::size_t at = 0; at < count; at += chains * lanes) {
        vecs a, b;
#pragma GCC unroll 4
        for (std::size_t index = 0; index < chains; index++) {
            load_halves(words + at + index * lanes, a.of[index], b.of[index]);
            a.of[index] ^= low(flip);
            b.of[index] ^= high(flip);
        }
        mix(a, b);
        store(lo + at, a);
        store(hi + at, b);
    }
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
