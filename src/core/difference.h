// What one text has and another has not: the parts of its folded form that no shingle of both
// covers, and where these lie in the text as it was given.
#pragma once

#include "core/exact.h"
#include "core/folder.h"

#include <cstddef>
#include <cstdint>

namespace minhash {

// --- in the folded text ---------------------------------------------------------------------

// What lies between the shared shingles of a text. The words of a text are covered one by one: a
// space between two that are covered is no difference.
struct coverage {
    unit of;
    std::uint32_t start;   // of the text in its buffer
    std::uint32_t end;     // of the text
    std::uint32_t covered; // by the shared shingles so far
};

coverage start_coverage(unit of, std::uint32_t start, std::uint32_t end) noexcept;

// Takes the next shared shingle, in the order of the text; at last the empty range at its end.
// Says whether something before it is not covered, and what.
bool cover(coverage& state, const shingle_range& shared, shingle_range& uncovered) noexcept;

// --- in the text as it was given ------------------------------------------------------------

// A place between two characters of a text, by what lies before it.
struct text_place {
    std::size_t bytes;
    std::size_t characters;
};

struct text_span {
    text_place from;
    text_place to;
};

// A text that is folded once more, character by character, to see what became of each.
struct original_walk {
    folder folding;
    text_place next;         // behind all that was taken
    text_span last;          // the last character that was written, no separator
    text_place gap;          // the end of the one before it: separators in between begin here
    std::uint32_t gap_from;  // of what was written: the space that stands for these separators,
    std::uint32_t last_from; // if there were some, and the character itself
    std::uint32_t written_to;
};

// `start` is where the folded text starts in its buffer.
original_walk start_original(const shingling& how, std::uint32_t start) noexcept;

// Takes the next character: its form in UTF-8, which may be several code points, and how many bytes
// and characters it is in its own encoding.
void take(original_walk& state,
          const std::uint8_t* utf8,
          std::size_t utf8_bytes,
          const text_place& size) noexcept;

// Whether the folded text was written up to a place.
constexpr bool has_written(const original_walk& state, std::uint32_t to) noexcept
{
    return state.written_to >= to;
}

// Where a part of the folded text starts, and where one ends, in the text as it was given. Its
// first byte, or its last one, must be of the character that was written last.
text_place start_in_original(const original_walk& state, std::uint32_t from) noexcept;
text_place end_in_original(const original_walk& state, std::uint32_t to) noexcept;

} // namespace minhash
