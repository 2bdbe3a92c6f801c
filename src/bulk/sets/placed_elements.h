// Small sets of elements in a form that vectors compare. An element's place is a hash of it, whose
// upper bits choose a group of four entries, and whose lower 32 bits are entered there. So two
// different elements pass for one if they share a group and these bits: in a pair of sets of 256
// elements with a probability of about one in eight million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash::bulk {

// The most elements of a set in this form.
constexpr std::size_t most_placed_elements = 256;

struct placed_elements {
    const std::uint64_t* words; // the groups, and then the places that found theirs full
    std::uint32_t groups;       // a power of two
    std::uint32_t surplus;      // few, as places depend on a secret
};

// The words of a set of a number of elements, at most.
std::size_t most_placed_words(std::size_t elements) noexcept;

// Places distinct elements in these words.
placed_elements place_elements(std::span<const std::uint64_t> elements,
                               std::uint64_t* words) noexcept;

// The words that a set takes.
std::size_t placed_words(const placed_elements& set) noexcept;

// How many elements two sets share.
std::size_t count_common(const placed_elements& a, const placed_elements& b) noexcept;

} // namespace minhash::bulk
