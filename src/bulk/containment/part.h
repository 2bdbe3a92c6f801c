// The state of a search for rows that are contained in others: what all processes share, and what each process has
// during its part of a step.
#pragma once

#include "bulk/containment/witnesses.h"
#include "bulk/search/indexed_rows.h"

namespace minhash::bulk {

step compare_same_of_units; // containment.cpp
step look_up_units;         // look_up.cpp

// The state that all processes share. `order` lists the rows. The index and the found pairs identify a row by its
// position in `order`, not by its number. In `order`, each row comes after all rows that may contain it. But if there
// are two queries, the rows are listed in the order of their numbers.
//
// Only rows that may be contained in others are indexed, and have a size, a digest and witnesses: all rows of one
// query, or those of the first of two queries. The rows of a second query are only looked up. There may be many times
// as many of them.
struct shared_containment {
    double missed; // the share of pairs that may be missed
    bool crossing;
    std::uint32_t couples_pool; // see task; 0: no rows are indexed by couples of witnesses
    std::uint32_t indexed;      // how many rows are indexed: the first ones
    shared_number counts;       // the counters of shingle_counts
    std::size_t counters;       // how many counters these are
    bool marking;               // only shingles of indexed rows are counted
    shared_number sizes;        // the number of distinct shingles of each indexed row
    shared_number digests;      // for each indexed row, a digest of its set: equal sets have equal digests
    shared_number witnesses;    // for each member, what other processes need to open its store of witness tags
    shared_number witness_at;   // where each indexed row's tags are (offset_in_stores())
    // The largest mark of a witness of the rows without couples, and of those with couples. Atomic.
    std::uint64_t most_marks[2];
    shared_number order;

    // The current part of the index.
    shared_number index;
    index_dimensions dimensions;
    std::uint32_t first; // the position in `order` of the part's first row
};

// The state of a process during its part of a step.
struct containment_part {
    row_set* rows;
    shared_containment* shared;
    std::uint32_t* sizes;
    std::uint64_t* digests;
    std::uint64_t* witness_at;
    std::uint32_t* order;
    shingle_counts counts;
    shingle_classes classes; // the same memory, once all rows have been counted

    growing<std::uint8_t> text;
    std::uint32_t current_row; // the current row: the row that was read last; or no_row
    distinct_elements set;     // the shingles of the current row
    // Indexed by the numbers of the elements of `set`: the last pair of rows (the current row and another one) for
    // which the element was counted, or 0. So an element counts only once for a pair of rows. Therefore, a process must
    // not compare the same two rows twice.
    growing<std::uint64_t> met_by;
    size_plan* plans;
};

// Call this at the beginning of a process's part of a step.
containment_part start_part(row_set& rows);

// Reads a row, which becomes the current one.
void read_row(containment_part& self, std::uint32_t row);

// How many distinct shingles a row shares with the current one.
std::uint64_t count_shared(containment_part& self, std::uint32_t row);

} // namespace minhash::bulk
