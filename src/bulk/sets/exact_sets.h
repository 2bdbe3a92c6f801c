// Counts exactly how many elements rows share. The code is made for callers that compare one row with many others, then
// the next row with many others, and so on.
//
// A row's elements are made distinct once, and are then kept while memory lasts, in one of two forms. A row that is
// kept by itself is a list of its elements. A row that is kept by its leader (an earlier row that shares much with it)
// has bits that say which of the leader's elements it has, and a list of its other elements. If a row must be read in
// order to compare it with a kept row, it is looked up in the kept row, or in the kept row's leader, while it is read.
// So it gets the same leader at once, and only its other elements have to be made distinct.
//
// Let two rows of one leader have the sets L - r1 + a1 and L - r2 + a2, where L is the leader's set. They share the
// elements of L whose bits are set in both rows, and the elements that a1 and a2 share. A second set of bits in each
// row, set by hashes of its other elements, gives an upper bound on how many elements a1 and a2 share. So comparing
// copies of one text that differ in a few words costs little more than comparing these words. If two rows have no
// common leader, the list of one row is looked up in a table of the other, until it is certain whether they reach the
// wanted similarity.
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

    // Recently met rows: a ring of records, and an array that says where the records of rows begin.
    std::uint64_t* ring;
    std::size_t ring_words;
    std::uint64_t ring_end; // words written so far
    std::uint64_t* places;  // where a row's record starts, found by the row's lowest bits
    std::size_t place_mask;

    distinct_elements loaded;       // the row in which others are looked up
    std::uint32_t loaded_row;       // the number of that row, or no_row
    std::uint64_t loaded_at;        // where that row's record is, if it is kept by itself
    distinct_elements fresh;        // the row that was read last
    distinct_elements others;       // the elements of a row that its leader lacks
    std::uint32_t others_row;       // the number of that row, or no_row
    growing<std::uint64_t> scratch; // memory for the list of elements of a row that is kept by its leader
    growing<std::uint64_t> marked;  // bits that say which elements of `loaded` the row in `fresh` has

    std::uint32_t first; // the rows of the previous call
    std::uint32_t second;
};

// Starts the comparison of rows with numbers below `count`. Keeps sets of up to `bytes` bytes in all. Besides, there
// are four bytes for each row, and the two rows that are being compared.
void start_sets(exact_sets& state, host& owner, const element_source& source, std::uint32_t count, std::size_t bytes);

// The Jaccard similarity of two rows if it is at least `least`. Unless `exactly`, the result may be any number that is
// not less than `least`. A call is cheaper if one of its rows was also in the previous call.
std::optional<double> compare(exact_sets& state, std::uint32_t a, std::uint32_t b, double least, bool exactly);

// The fewest shared elements with which two sets of these sizes reach a similarity; if they cannot, one more than they
// can share.
std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept;

} // namespace minhash::bulk
