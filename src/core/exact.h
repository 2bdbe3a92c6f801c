// Exact sets and bags of shingles, compared as strings: for the SQL functions shingles(), shingle_jaccard(),
// shingle_containment(), shingle_difference() and shingle_headline(). The shingles are those of shingle.h, but here the
// whole text is folded before it is cut.
#pragma once

#include "core/kernels.h"
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

// Walks over the shingles of one folded text inside a buffer, in the order of the text. The buffer is padded
// (kernels.h).
struct shingle_walk {
    const std::uint8_t* buffer;
    shingling how;
    std::uint32_t from; // where the last shingle started; before the first shingle, where the text starts
    std::uint32_t to;   // where the last shingle ended; before the first shingle, equal to `from`
    std::uint32_t end;  // where the text ends
    bool started;       // whether there has been a shingle
};

shingle_walk
start_walk(const std::uint8_t* buffer, std::uint32_t from, std::uint32_t end, const shingling& how) noexcept;

constexpr std::size_t most_grouped = 256;

// Some consecutive shingles of a text, and the halves of their hashes (hash.h: hash_bytes; the seed is secret).
struct shingle_group {
    std::size_t count;
    std::uint32_t begin[most_grouped + padding]; // offsets in the buffer
    std::uint32_t end[most_grouped + padding];
    std::uint32_t lo[most_grouped + padding];
    std::uint32_t hi[most_grouped + padding];

    shingle_range at(std::size_t i) const noexcept { return {begin[i], end[i] - begin[i]}; }
};

// Sets `out` to the next shingles; returns false at the end. A text shorter than a window is itself the only shingle.
// An empty text has no shingles. A shingle can be as long as the text, so a group has fewer shingles if they are long.
bool next(shingle_walk& walk, shingle_group& out) noexcept;

// A distinct shingle: its hash, where it was first found, and how often it occurs in each of the two texts.
struct counted_shingle {
    std::uint64_t hash;
    shingle_range first;
    std::uint32_t occurrences[2];
};

// Distinct shingles in the order in which they were found, and a hash table of their numbers. The caller provides the
// memory.
struct shingle_counts {
    const std::uint8_t* buffer;
    bool bag;
    std::span<counted_shingle> entries;
    std::size_t used;               // how many entries there are
    std::span<std::uint32_t> table; // for each cell: 0, or one more than an entry's number; size: a power of two
    overlap sizes;                  // the sizes of the two sets (or bags), and of what they share
};

// The size of the table for this many entries. At least half of its cells stay free.
std::size_t table_size(std::size_t entries) noexcept;

// Whether there is room for this many more distinct shingles. If not, the caller must provide a longer array of
// entries, which begins with the used entries, and a zeroed table. Then the caller must call enter() for all used
// entries, some at a time.
bool has_room(const shingle_counts& counts, std::size_t shingles) noexcept;
void enter(shingle_counts& counts, std::size_t first, std::size_t end) noexcept;

// Counts the occurrences of a group in text 0 or 1. There must be room for all of its shingles.
void count(shingle_counts& counts, const shingle_group& group, int text) noexcept;

// The next two functions take back what count() did with a text, if the other text was counted first: forget() for the
// entries that there were before, and remove() for those that were added. Each can be called for some entries at a
// time. Then the caller sets `used` and `sizes` to what they were before.
void forget(shingle_counts& counts, std::size_t first, std::size_t end, int text) noexcept;
void remove(shingle_counts& counts, std::size_t first, std::size_t end) noexcept;

// The entry of a shingle, which must have been counted.
counted_shingle& entry_of(const shingle_counts& counts, const shingle_group& group, std::size_t i) noexcept;

// Whether the other text shares this occurrence of a shingle. First count both texts; then call this once for each
// occurrence in `text`, in text order. Two bags share as many occurrences of a shingle as there are in the text that
// has it less often. The first occurrences are the shared ones. Each shared occurrence lowers the other text's count.
bool take_shared(shingle_counts& counts, const shingle_group& group, std::size_t i, int text) noexcept;

} // namespace minhash
