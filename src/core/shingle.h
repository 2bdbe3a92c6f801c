// The shingles of a text, which is folded and cut into shingles slice by slice. The 64-bit hashes of the shingles are
// in two arrays of 32-bit halves (lo, hi), which suits the vector code. The memory needed does not grow with the length
// of the text or of its words.
#pragma once

#include "core/fold.h"
#include "core/hash.h"
#include "core/kernels.h"
#include "core/scheme.h"

#include <cstddef>
#include <cstdint>

namespace minhash {

constexpr std::size_t slice_bytes = 2048;          // bytes of text per step; its arrays stay in the L1 cache
constexpr std::size_t max_held_bytes = 1024;       // enough for 254 characters of four bytes
constexpr std::size_t max_batch = slice_bytes + 2; // one shingle per byte, one for a held separator, one at the end

struct shingle_batch {
    std::size_t count;
    alignas(64) std::uint32_t lo[max_batch + padding];
    alignas(64) std::uint32_t hi[max_batch + padding];
};

struct shingler {
    folder folding;
    std::int64_t seed;
    bool cut_any;           // the text is known not to be shorter than a window
    std::size_t held_bytes; // folded bytes kept from the last step: unfinished windows or words
    std::size_t held_words; // how many word hashes were kept from the last step: fewer than a shingle needs
    bool inside_long_word;  // a word longer than max_held_bytes is being hashed piece by piece
    XXH3_state_t long_word;

    alignas(64) std::uint8_t text[max_held_bytes + folded_room(slice_bytes) + padding];
    std::uint32_t begin[max_held_bytes + slice_bytes + padding]; // where characters or words begin in `text`
    std::uint32_t end[max_held_bytes + slice_bytes + padding];
    alignas(64) std::uint32_t word_lo[max_shingle_size + max_batch + padding];
    alignas(64) std::uint32_t word_hi[max_shingle_size + max_batch + padding];
};

// Starts a text. The shingling must be valid, and its unit must not be `element`.
void start(shingler& self, const shingling& how, std::int64_t seed) noexcept;

// Puts the shingles of the next slice of the text into the batch. A slice has at most slice_bytes bytes, and must not
// end inside a character (unicode.h: whole_characters). The last slice, which may be empty, also yields the shingles of
// what was held. A text shorter than a window is itself the only shingle. A text that folds to nothing has no shingles.
void cut(shingler& self, const std::uint8_t* text, std::size_t bytes, bool last, shingle_batch& batch) noexcept;

} // namespace minhash
