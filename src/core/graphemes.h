// Extended grapheme clusters, which are characters as people see them: a letter with its combining marks, an emoji
// sequence, a Hangul syllable. The rules are those of Unicode Standard Annex #29, section 3.1.1, with the tables of
// unicode.h.
#pragma once

#include "core/unicode.h"

#include <span>

namespace minhash {

// unicode_tables.pl writes these values.
enum class grapheme_part : std::uint8_t {
    other,
    control,
    carriage_return,
    line_feed,
    extend,
    joiner,
    spacing_mark,
    prepend,
    regional_indicator,
    hangul_l,
    hangul_v,
    hangul_t,
    hangul_lv,
    hangul_lvt,
    pictographic,
};

// What must be known of the code points before a point to say whether a cluster ends there.
struct grapheme_state {
    grapheme_part last; // of the last code point
    bool any;           // there is a last code point
    bool pictograph;    // the text ends with a pictograph and marks that extend it, perhaps with a joiner after them
    bool odd_indicator; // the text ends with an odd number of regional indicators: with half of a flag
};

constexpr grapheme_state start_graphemes() noexcept { return {grapheme_part::other, false, false, false}; }

// Reads the next code point, or invalid_byte. Returns whether a cluster begins with it.
inline bool begins_grapheme(grapheme_state& self, char32_t code_point) noexcept
{
    using enum grapheme_part;
    const grapheme_part next =
        code_point == invalid_byte ? other : static_cast<grapheme_part>(unicode_of(code_point).grapheme);
    const grapheme_part last = self.last;
    const auto breaks_always = [](grapheme_part part) {
        return part == control || part == carriage_return || part == line_feed;
    };
    bool joins;
    if (!self.any)
        joins = false;
    else if (breaks_always(last) || breaks_always(next))
        joins = last == carriage_return && next == line_feed;
    else if (next == extend || next == joiner || next == spacing_mark || last == prepend)
        joins = true;
    else if (last == hangul_l)
        joins = next == hangul_l || next == hangul_v || next == hangul_lv || next == hangul_lvt;
    else if (last == hangul_lv || last == hangul_v)
        joins = next == hangul_v || next == hangul_t;
    else if (last == hangul_lvt || last == hangul_t)
        joins = next == hangul_t;
    else if (last == joiner)
        joins = self.pictograph && next == pictographic;
    else
        joins = self.odd_indicator && next == regional_indicator;

    const bool extends = (next == extend || next == joiner) && last != joiner;
    self = {next,
            true,
            next == pictographic || (self.pictograph && extends),
            next == regional_indicator && !self.odd_indicator};
    return !joins;
}

// The same for a character of another encoding, which may be several code points in UTF-8.
inline bool begins_grapheme(grapheme_state& self, std::span<const std::uint8_t> character) noexcept
{
    bool begins = false;
    for (std::size_t at = 0; at < character.size();) {
        const utf8_character read = decode_utf8(character.data() + at, character.size() - at);
        const bool joins = !begins_grapheme(self, read.code_point);
        begins |= at == 0 && !joins;
        at += read.bytes;
    }
    return begins;
}

} // namespace minhash
