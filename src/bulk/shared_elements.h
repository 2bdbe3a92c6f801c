// How many elements two sets share, exactly: the elements are the 64-bit hashes that signatures are
// made from, so two different shingles of a pair of texts of a million characters pass for one with
// a probability of one in ten million. One set can be compared with many, one after the other.
#pragma once

#include "core/overlap.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash::bulk {

constexpr std::size_t no_overflow = SIZE_MAX;

struct shared_elements {
    std::span<std::uint64_t> table; // a power of two of entries; 0 is free
    std::uint8_t* marks;            // one for each entry: whether the second set has it
    std::uint32_t* second_entries;  // where the second set's elements are; room for all, and one
    std::size_t room;               // for so many elements; no_overflow: for all there can be
    std::size_t first;              // distinct elements
    std::size_t second;
    std::size_t shared;
    bool overflowed; // an addition could have been too much: the caller starts anew with more room
};

// Entries for two sets of at most so many different elements together.
constexpr std::size_t element_table_size(std::size_t elements) noexcept
{
    return std::bit_ceil(elements + elements / 2 + 2);
}

// Starts a first set. The caller has cleared the table, which can be large, to zeros.
void start_first(shared_elements& state) noexcept;

// Forgets elements of the second set, so that another can come: at most so many in one call, true
// if that was the last of them.
bool forget_second(shared_elements& state, std::size_t most) noexcept;

// Adds elements, given by the halves of their hashes. The first set must be complete before the
// second one starts.
void add_first(shared_elements& state,
               const std::uint32_t* lo,
               const std::uint32_t* hi,
               std::size_t count) noexcept;
void add_second(shared_elements& state,
                const std::uint32_t* lo,
                const std::uint32_t* hi,
                std::size_t count) noexcept;

overlap sizes_of(const shared_elements& state) noexcept;

} // namespace minhash::bulk
