// Counts exactly how many elements rows share. The code is optimized for callers that compare one row with many others,
// then the next row with many others, and so on.
//
// A row's elements are made distinct once, and are then kept in memory for some time, in one of two forms. "Kept by
// itself" means that the row is stored as a list of its elements. "Kept by its base" means that the row shares many
// elements with an earlier row, its base. Then the row is stored as bits, which say which of the base's elements
// the row has, and a list of the row's other elements. A new row, which is not kept yet, is read when it must be
// compared with a kept row. While the new row is read, its elements are looked up in the kept row's base (or in the
// kept row itself, if it has no base). Only elements that are not found there must be made distinct. If enough are
// found, the new row gets the same base at once.
//
// Let two rows of one base have the sets L - r1 + a1 and L - r2 + a2, where L is the base's set. They share the
// elements of L whose bits are set in both rows, and the elements that a1 and a2 share. Each row has a second set of
// bits, which are chosen by hashes of the row's other elements. These bits give an upper bound on how many elements a1
// and a2 share. So if two copies of a text differ in a few words, comparing them costs little more than comparing their
// bits. If two rows have no common base, the elements of one row are looked up in a table of the other row. This
// stops as soon as it is certain that the two rows do not reach the wanted similarity.
#pragma once

#include "bulk/sets/distinct_elements.h"

#include "core/overlap.h"

#include <optional>

namespace minhash::bulk {

// Where the elements of rows come from.
struct element_source {
    void* from;
    // Starts the set, and adds all elements of a row. Elements may be repeated.
    void (*read)(void* from, std::uint32_t row, distinct_elements& set);
};

struct kept_row;

struct exact_sets {
    host* owner;
    element_source source;
    std::uint32_t* sizes; // the size of each row's set, or not_counted

    // The records of recently compared rows are in a ring. An offset is a position in the ring, but counted on and on
    // without wrapping: the word at an offset is ring[offset % ring_words].
    std::uint64_t* ring;
    std::size_t ring_words;
    std::uint64_t ring_end;        // the offset where the next words will be written
    std::uint64_t* record_offsets; // where the records of rows start, indexed by the lowest bits of the row number
    std::size_t offset_mask;

    distinct_elements loaded;       // the loaded row, in which other rows are looked up
    std::uint32_t loaded_row;       // the number of the loaded row, or no_row
    std::uint64_t loaded_at;        // the offset of the loaded row's record if the row is kept by itself; else nowhere
    distinct_elements incoming;     // the elements of the row that was read last, except those also in `loaded`
    distinct_elements others;       // the elements of one row that its base lacks
    std::uint32_t others_row;       // the number of the row in `others`, or no_row
    growing<std::uint64_t> scratch; // memory for listing the elements of a kept row
    growing<std::uint64_t> marked;  // bits that say which elements of `loaded` the row in `incoming` has

    std::uint32_t first; // the rows of the previous call of compare()
    std::uint32_t second;
};

// Starts the comparison of rows with numbers below `count`. The kept rows use about `bytes` bytes in total. Additional
// memory is used for the sizes of all rows (four bytes each), and for the two rows that are being compared.
void start_sets(exact_sets& self, host& owner, const element_source& source, std::uint32_t count, std::size_t bytes);

// The Jaccard similarity of two rows if it is at least `least`. A call is cheaper if one of its rows was also in the
// previous call.
std::optional<double> compare(exact_sets& self, std::uint32_t a, std::uint32_t b, double least);

// The minimum number of shared elements with which two sets of these sizes reach the similarity `least`. If they cannot
// reach it, the result is one more than the size of the smaller set.
std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept;

} // namespace minhash::bulk
