// A signature's bytes, as stored and sent, and its text form. Nothing that is read is trusted.
//
// Stored and sent (little-endian; the varlena header that PostgreSQL puts in front is not ours):
//
//     0       1       2       3       4         6         8         16
//     version method  bits    flags   shingle   number    seed      slots, four bytes each;
//                                     size      of hashes           none for the empty set
//
// flags: the unit in bits 0 to 3, fold in bit 4, bag in bit 5.
//
// Text: method and version : hashes x bits : unit and size : fold|raw : set|bag : seed : slots,
// each slot as eight lower-case hexadecimal digits, for instance
// fss1:16x32:char5:fold:set:42:2ab4584d17f93e2c... (no spaces, commas, quotes or braces: the form
// needs no quoting inside arrays and rows).
#pragma once

#include "core/scheme.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace minhash {

constexpr std::size_t header_bytes = 16;
constexpr std::size_t max_text_prefix = 80; // all of the text form but the slots
constexpr std::size_t digits_per_slot = 8;

struct signature {
    scheme made;
    std::span<const std::uint32_t> slots; // none for the empty set, else made.num_hashes

    bool empty() const noexcept
    {
        return slots.empty();
    }
};

constexpr std::size_t stored_bytes(std::size_t slots) noexcept
{
    return header_bytes + slots * sizeof(std::uint32_t);
}

// Writes header_bytes bytes. The slots go behind them as they are.
void encode_header(const scheme& made, std::uint8_t* out) noexcept;

// Reads stored or sent bytes, aligned to four. The slots of `out` point into them.
status decode(std::span<const std::uint8_t> stored, signature& out) noexcept;

// Whether two signatures may be compared: all of their schemes is equal.
bool comparable(const signature& a, const signature& b) noexcept;

// Writes the text form (at most max_text_prefix + slots * digits_per_slot characters, no
// terminator) and returns its length. write_prefix stops before the slots.
std::size_t write_prefix(const scheme& made, char* out) noexcept;
std::size_t write_text(const signature& value, char* out) noexcept;

// Reads the text form. `slots` has room for text.size() / digits_per_slot values; `slot_count` of
// them are written. Accepts exactly what write_text writes, and upper-case digits.
parse_result parse_text(std::string_view text,
                        scheme& made,
                        std::uint32_t* slots,
                        std::size_t& slot_count) noexcept;

} // namespace minhash
