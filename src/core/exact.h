// Exact sets and bags of shingles, compared as strings: for shingles(), shingle_jaccard() and shingle_containment().
// They are the shingles of shingle.h, but the text is folded as a whole.
#pragma once

#include "core/overlap.h"
#include "core/scheme.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace minhash {

struct shingle_range {
    std::uint32_t offset; // where the shingle starts in the buffer
    std::uint32_t bytes;
};

// Walks over the shingles of one folded text inside a buffer, in the order of the text.
struct shingle_walk {
    const std::uint8_t* buffer;
    shingling how;
    std::uint32_t from; // where the next shingle starts
    std::uint32_t to;   // where the last one ended; `from` before the first
    std::uint32_t end;  // where the text ends
    bool started;
};

shingle_walk
start_walk(const std::uint8_t* buffer, std::uint32_t from, std::uint32_t end, const shingling& how) noexcept;

// The next shingle; false at the end. A text shorter than a window is one shingle, itself, and an empty text has none.
bool next(shingle_walk& walk, shingle_range& out) noexcept;

// A distinct shingle, where it was first met, and how often it occurs in each of two texts.
struct counted_shingle {
    std::uint64_t hash;
    shingle_range first;
    std::uint32_t occurrences[2];
};

// A hash table over the caller's memory: a power of two of zeroed entries.
struct shingle_counts {
    const std::uint8_t* buffer;
    std::span<counted_shingle> table;
    std::size_t used;
};

// Whether one more distinct shingle could overfill the table. Then the caller must move to a larger one.
bool full(const shingle_counts& counts) noexcept;

// Enters the shingles of a part of another table. Tables can be large, so the caller moves and measures them part by
// part.
void move(std::span<const counted_shingle> part, shingle_counts& into) noexcept;

// Counts an occurrence in text 0 or 1 and returns the entry. The table must not be full.
counted_shingle& count(shingle_counts& counts, const shingle_range& shingle, int text) noexcept;

// Whether the other text also has this shingle. Call it after both texts have been counted, once for each occurrence in
// `text`, in text order. In a bag, the texts share as many occurrences as the text with fewer has: the first ones.
bool take_shared(shingle_counts& counts, const shingle_range& shingle, int text, bool bag) noexcept;

// Adds the sizes of a part of the table.
void measure(std::span<const counted_shingle> part, bool bag, overlap& sizes) noexcept;

} // namespace minhash
