// Counts exactly how many elements rows share. The code is optimized for callers that compare one row with many others,
// then the next row with many others, and so on.
//
// A row's elements are made distinct once, and are then kept in memory for some time, in one of two forms. A row that
// is kept by itself is stored as a list of its elements. A row that is kept by its leader (an earlier row that shares
// many elements with it) is stored as bits, which say which of the leader's elements the row has, and a list of the
// row's other elements. If a row that is not kept has to be compared with a kept row, its elements are looked up in the
// kept row, or in the kept row's leader, while it is read. So the new row gets the same leader at once, and only those
// of its elements that the leader lacks have to be made distinct.
//
// Let two rows of one leader have the sets L - r1 + a1 and L - r2 + a2, where L is the leader's set. They share the
// elements of L whose bits are set in both rows, and the elements that a1 and a2 share. A second set of bits in each
// row, set by hashes of its other elements, gives an upper bound on how many elements a1 and a2 share. So comparing
// copies of one text that differ in a few words costs little more than comparing their bits. If two rows have no common
// leader, the elements of one row are looked up in a table of the other row, until it is certain whether the two rows
// reach the wanted similarity.
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

    // Recently compared rows: a ring of records, and an array of the places where the records of rows begin. Places
    // only grow: the word at a place is ring[place % ring_words].
    std::uint64_t* ring;
    std::size_t ring_words;
    std::uint64_t ring_end; // the place where the next words will be written
    std::uint64_t* places;  // where the record of a row starts, indexed by the lowest bits of the row's number
    std::size_t place_mask;

    distinct_elements loaded;       // the loaded row, in which other rows are looked up
    std::uint32_t loaded_row;       // the number of that row, or no_row
    std::uint64_t loaded_at;        // where the loaded row's record is, if the row is kept by itself; else nowhere
    distinct_elements fresh;        // the row that was read last, without the elements of `loaded` that it has
    distinct_elements others;       // the elements of a row that its leader lacks
    std::uint32_t others_row;       // the number of that row, or no_row
    growing<std::uint64_t> scratch; // memory for listing the elements of a kept row
    growing<std::uint64_t> marked;  // bits that say which elements of `loaded` the row in `fresh` has

    std::uint32_t first; // the rows of the previous call
    std::uint32_t second;
};

// Starts the comparison of rows with numbers below `count`. The kept rows use about `bytes` bytes in total. Additional
// memory is used for the sizes of all rows (four bytes each), and for the two rows that are being compared.
void start_sets(exact_sets& state, host& owner, const element_source& source, std::uint32_t count, std::size_t bytes);

// The Jaccard similarity of two rows if it is at least `least`. Unless `exactly`, the result may be any number that is
// not less than `least`. A call is cheaper if one of its rows was also in the previous call.
std::optional<double> compare(exact_sets& state, std::uint32_t a, std::uint32_t b, double least, bool exactly);

// The minimum number of shared elements with which two sets of these sizes reach the similarity `least`. If they cannot
// reach it, the result is one more than the size of the smaller set.
std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept;

} // namespace minhash::bulk
