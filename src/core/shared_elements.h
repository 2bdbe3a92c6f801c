// How many elements two sets share, exactly: the elements are the 64-bit hashes that signatures are
// made from, so two different shingles of a pair of texts of a million characters pass for one with
// a probability of one in ten million. One set can be compared with many, one after the other.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

struct shared_elements {
    std::span<std::uint64_t> table; // a power of two of entries; 0 is free
    std::uint8_t* marks;            // one for each entry: whether the second set has it
    std::uint32_t* second_entries;  // where the second set's elements are; room for all, and one
    std::size_t first;              // distinct elements
    std::size_t second;
    std::size_t shared;
};

// Entries for two sets of at most so many elements together.
constexpr std::size_t element_table_size(std::size_t elements) noexcept
{
    return std::bit_ceil(elements + elements / 2 + 2);
}

// Empties a table for a new first set.
void start_first(shared_elements& state) noexcept;

// Forgets the second set for another one.
void start_second(shared_elements& state) noexcept;

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

// Shared over all; 0 if both sets are empty.
double exact_jaccard(const shared_elements& state) noexcept;

} // namespace minhash
