// How many elements rows have in common, exactly, for one row after the other against many.
//
// A row's elements are made distinct once, and then kept while memory lasts, in one of two forms.
// By itself: a list. Or by its leader, an earlier row that shares much with it: which of the
// leader's elements it has, as bits, and which others. A row that is read to be compared with one
// that is kept is looked up in that row, or in its leader, while it is read: so it is kept by that
// leader at once, and only its other elements have to be made distinct.
//
// Two rows L - r1 + a1 and L - r2 + a2 of one leader share the bits that both have set, and |a1 and
// a2|, for which bits bound it from above. So copies of one text that differ in a few words cost
// little more than those words. Of two rows that are kept otherwise, the second one's list is
// looked up in a table of the first, until it is certain that they reach the similarity wanted, or
// that they cannot.
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
    std::uint32_t* sizes; // of each row's set, or not_counted

    // Rows that were met lately: a ring of records, and where a row's may begin.
    std::uint64_t* ring;
    std::size_t ring_words;
    std::uint64_t ring_end; // words written so far
    std::uint64_t* places;  // by row: where the record starts
    std::size_t place_mask;

    distinct_elements loaded;       // the row that others are looked up in
    std::uint32_t loaded_row;       // or none
    std::uint64_t loaded_at;        // where its record is, if it is kept by itself
    distinct_elements fresh;        // the row read last
    distinct_elements others;       // of a row, those besides its leader's
    std::uint32_t others_row;       // or none
    growing<std::uint64_t> scratch; // elements of a row that is not kept as a list of them
    growing<std::uint64_t> marked;  // which elements of the loaded row the fresh one has, as bits

    std::uint32_t first; // the rows of the call before
    std::uint32_t second;
};

// For rows below `count`. Keeps up to `bytes` of sets, besides four bytes for each row, and what
// two rows need.
void start_sets(exact_sets& state,
                host& owner,
                const element_source& source,
                std::uint32_t count,
                std::size_t bytes);
void end_sets(exact_sets& state);

// The Jaccard similarity of two rows if it is at least `least`. Unless `exactly`, any number from
// `least` on may stand for the similarity. Cheaper if one of the rows was there in the call before.
std::optional<double>
compare(exact_sets& state, std::uint32_t a, std::uint32_t b, double least, bool exactly);

// The fewest shared elements with which two sets reach a similarity, or one more than both can
// share if none do.
std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept;

} // namespace minhash::bulk
