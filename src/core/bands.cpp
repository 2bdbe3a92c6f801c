#include "core/bands.h"
#include "core/hash.h"

namespace minhash {

std::int64_t band_key(const signature& value, int band, int rows) noexcept
{
    const std::size_t bytes = slot_bytes(value.scheme.bits, static_cast<std::size_t>(rows));
    const std::uint8_t* const slots = value.stored_slots().data() + band * bytes;
    return static_cast<std::int64_t>(hash_band(slots, bytes, static_cast<std::uint32_t>(band)));
}

} // namespace minhash
