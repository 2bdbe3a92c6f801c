// Brings a text into the form that is signed: depending on the shingling, case is folded, characters that cannot be
// seen are dropped, and runs of separators become single spaces.
//
// The rule for signs in folded words, in one sentence: symbols and the signs # % & * @ are parts of words as letters
// are, and so is a dash that begins a word and directly precedes a number or a currency sign; all other punctuation
// separates words. (unicode.h: word_part.) So "C++" and "-250" are words, and so is the "<" in "3 < 4", but
// "well-known" is two words. Such a dash is written as "-", whichever dash it is.
#pragma once

#include "core/scheme.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

// The state of folding between two slices.
struct folder {
    shingling how;
    bool started; // something has been written, so later separators become spaces
    bool gap;     // a separator has been read but not written yet

    // Only if words are folded. The last character, apart from those that are dropped, was a dash.
    bool after_dash;
    bool held_dash; // that dash begins a word, and is part of it if a number comes next
};

constexpr folder start_folding(const shingling& how) noexcept { return {how, false, false, false, false}; }

// Whether all bytes are ASCII. ASCII bytes mean the same in every server encoding.
bool is_ascii(std::span<const std::uint8_t> bytes) noexcept;

// The room that fold() needs, in bytes. Folding can make a text longer (U+023A takes two bytes, and its folding U+2C65
// takes three). In addition, a separator and a dash held back from the previous slice come first, and kernels write
// whole vectors.
constexpr std::size_t folded_room(std::size_t bytes) noexcept { return bytes + bytes / 2 + 2 + 64; }

// Writes the folded form of a slice to `out`, which has room for folded_room(bytes) bytes, and returns its length. A
// slice must not end inside a character (unicode.h: whole_characters). The outputs for the slices of a text,
// concatenated, are the output for the whole text. Separators are white space and, if words are folded, also
// punctuation. If the text is folded, ignorable characters are dropped, as if they were not there. At the beginning and
// at the end of the text they are dropped; elsewhere, each run of them is written as one space. If nothing is folded
// and the unit is not the word, the text is copied unchanged.
std::size_t fold(folder& self, const std::uint8_t* text, std::size_t bytes, std::uint8_t* out) noexcept;

// Folds the first character of a slice and appends the result to `out`: nothing for a separator or for a character that
// is dropped, otherwise up to six bytes. Returns how many bytes the character takes in the slice. Call it only for
// shinglings that fold or are of words.
std::size_t fold_character(folder& self, const std::uint8_t* text, std::size_t bytes, std::uint8_t*& out) noexcept;

} // namespace minhash
