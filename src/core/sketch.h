// Makes signatures from hashed shingles. At every moment, a signature under construction is the exact signature of the
// elements absorbed so far. Absorbing an element twice changes nothing.
//
// FSS-4 is Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017; arXiv 1704.04370) cut to four rounds. In
// each round, an element throws one value at one pseudo-random slot, and each slot keeps the smallest pair (round,
// value) that has hit it. A slot that no round has hit gets its own classic MinHash value; this is the guarantee round.
// The stored code of a slot orders pairs first by round and then by value:
//
//     round 0           0, and 31 bits of the value
//     rounds 1 to 3     1, round - 1 in two bits, and 29 bits of the value
//     guarantee         111, and 29 bits of the value
//
// So the signature of a union is the elementwise minimum of the signatures. The share of equal slots estimates the
// Jaccard similarity without bias. If the sets are smaller than the number of slots, the variance is about half that of
// the classic method.
//
// The classic method is that of textbooks (Broder 1997): slot i holds the minimum of hash function i over all elements.
#pragma once

#include "core/hash.h"
#include "core/kernels.h"
#include "core/scheme.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

constexpr std::uint32_t empty_slot = 0xFFFFFFFF;
constexpr std::uint32_t guarantee_code = 0xE0000000;
constexpr std::uint32_t later_round_code = 0x80000000;

struct sketch {
    minhash::method method;
    std::uint32_t num_hashes;
    bool fresh;     // nothing has been absorbed yet
    bool filled;    // FSS-4: every slot holds a value of round 0
    bool repeating; // FSS-4: some slots were still unfilled after a batch, so `seen` is used
    alignas(64) std::uint32_t slots[max_num_hashes + padding];
    std::uint64_t seen[1024]; // recently absorbed elements, each at an index given by its hash
};

// Starts the signature of the empty set: all slots empty.
void start(sketch& self, method method, std::uint32_t num_hashes) noexcept;

// Continues from the slots of a finished signature. It must not be the signature of the empty set.
void resume(sketch& self, method method, std::uint32_t num_hashes, const std::uint32_t* slots) noexcept;

// Adds `count` elements, each given by the two halves of its hash. Both arrays must be readable for `padding` elements
// past their end.
void absorb(sketch& self, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count) noexcept;

// Whether this is the signature of the empty set, because nothing has been absorbed.
bool is_empty(const sketch& self) noexcept;

// Whether all these slots are empty, as in the empty set. (For a sketch, use is_empty().)
bool are_empty(std::span<const std::uint32_t> slots) noexcept;

} // namespace minhash
