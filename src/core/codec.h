// A signature's bytes, as stored and sent, and its text form. No input is trusted.
//
// Stored and sent (little-endian; the varlena header that PostgreSQL puts in front is not ours):
//
//     0       1       2       3       4         6         8         16
//     version method  bits    flags   shingle   number    seed      slots, of that many bits each;
//                                     size      of hashes           none for the empty set
//
// flags: the unit in bits 0 to 3, fold in bit 4, bag in bit 5. Slots of fewer than 32 bits (compress.h) are packed, the
// first into the lowest bits of the first byte; unused bits of the last byte are zero.
//
// Text: method and version : hashes x bits : unit and size : fold|raw : set|bag : seed : slots. Each slot has eight
// lower-case hexadecimal digits; packed slots have two digits for each byte. An example is
// fss1:16x32:char5:fold:set:42:2ab4584d17f93e2c... (there are no spaces, commas, quotes or braces, so the form needs no
// quoting inside arrays and rows).
#pragma once

#include "core/scheme.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace minhash {

constexpr std::size_t header_bytes = 16;
constexpr std::size_t max_text_prefix = 80; // how long the text form before the slots can be
constexpr std::size_t digits_per_slot = 8;

// The empty set has no slots. Other sets have scheme.num_hashes slots, in one of the two spans.
struct signature {
    minhash::scheme scheme;
    std::span<const std::uint32_t> slots;      // slots of 32 bits
    std::span<const std::uint8_t> packed = {}; // slots of fewer bits, packed

    bool empty() const noexcept { return slots.empty() && packed.empty(); }

    // The slots as they are stored.
    std::span<const std::uint8_t> stored_slots() const noexcept
    {
        return packed.empty() ? std::span(reinterpret_cast<const std::uint8_t*>(slots.data()), slots.size_bytes())
                              : packed;
    }
};

constexpr std::size_t slot_bytes(int bits, std::size_t slots) noexcept
{
    return (slots * static_cast<std::size_t>(bits) + 7) / 8;
}

constexpr std::size_t stored_bytes(std::size_t slots) noexcept
{
    return header_bytes + slot_bytes(bits_per_slot, slots);
}

// The signature that has these stored slots; if there are none, the signature of the empty set. Slots of 32 bits must
// be aligned to four bytes.
signature with_slots(const scheme& scheme, std::span<const std::uint8_t> slots) noexcept;

// Writes the header, which has header_bytes bytes. The caller appends the slots.
void encode_header(const scheme& scheme, std::uint8_t* out) noexcept;

// Reads stored or sent bytes, which must be aligned to four bytes. The slots of `out` point into these bytes.
status decode(std::span<const std::uint8_t> stored, signature& out) noexcept;

// write_text() writes the text form without a terminator, and returns its length: at most max_text_prefix plus two
// characters for each byte of slots. write_prefix() writes only the part before the slots.
std::size_t write_prefix(const scheme& scheme, char* out) noexcept;
std::size_t write_text(const signature& value, char* out) noexcept;

// The outcome of parsing, and the position in the input where it failed.
struct parse_result {
    status what;
    std::size_t position;
};

// Reads the text form. The slots of `out` are written to `room`, which must have room for text.size() / digits_per_slot
// values. Accepts only what write_text() writes, except that digits may be in upper case.
parse_result parse_text(std::string_view text, signature& out, std::uint32_t* room) noexcept;

} // namespace minhash
