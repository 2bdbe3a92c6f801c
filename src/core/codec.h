// The bytes of a signature, as stored and sent, and its text form. No input is trusted.
//
// Stored and sent (little-endian; without the varlena header that PostgreSQL puts in front):
//
//     0       1       2       3       4         6         8         16
//     version method  bits    flags   shingle   number    seed      slots of `bits` bits each;
//                                     size      of hashes           none for the empty set
//
// flags: the unit in bits 0 to 3, fold in bit 4, bag in bit 5. Slots of fewer than 32 bits (compress.h) are packed,
// beginning with the lowest bits of the first byte; unused bits of the last byte are zero.
//
// Text: method and version : hashes x bits : unit and size : fold|raw : set|bag : seed : slots. A slot of 32 bits takes
// eight lower-case hexadecimal digits; packed slots take two digits per byte. An example is
// fss1:16x32:char5:fold:set:42:2ab4584d17f93e2c... The text form has no spaces, commas, quotes or braces, so it needs
// no quoting inside arrays and composite values.
#pragma once

#include "core/scheme.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace minhash {

constexpr std::size_t header_bytes = 16;
constexpr std::size_t max_text_prefix = 80; // the text form has at most this many characters before the slots
constexpr std::size_t digits_per_slot = 8;

// The signature of the empty set has no slots. Any other has scheme.num_hashes slots, in one of the two spans.
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

// Makes the signature that has these stored slots or, if there are none, the signature of the empty set. Slots of 32
// bits must be aligned to four bytes.
signature with_slots(const scheme& scheme, std::span<const std::uint8_t> slots) noexcept;

// Writes the header, which has header_bytes bytes. The caller appends the slots.
void encode_header(const scheme& scheme, std::uint8_t* out) noexcept;

// Reads stored or sent bytes, which must be aligned to four bytes. The slots of `out` point into these bytes.
status decode(std::span<const std::uint8_t> stored, signature& out) noexcept;

// write_text() writes the text form without a terminator, and returns its length: at most max_text_prefix characters
// plus two for each byte of slots. write_prefix() writes only the part up to the seed, and returns its length.
std::size_t write_prefix(const scheme& scheme, char* out) noexcept;
std::size_t write_text(const signature& value, char* out) noexcept;

// The outcome of parsing, and the position in the input where it failed.
struct parse_result {
    status what;
    std::size_t position;
};

// Reads the text form. Puts the slots of `out` into `room`, which must hold text.size() / digits_per_slot values.
// Accepts only what write_text() writes, except that hexadecimal digits may also be upper case.
parse_result parse_text(std::string_view text, signature& out, std::uint32_t* room) noexcept;

} // namespace minhash
