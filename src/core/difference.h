// Finds what one text has and another lacks: the parts of the first text's folded form that no shared shingle covers,
// and where these parts lie in the original text.
#pragma once

#include "core/exact.h"
#include "core/fold.h"

#include <cstddef>
#include <cstdint>

namespace minhash {

// --- in the folded text ---------------------------------------------------------------------

// Finds the parts of a text that the shared shingles do not cover. If the unit is the word, each word is covered or
// not, and a space between two covered words is not a difference.
struct coverage {
    unit of;
    std::uint32_t start;   // where the text starts in its buffer
    std::uint32_t end;     // where the text ends
    std::uint32_t covered; // where the last shared shingle ended; before the first, equal to `start`
};

coverage start_coverage(unit of, std::uint32_t start, std::uint32_t end) noexcept;

// Call this for each shared shingle, in text order, and finally for the empty range at the end of the text. Returns
// whether any text between the previous shared shingle and this one is uncovered, and if so, sets `uncovered` to it.
bool cover(coverage& self, const shingle_range& shared, shingle_range& uncovered) noexcept;

// --- in the original text -------------------------------------------------------------------

// A point between two characters of a text: how many bytes and characters lie before it.
struct text_point {
    std::size_t bytes;
    std::size_t characters;
};

struct text_span {
    text_point from;
    text_point to;
};

// Folds a text once more, character by character, to map points in the folded text back to the original text.
struct original_walk {
    folder folding;
    text_point next;         // the end of what has been read
    text_span last;          // the last character that was read, apart from separators
    text_point gap;          // the end of the character before `last`; any separators between the two begin here
    std::uint32_t gap_from;  // where in the folded text the space for these separators is, if there are any
    std::uint32_t last_from; // where in the folded text the character of `last` starts
    std::uint32_t written_to;
    text_point dash; // the start of the last dash that may be a minus sign
};

// `start` is where the folded text starts in its buffer.
original_walk start_original(const shingling& how, std::uint32_t start) noexcept;

// Reads the next character of the original text. `utf8` is that character in UTF-8, where it may be several code
// points; `size` is how many bytes and characters it takes in the encoding of the original text.
void take(original_walk& self, const std::uint8_t* utf8, std::size_t utf8_bytes, const text_point& size) noexcept;

// Whether the walk has reached the point `to` of the folded text.
constexpr bool has_written(const original_walk& self, std::uint32_t to) noexcept { return self.written_to >= to; }

// Where a part of the folded text starts and ends in the original text. Call start_in_original() while the part's first
// byte, and end_in_original() while its last byte, belongs to the character that was written last or to the space
// before it.
text_point start_in_original(const original_walk& self, std::uint32_t from) noexcept;
text_point end_in_original(const original_walk& self, std::uint32_t to) noexcept;

} // namespace minhash
