// Signatures with fewer bits per slot (Li and Koenig, "b-Bit Minwise Hashing", WWW 2010). To compress a slot to b bits,
// the highest b bits of slot * 0x9E3779B1 are kept. Bits of the slot itself would not do: the lowest bits of slots made
// by multiplication are not independent from slot to slot, and the highest bits of FSS-4 slots encode the round.
//
// Two different slots become equal by chance with probability 2^-b. So if a share P of the compressed slots is equal,
// the similarity is estimated as (P - 2^-b) / (1 - 2^-b). At 8 bits, the loss of accuracy is too small to measure.
// Compressed signatures have no union, because it is no longer known which of two slots was smaller.
#pragma once

#include "core/codec.h"

namespace minhash {

// Packs the slots of a signature into slot_bytes(bits, num_hashes) bytes. The signature must not be empty, and its
// slots must have more than `bits` bits. Compressing in two steps gives the same result as in one.
void compress(const signature& value, int bits, std::uint8_t* packed) noexcept;

// The value of one slot, whatever the number of bits per slot. The signature must not be empty.
std::uint32_t slot_of(const signature& value, std::size_t slot) noexcept;

// The number of equal slots of two signatures of the same scheme; `a` and `b` are their slots as they are stored.
std::uint32_t count_equal(const scheme& scheme, const void* a, const void* b) noexcept;

// For each of `count` signatures with 8 bits per slot, counts how many of its first `slots` slots equal those of
// `query`. The signatures start at `copies`, `stride` bytes apart.
void count_agreements(const std::uint8_t* copies,
                      std::size_t stride,
                      std::size_t count,
                      const std::uint8_t* query,
                      std::uint32_t slots,
                      std::uint16_t* agreements) noexcept;

// The similarity estimated from `equal` equal slots: their share, corrected for slots that agree by chance.
double similarity_of(const scheme& scheme, std::uint32_t equal) noexcept;

// The least number of equal slots from which this similarity, 0 to 1, is estimated, or all slots if none is enough.
std::uint32_t least_equal_slots(const scheme& scheme, double similarity) noexcept;

} // namespace minhash
