// How many elements rows have in common, exactly, for one row after the other against many.
//
// Elements are the 64-bit hashes that signatures are made from, so two different shingles of a pair
// of texts of a million characters pass for one with a probability of one in ten million.
//
// A row's elements are made distinct once, and then kept while memory lasts, in one of two forms.
// By itself: a list, of which the second of two rows is looked up in a table of the first, until it
// is certain that the rows reach the similarity wanted, or that they cannot. Or by its leader, an
// earlier row that it is near to: which of the leader's elements it has, as bits, and which others.
// Two rows L - r1 + a1 and L - r2 + a2 of one leader share the bits that both have set, and |a1 and
// a2|, for which bits bound it from above. So copies of one text that differ in a few words cost
// little more than those words.
#pragma once

#include "bulk/text_signer.h"

#include "core/overlap.h"

#include <span>

namespace minhash::bulk {

// Distinct elements, in the order in which they came first.
struct distinct_elements {
    host* owner;
    growing<std::uint64_t> table; // open addressing; 0: free
    std::size_t entries;          // in use of it, a power of two
    growing<std::uint64_t> list;
    std::size_t count;
};

// Starts with none, and room for a usual row of up to `most` elements: a larger one grows.
void start_elements(distinct_elements& set, std::size_t most);

// Adds elements, given by the halves of their hashes.
void add(distinct_elements& set,
         const std::uint32_t* lo,
         const std::uint32_t* hi,
         std::size_t count);

// Starts a set, and adds all elements of a text.
void read_text(text_signer& signer, text_bytes text, distinct_elements& set);

// Where the elements of rows come from.
struct element_source {
    void* from;
    // Starts the set and adds all elements of a row, always in the same order; some may come more
    // than once.
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

    distinct_elements fresh;        // the row read last
    growing<std::uint64_t> scratch; // elements, or a record in the making

    std::uint32_t first;          // the row that others are looked up for
    std::uint32_t second;         // the other row of the call before
    std::uint32_t loaded;         // the row whose elements the table has
    std::size_t loaded_count;     // elements
    growing<std::uint64_t> table; // of its elements; 0: free
    std::size_t entries;
    std::uint32_t indexed;          // the row that `indexes` are for, if it is loaded
    growing<std::uint32_t> indexes; // of each entry, which of its elements that is
    std::uint32_t others_of;        // the row whose elements besides its leader's `others` has
    growing<std::uint64_t> others;
    std::size_t other_entries;
};

// For rows below `count`. Keeps up to `bytes` of sets, besides four bytes for each row, and what
// two rows need.
void start_sets(exact_sets& state,
                host& owner,
                const element_source& source,
                std::uint32_t count,
                std::size_t bytes);
void end_sets(exact_sets& state);

// The Jaccard similarity of two rows if it is at least `least`, else a negative number. Unless
// `exactly`, any number from `least` on may stand for the similarity. Cheaper if one of the rows
// was there in the call before.
double compare(exact_sets& state, std::uint32_t a, std::uint32_t b, double least, bool exactly);

// The fewest shared elements with which two sets reach a similarity, or one more than both can
// share if none do.
std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept;

} // namespace minhash::bulk
