// Signatures with fewer bits per slot (Li and Koenig, "b-Bit Minwise Hashing", WWW 2010). A slot of b bits has the
// highest b bits of slot * 0x9E3779B1. The bits of the slot itself are not good enough: the lowest bits of slots made
// by multiplication are not independent from slot to slot, and the highest bits of FSS-4 slots encode the round.
//
// Different slots agree by chance with probability 2^-b. So if a share P of slots is equal, the similarity is (P -
// 2^-b) / (1 - 2^-b). At 8 bits the loss of accuracy is too small to measure. Compressed signatures have no union,
// because the smaller of two slots is not known any more.
#pragma once

#include "core/codec.h"

namespace minhash {

// Packs the slots of a signature into slot_bytes(bits, num_hashes) bytes. The signature must not be empty, and its
// slots must have more than `bits` bits. Compressing in two steps gives the same result as in one.
void compress(const signature& value, int bits, std::uint8_t* packed) noexcept;

// The value of one slot, whatever its number of bits. The signature must not be empty.
std::uint32_t slot_of(const signature& value, std::size_t slot) noexcept;

// The number of equal slots of two signatures of one scheme; `a` and `b` are their slots as they are stored.
std::uint32_t count_equal(const scheme& scheme, const void* a, const void* b) noexcept;

// Counts, for each of `count` signatures of 8 bits per slot, how many of the first `slots` slots equal the slots of
// `query`. The signatures start at `copies`, `stride` bytes apart.
void count_agreements(const std::uint8_t* copies,
                      std::size_t stride,
                      std::size_t count,
                      const std::uint8_t* query,
                      std::uint32_t slots,
                      std::uint16_t* agreements) noexcept;

// The similarity that follows from `equal` equal slots: their share, corrected for slots that agree by chance.
double similarity_of(const scheme& scheme, std::uint32_t equal) noexcept;

} // namespace minhash
