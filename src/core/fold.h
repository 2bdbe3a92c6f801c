// Brings a text to the form that is signed: case is folded, and words have at most one space between them.
#pragma once

#include "core/scheme.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

// The state of folding between two slices.
struct folder {
    shingling how;
    bool started; // something was written: from now on separators become spaces
    bool gap;     // a separator has been read but not written yet
};

constexpr folder start_folding(const shingling& how) noexcept { return {how, false, false}; }

// Whether all bytes are ASCII. ASCII bytes mean the same in every server encoding.
bool is_ascii(std::span<const std::uint8_t> bytes) noexcept;

// The room that fold() needs. Folding can make a text longer (U+023A takes two bytes, and its folding U+2C65 takes
// three). In addition, a separator held back from the previous slice may come first, and kernels write whole vectors.
constexpr std::size_t folded_room(std::size_t bytes) noexcept { return bytes + bytes / 2 + 1 + 64; }

// Writes the folded form of a slice to `out`, which has room for folded_room(bytes), and returns its length. Slices
// must not cut a character in two (unicode.h: whole_characters). The outputs of all slices, put together, are the
// output of the whole text. Separators at the ends are never written; separators between words (white space, and also
// punctuation if words are folded) are written as one space. A text of characters without folding is copied unchanged.
std::size_t fold(folder& state, const std::uint8_t* text, std::size_t bytes, std::uint8_t* out) noexcept;

// Folds the first character of a slice and appends the result: nothing for a separator, otherwise up to five bytes.
// Returns how many bytes of the slice the character takes. Only for shinglings that fold, or that consist of words.
std::size_t fold_character(folder& state, const std::uint8_t* text, std::size_t bytes, std::uint8_t*& out) noexcept;

} // namespace minhash
