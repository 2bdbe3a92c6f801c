#include "core/compress.h"
#include "core/hash.h"
#include "core/kernels.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

namespace minhash {

namespace {

void put(std::uint8_t* packed, int bits, std::size_t slot, std::uint32_t number) noexcept
{
    if (bits == 16) {
        std::memcpy(packed + slot * 2, &number, 2);
    } else {
        const std::size_t bit = slot * static_cast<std::size_t>(bits);
        packed[bit / 8] = static_cast<std::uint8_t>(packed[bit / 8] | number << bit % 8);
    }
}

} // namespace

void compress(const signature& value, int bits, std::uint8_t* packed) noexcept
{
    assert(!value.empty() && valid_bits(bits) && bits < value.scheme.bits);
    if (bits == 8 && value.scheme.bits == bits_per_slot) {
        kernels->compress_slots(value.slots.data(), value.scheme.num_hashes, packed);
        return;
    }
    if (bits == 4 && value.scheme.bits == bits_per_slot && value.scheme.num_hashes % 2 == 0) {
        alignas(64) std::uint8_t wide[max_num_hashes];
        kernels->compress_slots(value.slots.data(), value.scheme.num_hashes, wide);
        for (std::size_t pair = 0; pair < value.scheme.num_hashes / std::size_t{2}; pair++)
            packed[pair] = static_cast<std::uint8_t>(wide[2 * pair] >> 4 | (wide[2 * pair + 1] & 0xF0));
        return;
    }
    std::memset(packed, 0, slot_bytes(bits, value.scheme.num_hashes));
    for (std::size_t slot = 0; slot < value.scheme.num_hashes; slot++) {
        const std::uint32_t number = slot_of(value, slot);
        const std::uint32_t kept = value.scheme.bits == bits_per_slot
                                       ? number * compress_factor >> (bits_per_slot - bits)
                                       : number >> (value.scheme.bits - bits);
        put(packed, bits, slot, kept);
    }
}

std::uint32_t slot_of(const signature& value, std::size_t slot) noexcept
{
    assert(!value.empty() && slot < value.scheme.num_hashes);
    const int bits = value.scheme.bits;
    if (bits == bits_per_slot)
        return value.slots[slot];
    if (bits == 16)
        return value.packed[slot * 2] | static_cast<std::uint32_t>(value.packed[slot * 2 + 1]) << 8;
    const std::size_t bit = slot * static_cast<std::size_t>(bits);
    return value.packed[bit / 8] >> bit % 8 & ((1u << bits) - 1);
}

std::uint32_t count_equal(const scheme& scheme, const void* a, const void* b) noexcept
{
    if (scheme.bits == bits_per_slot)
        return kernels->count_equal(static_cast<const std::uint32_t*>(a),
                                    static_cast<const std::uint32_t*>(b),
                                    scheme.num_hashes);
    return scheme.num_hashes - kernels->count_different(static_cast<const std::uint8_t*>(a),
                                                        static_cast<const std::uint8_t*>(b),
                                                        scheme.num_hashes,
                                                        scheme.bits);
}

void count_agreements(const std::uint8_t* copies,
                      std::size_t stride,
                      std::size_t count,
                      const std::uint8_t* query,
                      std::uint32_t slots,
                      std::uint16_t* agreements) noexcept
{
    assert((slots <= stride || count <= 1) && slots <= max_num_hashes);
    kernels->count_agreements(copies, stride, count, query, slots, agreements);
}

double similarity_of(const scheme& scheme, std::uint32_t equal) noexcept
{
    assert(equal <= scheme.num_hashes);
    const double share = static_cast<double>(equal) / scheme.num_hashes;
    if (scheme.bits == bits_per_slot)
        return share;
    const double accident = std::ldexp(1.0, -scheme.bits);
    return std::max(0.0, (share - accident) / (1 - accident));
}

std::uint32_t least_equal_slots(const scheme& scheme, double similarity) noexcept
{
    assert(similarity >= 0 && similarity <= 1);
    std::uint32_t equal = static_cast<std::uint32_t>(std::max(0.0, similarity * scheme.num_hashes - 1));
    while (equal < scheme.num_hashes && similarity_of(scheme, equal) < similarity)
        equal++;
    return equal;
}

} // namespace minhash
