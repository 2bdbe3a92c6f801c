// Bags: counts how often each shingle occurs, and turns its i-th occurrence into a separate element. The order of
// occurrences does not matter. So the shingles of a text with many distinct ones can be divided into parts, as in radix
// joins (Boncz, Manegold, Kersten, VLDB 1999). The shingles of a part wait until there are many of them. Then they are
// counted in that part's table while the table is in the cache.
//
// The caller provides the memory, which is bounded. A pass over the text counts the shingles whose cells (probe.h) lie
// in one range of values. When a table overflows, the pass is repeated with a larger table, with parts, or with half of
// the range. Then some occurrences may be passed on a second time. This does no harm, because absorbing an element
// twice does not change a signature (sketch.h).
#pragma once

#include "core/shingle.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

constexpr std::size_t bag_parts = 64;

struct bag_counter {
    std::span<std::uint32_t> room;
    std::uint32_t* tables;    // the tables of all parts, one after the other
    std::size_t entries;      // how many entries each table has, a power of two
    std::uint32_t* waiting;   // the waiting shingles of each part, two words per shingle
    std::size_t most_waiting; // how many shingles may wait in each part
    std::size_t parts;        // 1 or bag_parts

    std::uint64_t first;  // the lowest cell that is counted in this pass
    std::uint64_t factor; // (cell - first) * factor >> 64 is the part
    std::size_t shingles; // how many shingles this pass has received
    bool overflowed;      // this pass must be repeated

    std::size_t part;    // the part to be counted next
    std::size_t counted; // how many of the part's waiting shingles have been counted
    std::uint32_t waits[bag_parts];
    std::uint32_t used[bag_parts];
    std::uint32_t few_waiting[2 * max_batch]; // used as `waiting` if there is only one part
};

// How many words of memory are needed for a text of `text_bytes` bytes. A short text needs only a small table. A text
// has no more shingles than bytes, so only a text of more than three million bytes can need passes for several ranges.
std::size_t bag_room(std::size_t text_bytes) noexcept;

// Prepares the first pass over a text.
void start(bag_counter& self, std::span<std::uint32_t> room) noexcept;

// Prepares the next pass over the whole text. Returns false if all shingles have been counted.
bool start_next_pass(bag_counter& self) noexcept;

// Sets aside those shingles of a batch whose cells lie in the pass's range. Before the next batch, call
// number_occurrences() until it returns false.
void set_aside(bag_counter& self, const shingle_batch& batch) noexcept;

// Makes a batch of numbered occurrences from shingles that were set aside. Before the text is `complete`, only parts in
// which many shingles wait are used. Returns false if no shingles are left to use, or if a table has overflowed.
bool number_occurrences(bag_counter& self, bool complete, shingle_batch& batch) noexcept;

// Counts a batch of shingles. Calls take(const shingle_batch&) for batches of numbered occurrences. These batches are
// made in `batch`, and overwrite its shingles. They may contain occurrences of shingles from earlier calls.
template <typename Take>
void each_occurrence(bag_counter& self, bool complete, shingle_batch& batch, Take&& take)
{
    set_aside(self, batch);
    while (number_occurrences(self, complete, batch))
        take(batch);
}

} // namespace minhash
