// The state of a search for rows that are contained in others: what all processes share, and what each process has
// during its part of a step.
#pragma once

#include "bulk/containment/witnesses.h"
#include "bulk/rows/steps.h"

namespace minhash::bulk {

// How many rows are looked up as a unit.
constexpr std::uint32_t looked_up_at_once = 64;

// The state that all processes share. Rows are identified by their positions in `order`. In it, each row comes after
// all rows that may contain it; only if there are two queries, rows are in the order of their numbers.
struct shared_containment {
    double missed; // the share of pairs that may be missed
    bool crossing;
    shared_number counts;     // shingle_counts
    shared_number sizes;      // the number of distinct shingles of each row
    shared_number digests;    // equal for equal sets
    shared_number witnesses;  // a store_note of each member's witness tags
    shared_number witness_at; // where each row's tags are: the member, and the offset in the member's store
    std::uint64_t most_mark;  // the largest mark of all witnesses; atomic
    shared_number order;

    // The current part of the index.
    shared_number index;
    index_shape shape;
    std::uint32_t first; // the position of the part's first row
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

    growing<std::uint8_t> text;
    std::uint32_t in_hand; // the current row, which was read last; or no_row
    distinct_elements set; // the shingles of the current row
    // For each element of `set`, by its number: the pair of rows (the current row and another one) for which it was
    // counted last, or 0. An element counts only once for a pair. So a process must not compare the same two rows
    // twice.
    growing<std::uint64_t> met_by;
    size_plan* plans;
};

// Call this at the beginning of a process's part of a step.
containment_part start_part(row_set& rows);

// A number to mix into the shingles of a row. It depends on the row's scope, so rows of different scopes share mixed
// shingles only by accident.
std::uint64_t salt_of(const row_set& rows, std::uint32_t row);

// Reads a row, which becomes the current one.
void read_row(containment_part& self, std::uint32_t row);

// How many distinct shingles a row shares with the current one.
std::uint64_t count_shared(containment_part& self, std::uint32_t row);

} // namespace minhash::bulk
