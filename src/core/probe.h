// The cells of entries in hash tables with open addressing. The hash function of shingles is public, so somebody could
// craft a text whose shingles' hashes share any chosen bits, and thus collide. Therefore the cell of an entry depends
// not only on its hash but also on a secret. No result depends on the secret.
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

// The secret of this process. The glue code sets a random one at load, before any table exists; tests choose their own.
inline probe_secret probing = {0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93};

inline void set_probe_secret(std::uint64_t first, std::uint64_t second) noexcept { probing = {first, second | 1}; }

// Multiplies (hash XOR flip) by the factor, and XORs the two halves of the 128-bit product (Yi: wyhash).
inline std::uint64_t first_cell(std::uint64_t hash, const probe_secret& secret = probing) noexcept
{
    const std::uint64_t flipped = hash ^ secret.flip;
    const auto high = static_cast<std::uint64_t>(static_cast<unsigned __int128>(flipped) * secret.factor >> 64);
    return flipped * secret.factor ^ high;
}

// Returns the first entry, from `cell` onwards and around the end of the table, for which ends() is true: the entry
// sought, or a free one. The table has mask + 1 entries, a power of two, of which at least one must be free.
template <typename Ends>
inline std::size_t probe(std::size_t mask, std::uint64_t cell, Ends&& ends) noexcept
{
    assert(std::has_single_bit(mask + 1));
    [[maybe_unused]] const std::size_t first = cell & mask;
    std::size_t at = first;
    while (!ends(at)) {
        at = (at + 1) & mask;
        assert(at != first); // otherwise no entry is free
    }
    return at;
}

} // namespace minhash
