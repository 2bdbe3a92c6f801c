// Counts exactly how many elements rows share. It is made for comparing one row with many others, then the next row
// with many others, and so on.
//
// A row's elements are made distinct once, and are then kept while memory lasts. There are two forms. A row that is
// kept by itself is a list of its elements. A row that is kept by its leader, an earlier row that shares much with it,
// has bits that say which of the leader's elements it has, and a list of its other elements. A row that is read to be
// compared with a kept row is looked up in the kept row, or in its leader, while it is read. So it gets that leader at
// once, and only its other elements have to be made distinct.
//
// Let two rows of one leader have the sets L - r1 + a1 and L - r2 + a2, where L is the leader's set. They share the
// elements of L whose bits are set in both rows, and the elements that a1 and a2 share; a second set of bits bounds how
// many those are. So comparing copies of one text that differ in a few words costs little more than comparing these
// words. If two rows have no common leader, the list of the second row is looked up in a table of the first, until it
// is certain whether they reach the wanted similarity.
#pragma once

#include "bulk/sets/distinct_elements.h"

#include "core/overlap.h"

#include <optional>

namespace minhash::bulk {

// Where the elements of rows come from.
struct element_source {
    void* from;
    // Starts the set and adds all elements of a row. Some may come more than once.
    void (*read)(void* from, std::uint32_t row, distinct_elements& set);
};

struct kept_row;

struct exact_sets {
    host* owner;
    element_source source;
    std::uint32_t* sizes; // the size of each row's set, or not_counted

    // Recently met rows: a ring of records, and the places where a row's record may begin.
    std::uint64_t* ring;
    std::size_t ring_words;
    std::uint64_t ring_end; // words written so far
    std::uint64_t* places;  // where a row's record starts, found by the row's lowest bits
    std::size_t place_mask;

    distinct_elements loaded;       // the row in which others are looked up
    std::uint32_t loaded_row;       // its row number, or none
    std::uint64_t loaded_at;        // where its record is, if it is kept by itself
    distinct_elements fresh;        // the row that was read last
    distinct_elements others;       // elements of a row that its leader lacks
    std::uint32_t others_row;       // that row's number, or none
    growing<std::uint64_t> scratch; // memory to list the elements of a row that is kept by its leader
    growing<std::uint64_t> marked;  // bits that say which elements of the loaded row the fresh one has

    std::uint32_t first; // the rows of the previous call
    std::uint32_t second;
};

// Starts for rows with numbers below `count`. Keeps up to `bytes` of sets, besides four bytes for each row, and the two
// rows that are being compared.
void start_sets(exact_sets& state, host& owner, const element_source& source, std::uint32_t count, std::size_t bytes);

// The Jaccard similarity of two rows if it is at least `least`. Unless `exactly`, any number of at least `least` may be
// returned instead. It is cheaper if one of the rows was also in the previous call.
std::optional<double> compare(exact_sets& state, std::uint32_t a, std::uint32_t b, double least, bool exactly);

// The fewest shared elements with which two sets reach a similarity, or one more than both can share if none do.
std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept;

} // namespace minhash::bulk
