// Signature -> band keys. A band is `rows` consecutive slots, and equal keys stand for equal
// slots in the same band. Slots after the last band are not used. (Banding is described in Leskovec, Rajaraman, Ullman:
// Mining of Massive Datasets, 3.4.)
#pragma once

#include "core/codec.h"

#include <cstdint>

namespace minhash {

// Narrower slots agree by chance too often to tell texts apart, and a band of them may not start at a byte boundary.
constexpr int min_band_bits = 8;

// Whether signatures of this scheme have `bands` bands of `rows` slots. Check before band_key().
bool can_be_banded(const scheme& scheme, int bands, int rows) noexcept;

// The key of a band (from 0) of a signature that is not empty, and for which can_be_banded(). The bits of the unsigned
// key are those of SQL's bigint.
std::int64_t band_key(const signature& value, int band, int rows) noexcept;

} // namespace minhash
