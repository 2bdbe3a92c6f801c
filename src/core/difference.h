// What one text has and another lacks: the parts of its folded form that no shared shingle covers, and where they lie
// in the original text.
#pragma once

#include "core/exact.h"
#include "core/fold.h"

#include <cstddef>
#include <cstdint>

namespace minhash {

// --- in the folded text ---------------------------------------------------------------------

// Finds the parts of a text that the shared shingles do not cover. Words are covered one by one: a space between two
// covered words is not a difference.
struct coverage {
    unit of;
    std::uint32_t start;   // where the text starts in its buffer
    std::uint32_t end;     // where the text ends
    std::uint32_t covered; // how far the shared shingles have covered it
};

coverage start_coverage(unit of, std::uint32_t start, std::uint32_t end) noexcept;

// Call it for each shared shingle, in text order, and finally for the empty range at the end of the text. Returns
// whether text before this shingle is uncovered, and if so, sets `uncovered` to it.
bool cover(coverage& state, const shingle_range& shared, shingle_range& uncovered) noexcept;

// --- in the original text -------------------------------------------------------------------

// A place between two characters of a text: how many bytes and characters lie before it.
struct text_place {
    std::size_t bytes;
    std::size_t characters;
};

struct text_span {
    text_place from;
    text_place to;
};

// Folds a text once more, character by character, to map places of the folded text to the original.
struct original_walk {
    folder folding;
    text_place next;         // the end of what has been read
    text_span last;          // the last non-separator character that was written
    text_place gap;          // the end of the character before `last`; any separators between the two begin here
    std::uint32_t gap_from;  // where the folded text has the space for these separators, if there are any
    std::uint32_t last_from; // where the folded text has the character of `last`
    std::uint32_t written_to;
};

// `start` is where the folded text starts in its buffer.
original_walk start_original(const shingling& how, std::uint32_t start) noexcept;

// Reads the next character. `utf8` is the character in UTF-8, possibly several code points; `size` is its length in the
// original text, in bytes and in characters.
void take(original_walk& state, const std::uint8_t* utf8, std::size_t utf8_bytes, const text_place& size) noexcept;

// Whether the walk has reached a place of the folded text.
constexpr bool has_written(const original_walk& state, std::uint32_t to) noexcept { return state.written_to >= to; }

// Where a part of the folded text starts, and where it ends, in the original text. Call each of these when the part's
// start or end lies within the character that was written last, or in the space before it.
text_place start_in_original(const original_walk& state, std::uint32_t from) noexcept;
text_place end_in_original(const original_walk& state, std::uint32_t to) noexcept;

} // namespace minhash
