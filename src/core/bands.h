// Signature -> band keys. A band is `rows` consecutive slots. Equal keys mean equal slots in the same band, except for
// collisions. These are very rare, but not all are left to chance: two different bands of three bytes have equal keys
// if their bytes differ in a certain way, because XXH3 XORs such short input with a constant plus the seed, which is
// the band's number. Slots after the last band are not used. (Leskovec, Rajaraman, Ullman: Mining of Massive Datasets,
// 3.4.)
#pragma once

#include "core/codec.h"
#include "core/hash.h"

#include <cassert>
#include <cstdint>

namespace minhash {

// Slots of fewer bits agree by chance too often to tell texts apart, and a band of them may not start at a byte
// boundary.
constexpr int min_band_bits = 8;

// Whether signatures of this scheme have `bands` bands of `rows` slots. Check this before you call band_key().
constexpr bool can_be_banded(const scheme& scheme, int bands, int rows) noexcept
{
    return scheme.bits >= min_band_bits && bands >= 1 && rows >= 1 && std::int64_t{bands} * rows <= scheme.num_hashes;
}

// The key of a band, counted from 0. The signature must not be empty, and can_be_banded() must be true for its scheme.
// The key has the 64 bits of the hash, as a signed integer: bigint in SQL.
inline std::int64_t band_key(const signature& value, int band, int rows) noexcept
{
    assert(!value.empty() && band >= 0 && can_be_banded(value.scheme, band + 1, rows));
    const std::size_t bytes = slot_bytes(value.scheme.bits, static_cast<std::size_t>(rows));
    const std::uint8_t* const slots = value.stored_slots().data() + band * bytes;
    return static_cast<std::int64_t>(hash_band(slots, bytes, static_cast<std::uint32_t>(band)));
}

} // namespace minhash
