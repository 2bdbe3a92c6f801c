// Hashes of integers, which are members of sets that are given.
#pragma once

#include "core/hash.h"
#include "core/simd/vector.h"

namespace minhash::simd {
namespace {

void hash_integers(
    const std::int64_t* values, std::size_t count, std::int64_t seed, u32* lo, u32* hi) noexcept
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

} // namespace
} // namespace minhash::simd
