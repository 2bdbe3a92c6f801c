// The places of entries in tables with open addressing. Anybody can compute the hashes of shingles, and so could write
// a text whose shingles' hashes all have certain bits in common. This is why the place of an entry depends on its hash
// and on a secret. No result depends on the secret.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace minhash {

struct probe_secret {
    std::uint64_t flip;
    std::uint64_t factor; // odd
};

// The secret of this process. The glue sets a random one at load, before there is any table; tests choose one.
inline probe_secret probing = {0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93};

inline void set_probe_secret(std::uint64_t first, std::uint64_t second) noexcept { probing = {first, second | 1}; }

// The two halves of a product with the secret, XORed (Yi: wyhash).
inline std::uint64_t place_of(std::uint64_t hash, const probe_secret& secret = probing) noexcept
{
    const std::uint64_t flipped = hash ^ secret.flip;
    const auto high = static_cast<std::uint64_t>(static_cast<unsigned __int128>(flipped) * secret.factor >> 64);
    return flipped * secret.factor ^ high;
}

// The first entry at or after a place that ends the search: the one sought, or a free one. The table has mask + 1
// entries, which is a power of two, and at least one entry is free.
template <typename Ends>
inline std::size_t probe(std::size_t mask, std::uint64_t place, Ends&& ends) noexcept
{
    assert(std::has_single_bit(mask + 1));
    [[maybe_unused]] const std::size_t first = place & mask;
    std::size_t at = first;
    while (!ends(at)) {
        at = (at + 1) & mask;
        assert(at != first); // no entry is free
    }
    return at;
}

} // namespace minhash
