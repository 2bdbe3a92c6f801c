// Bags: counts how often each shingle occurs, and turns its i-th occurrence into a separate element. The order of
// occurrences does not matter.
//
// The caller provides the memory for a hash table, which is bounded. If the table overflows, the pass over the text is
// repeated with a larger table or, if there is none, with half of the shingles: those whose cells (probe.h) begin with
// other bits get passes of their own. Then some occurrences may be passed on a second time. This does no harm, because
// absorbing an element twice does not change a signature (sketch.h).
#pragma once

#include "core/shingle.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

struct bag_counter {
    std::span<std::uint32_t> room;
    std::size_t entries; // how many entries the table has, a power of two
    std::size_t used;    // how many of them are used
    int range_bits;      // this pass counts the shingles whose cells begin with these bits
    std::uint64_t range;
    bool overflowed; // this pass must be repeated
};

// How many words of memory are needed for a text of `text_bytes` bytes. A short text needs only a small table. A text
// has no more shingles than bytes, so only a text of more than three million bytes can need passes for several ranges.
std::size_t bag_room(std::size_t text_bytes) noexcept;

// Prepares the first pass over a text.
void start(bag_counter& self, std::span<std::uint32_t> room) noexcept;

// Prepares the next pass over the whole text. Returns false if all shingles have been counted.
bool start_next_pass(bag_counter& self) noexcept;

// Replaces the shingles of a batch that belong to the pass by their numbered occurrences, and drops the others. Returns
// false if the table has overflowed.
bool number_occurrences(bag_counter& self, shingle_batch& batch) noexcept;

} // namespace minhash
