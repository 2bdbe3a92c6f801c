#include "core/bands.h"
#include "core/hash.h"

namespace minhash {

std::int64_t band_key(const signature& value, int band, int rows) noexcept
{
    const std::uint32_t* const slots = value.slots.data() + static_cast<std::size_t>(band) * rows;
    return static_cast<std::int64_t>(
        hash_band(slots, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(band)));
}

} // namespace minhash
