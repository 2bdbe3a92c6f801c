// Where texts lie in a ring of bytes, in which later ones take the place of the oldest. Places
// depend on nothing but the texts placed before. So who sends texts to a worker knows, by a ring
// without bytes, which of them the worker still has.
#pragma once

#include "bulk/host.h"

#include <bit>
#include <cassert>

namespace minhash::bulk {

struct text_place {
    std::uint64_t offset; // of all bytes ever placed
    std::uint32_t row;
    std::uint32_t bytes;
};

struct text_ring {
    std::uint64_t size;
    std::uint64_t end;
    text_place* places; // by row; of two rows with one place the later is known
    std::size_t mask;
};

// The most bytes of a text that is placed.
inline std::size_t most_placed(const text_ring& ring)
{
    return ring.size / 8;
}

inline void start_ring(text_ring& ring, host& owner, std::size_t bytes)
{
    constexpr std::size_t bytes_per_place = 128;
    const std::size_t places = std::bit_ceil(bytes / bytes_per_place + 1);
    ring = {bytes, 0, allocate<text_place>(owner, places), places - 1};
    for (std::size_t i = 0; i < places; i++)
        ring.places[i] = {0, 0xFFFFFFFF, 0};
}

// The place of a row's text, or null.
inline const text_place* find_text(const text_ring& ring, std::uint32_t row)
{
    const text_place& place = ring.places[row & ring.mask];
    return place.row == row && ring.end - place.offset <= ring.size ? &place : nullptr;
}

// Whether a row's text will still be there when two more have been placed.
inline bool lasts(const text_ring& ring, std::uint32_t row)
{
    const text_place* const place = find_text(ring, row);
    return place != nullptr && ring.end - place->offset <= ring.size / 2;
}

// Places a text of at most most_placed() bytes. Returns where in the ring.
inline std::size_t place_text(text_ring& ring, std::uint32_t row, std::size_t bytes)
{
    assert(bytes <= most_placed(ring));
    const std::size_t left = ring.size - ring.end % ring.size;
    if (left < bytes)
        ring.end += left;
    const std::uint64_t offset = ring.end;
    ring.end += bytes;
    ring.places[row & ring.mask] = {offset, row, static_cast<std::uint32_t>(bytes)};
    return offset % ring.size;
}

} // namespace minhash::bulk
