// Signature -> band keys. A band is `rows` consecutive slots, and equal keys stand for equal
// slots in the same band. Slots behind the last band are not used.
#pragma once

#include "core/codec.h"

#include <cstdint>

namespace minhash {

// The key of a band (from 0); bands * rows must not exceed the number of slots. Unsigned keys are
// kept in SQL's bigint bit by bit.
std::int64_t band_key(const signature& value, int band, int rows) noexcept;

} // namespace minhash
