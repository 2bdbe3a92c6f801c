// Functions on single code points: decoding UTF-8 from unchecked bytes, encoding it, simple case folding, and finding
// out what part a code point has in words. The tables are frozen at Unicode 15.0.0 for scheme version 1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minhash {

// The part that a code point has in words. unicode_tables.pl writes these values, and says which code points are meant.
enum class word_part : std::uint8_t {
    other = 0,       // letters, marks, and signs: symbols, and # % & * @ and the like
    white_space = 1, // property White_Space
    punctuation = 2, // general categories P*, except signs and dashes; and `
    ignorable = 3,   // property Default_Ignorable_Code_Point
    dash = 4,        // hyphens and other dashes that may stand for a minus sign
    number = 5,      // general categories N* and Sc: what such a minus sign precedes
};

struct unicode_record {
    std::int32_t fold_delta;
    std::uint8_t part;
    std::uint8_t grapheme; // grapheme_part in graphemes.h
};

#include "core/unicode_tables.inc"

inline const unicode_record& unicode_of(char32_t code_point) noexcept
{
    return unicode_records[unicode_blocks[unicode_block_of[code_point >> 7]][code_point & 127]];
}

inline word_part part_of(char32_t code_point) noexcept { return static_cast<word_part>(unicode_of(code_point).part); }

// Simple case folding (statuses C and S in CaseFolding.txt).
inline char32_t fold_case(char32_t code_point) noexcept
{
    return code_point + static_cast<char32_t>(unicode_of(code_point).fold_delta);
}

// A code point, or one byte that does not start a valid sequence. Such a byte counts as a character that folds to
// itself and is not a separator, so that any bytes can be signed.
struct utf8_character {
    char32_t code_point; // invalid_byte if no valid sequence starts here
    std::uint8_t bytes;  // 1 to 4
};

constexpr char32_t invalid_byte = 0xFFFFFFFF;

// Reads the first character of a text of which `available` bytes (at least one) can be read.
inline utf8_character decode_utf8(const std::uint8_t* text, std::size_t available) noexcept
{
    const char32_t first = text[0];
    if (first < 0x80)
        return {first, 1};

    const unsigned length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || available < length)
        return {invalid_byte, 1};

    char32_t code_point = first & (0xFFu >> (length + 1));
    for (unsigned index = 1; index < length; index++) {
        if ((text[index] & 0xC0) != 0x80)
            return {invalid_byte, 1};
        code_point = code_point << 6 | (text[index] & 0x3F);
    }

    constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    if (code_point < smallest[length] || code_point > 0x10FFFF || surrogate)
        return {invalid_byte, 1};
    return {code_point, static_cast<std::uint8_t>(length)};
}

// Writes a code point in UTF-8, and returns how many bytes that took: at most four.
inline std::size_t encode_utf8(char32_t code_point, std::uint8_t* out) noexcept
{
    if (code_point < 0x80) {
        out[0] = static_cast<std::uint8_t>(code_point);
        return 1;
    }
    const unsigned length = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (unsigned index = length - 1; index > 0; index--) {
        out[index] = static_cast<std::uint8_t>(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = static_cast<std::uint8_t>((0xF00u >> length & 0xFF) | code_point);
    return length;
}

// How many of the bytes can be used without cutting a character in two: all of them, or up to three fewer if they end
// with an unfinished sequence.
inline std::size_t whole_characters(const std::uint8_t* text, std::size_t bytes) noexcept
{
    for (std::size_t back = 1; back <= 3 && back <= bytes; back++) {
        const std::uint8_t byte = text[bytes - back];
        if (byte >= 0xC0) {
            const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
            return length > back ? bytes - back : bytes;
        }
        if (byte < 0x80)
            break;
    }
    return bytes;
}

} // namespace minhash
