// Hashes many elements at a time, of sets that users give as such, to 64 bits.
#pragma once

#include "core/hash.h"
#include "core/kernels.h"

namespace minhash {

// Hashes (hash.h: hash_integer) `count` integers into halves. Arrays are padded (kernels.h).
inline void hash_integers(
    const std::int64_t* values, std::size_t count, std::int64_t seed, std::uint32_t* lo, std::uint32_t* hi) noexcept
{
    kernels->hash_integers(values, count, seed, lo, hi);
}

} // namespace minhash
