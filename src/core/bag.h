// Bags: counts how often each shingle has occurred, to make its i-th occurrence an element of its
// own. Memory is the caller's and bounded: a pass over the text counts the shingles whose hashes
// lie in one range, and when the table overflows, the pass is started again with a larger one, or
// else with half of the range. Occurrences let out more than once do no harm: a signature does not
// feel them (sketch.h).
#pragma once

#include "core/shingle.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

struct bag_entry {
    std::uint64_t shingle;
    std::uint32_t occurrences; // 0: the entry is free
};

struct bag_counter {
    std::span<bag_entry> room;  // a power of two of entries
    std::span<bag_entry> table; // the part in use
    std::size_t used;
    std::uint64_t first; // of the hashes counted in this pass
    std::uint64_t last;  // inclusive
    bool overflowed;     // this pass is void
};

// The number of entries for a text of `text_bytes` bytes: small texts take small tables. No text
// has more shingles than bytes, so only texts of more than two million bytes can overflow theirs.
std::size_t bag_table_size(std::size_t text_bytes) noexcept;

// Prepares the first pass over a text.
void start(bag_counter& state, std::span<bag_entry> room) noexcept;

// Prepares the next pass over the whole text; false if all shingles have been counted.
bool start_next_pass(bag_counter& state) noexcept;

// Turns the shingles of a batch into numbered occurrences, in place, and drops those outside of
// the pass's range.
void number_occurrences(bag_counter& state, shingle_batch& batch) noexcept;

} // namespace minhash
