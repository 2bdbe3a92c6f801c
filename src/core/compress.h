// Signatures of fewer bits per slot (Li and Koenig, "b-Bit Minwise Hashing", WWW 2010). A slot of b
// bits is the top b of slot * 0x9E3779B1: the lowest bits of slots made by multiplication are not
// independent from slot to slot, and the highest of FSS-4 say the round.
//
// Different slots agree by accident with probability 2^-b, so of P, the share of equal slots, the
// similarity is (P - 2^-b) / (1 - 2^-b). At 8 bits that costs nothing that could be measured. A
// union cannot be had, as the smaller of two slots is not known any more.
#pragma once

#include "core/codec.h"

namespace minhash {

// Packs the slots of a signature that is not empty, of more bits, into slot_bytes(bits, num_hashes)
// bytes. From a compressed signature comes the same as from the whole one.
void compress(const signature& value, int bits, std::uint8_t* packed) noexcept;

// The number of a slot, of any signature that is not empty.
std::uint32_t slot_of(const signature& value, std::size_t slot) noexcept;

// The number of equal slots of two signatures of one scheme, both as they are stored.
std::uint32_t count_equal(const scheme& scheme, const void* a, const void* b) noexcept;

// The same of the first `slots` slots of many against one, of 8 bits a slot: `copies` starts with
// the first of `count`, each `stride` bytes after the last.
void count_agreements(const std::uint8_t* copies,
                      std::size_t stride,
                      std::size_t count,
                      const std::uint8_t* query,
                      std::uint32_t slots,
                      std::uint16_t* agreements) noexcept;

// The similarity that `equal` equal slots stand for: their share, without agreement by accident.
double similarity_of(const scheme& scheme, std::uint32_t equal) noexcept;

} // namespace minhash
