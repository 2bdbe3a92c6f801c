// Makes band keys from signatures. A band is `rows` consecutive slots. If two keys are equal, they are made from equal
// slots of the same band, unless the keys collide. Collisions by chance are very rare. But two bands with different
// numbers can have the same key if each band has three bytes, and only the last byte differs. The reason is that XXH3
// XORs this byte with the sum of a constant and the seed, which is the band's number. So a difference in the byte can
// cancel out the difference in the seed. Slots after the last band are not used. (Banding is described in Leskovec,
// Rajaraman, Ullman: Mining of Massive Datasets, 3.4.)
#pragma once

#include "core/codec.h"
#include "core/hash.h"

#include <cassert>
#include <cstdint>

namespace minhash {

// Slots with fewer bits agree by chance too often to tell texts apart. Besides, bands of such slots would not always
// start at a byte boundary.
constexpr int min_band_bits = 8;

// Whether signatures of this scheme can be cut into `bands` bands of `rows` slots. Check this before you call
// band_key().
constexpr bool can_be_banded(const scheme& scheme, int bands, int rows) noexcept
{
    return scheme.bits >= min_band_bits && bands >= 1 && rows >= 1 && std::int64_t{bands} * rows <= scheme.num_hashes;
}

// The key of one band; bands are counted from 0. The signature must not be empty, and can_be_banded() must be true for
// its scheme. The key has the 64 bits of the unsigned hash, but is signed, like SQL's bigint.
inline std::int64_t band_key(const signature& value, int band, int rows) noexcept
{
    assert(!value.empty() && band >= 0 && can_be_banded(value.scheme, band + 1, rows));
    const std::size_t bytes = slot_bytes(value.scheme.bits, static_cast<std::size_t>(rows));
    const std::uint8_t* const slots = value.stored_slots().data() + band * bytes;
    return static_cast<std::int64_t>(hash_band(slots, bytes, static_cast<std::uint32_t>(band)));
}

} // namespace minhash
