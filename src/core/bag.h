// Bags: counts how often each shingle has occurred, to make its i-th occurrence an element of its
// own. The order of occurrences does not matter. So a text with many different shingles is counted
// in parts, as in radix joins (Boncz, Manegold, Kersten, VLDB 1999): shingles wait until their part
// has many. Then they are counted in a table that stays in the cache meanwhile.
//
// Memory is the caller's and bounded: a pass over the text counts the shingles whose places
// (probe.h) lie in one range, and when a table overflows, the pass is started again with a larger
// one, with parts, or else with half of the range. Occurrences let out more than once do no harm: a
// signature does not feel them (sketch.h).
#pragma once

#include "core/shingle.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

constexpr std::size_t bag_parts = 64;

struct bag_counter {
    std::span<std::uint32_t> room;
    std::uint32_t* tables;    // of all parts, one after the other
    std::size_t entries;      // of each table, a power of two
    std::uint32_t* waiting;   // shingles of each part, as two words each
    std::size_t most_waiting; // of a part
    std::size_t parts;        // 1 or bag_parts

    std::uint64_t first;  // place that is counted in this pass
    std::uint64_t factor; // (place - first) * factor >> 64 is the part
    std::size_t shingles; // that came in this pass
    bool overflowed;      // this pass is void

    std::size_t part;    // that is looked at next
    std::size_t counted; // of its waiting shingles
    std::uint32_t waits[bag_parts];
    std::uint32_t used[bag_parts];
    std::uint32_t few_waiting[2 * max_batch]; // where there is one part only
};

// The room, in words, for a text of `text_bytes` bytes: small texts take small tables. No text has
// more shingles than bytes, so only texts of more than three million bytes can overflow theirs.
std::size_t bag_room(std::size_t text_bytes) noexcept;

// Prepares the first pass over a text.
void start(bag_counter& state, std::span<std::uint32_t> room) noexcept;

// Prepares the next pass over the whole text; false if all shingles have been counted.
bool start_next_pass(bag_counter& state) noexcept;

// Takes the shingles of a batch that lie in the pass's range. Before the next batch,
// number_occurrences() must have returned false.
void set_aside(bag_counter& state, const shingle_batch& batch) noexcept;

// Makes a batch of numbered occurrences of shingles that were set aside: of parts where many wait,
// or once the text is `complete`, of all. False if there are no more, or the table overflowed.
bool number_occurrences(bag_counter& state, bool complete, shingle_batch& batch) noexcept;

// Counts a batch of shingles, and calls take(const shingle_batch&) for numbered occurrences of
// these or earlier ones, which are written over the batch.
template <typename Take>
void each_occurrence(bag_counter& state, bool complete, shingle_batch& batch, Take&& take)
{
    set_aside(state, batch);
    while (number_occurrences(state, complete, batch))
        take(batch);
}

} // namespace minhash
