#include "core/bands.h"
#include "core/hash.h"

#include <cassert>

namespace minhash {

bool can_be_banded(const scheme& scheme, int bands, int rows) noexcept
{
    return scheme.bits >= min_band_bits && bands >= 1 && rows >= 1 && std::int64_t{bands} * rows <= scheme.num_hashes;
}

std::int64_t band_key(const signature& value, int band, int rows) noexcept
{
    assert(!value.empty() && band >= 0 && can_be_banded(value.scheme, band + 1, rows));
    const std::size_t bytes = slot_bytes(value.scheme.bits, static_cast<std::size_t>(rows));
    const std::uint8_t* const slots = value.stored_slots().data() + band * bytes;
    return static_cast<std::int64_t>(hash_band(slots, bytes, static_cast<std::uint32_t>(band)));
}

} // namespace minhash
