// Exact sets and bags of shingles, compared as strings: for shingles(), shingle_jaccard() and shingle_containment().
// The shingles are those of shingle.h, but here the whole text is folded before it is cut.
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
    std::uint32_t to;   // where the last shingle ended; equal to `from` before the first
    std::uint32_t end;  // where the text ends
    bool started;
};

shingle_walk
start_walk(const std::uint8_t* buffer, std::uint32_t from, std::uint32_t end, const shingling& how) noexcept;

// The next shingle; false at the end. A text shorter than a window is itself the only shingle. An empty text has none.
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

// Enters the shingles of one part of another table. Tables can be large, so the caller calls move() and measure() for
// one part after the other.
void move(std::span<const counted_shingle> part, shingle_counts& into) noexcept;

// Counts an occurrence in text 0 or 1 and returns the entry. The table must not be full.
counted_shingle& count(shingle_counts& counts, const shingle_range& shingle, int text) noexcept;

// Whether the other text also has this shingle. Call it after both texts have been counted, once for each occurrence in
// `text`, in text order. In bags, a shingle is shared as often as it occurs in the text that has it less often, and the
// first occurrences are the shared ones.
bool take_shared(shingle_counts& counts, const shingle_range& shingle, int text, bool bag) noexcept;

// Adds the distinct shingles (or for bags, all occurrences) in one part of the table to the sizes.
void measure(std::span<const counted_shingle> part, bool bag, overlap& sizes) noexcept;

} // namespace minhash
