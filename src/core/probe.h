// Where entries lie in tables with open addressing. Hashes of shingles are public, so a text can be
// made of shingles whose hashes share any bits. The place of an entry is therefore taken from its
// hash and a secret. No result depends on it.
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

// The secret of this process. The glue sets a random one at load, before there is any table; tests
// choose one.
inline probe_secret probing = {0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93};

inline void set_probe_secret(std::uint64_t first, std::uint64_t second) noexcept
{
    probing = {first, second | 1};
}

// All bits of a secret product, folded (Yi: wyhash).
inline std::uint64_t place_of(std::uint64_t hash, const probe_secret& secret = probing) noexcept
{
    const std::uint64_t flipped = hash ^ secret.flip;
    const auto high =
        static_cast<std::uint64_t>(static_cast<unsigned __int128>(flipped) * secret.factor >> 64);
    return flipped * secret.factor ^ high;
}

// The first entry from a place on that ends the search: the one looked for, or a free one. The
// table has mask + 1 entries, a power of two, of which one at least is free.
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
