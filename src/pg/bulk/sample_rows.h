// Which rows of a query lsh_sample() compares: the rows whose ids have the smallest hashes, and a random share of the
// other rows.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

constexpr std::uint32_t most_drawn = 2000; // if there are no more rows, all of them are drawn
constexpr std::uint32_t least_drawn = 250; // as long as this many are drawn, large rows are drawn, too

// A row that was drawn: the rows with the smallest hashes are.
struct drawn_row {
    std::uint64_t hash;
    std::uint32_t arrival;
    std::uint32_t row;   // the number of the engine's row, or bulk::no_row
    std::uint32_t other; // the same among the other rows, if this row was chosen there, too
    MinimalTuple tuple;

    bool operator<(const drawn_row& other) const
    {
        return hash != other.hash ? hash < other.hash : arrival < other.arrival;
    }
};

// A call with the rows of a sample.
struct sample_call : bulk_call {
    std::int64_t seed;
    TupleDesc columns;
    FmgrInfo output; // of ids
    bool by_value;
    MemoryContext drawn_memory;
    std::uint64_t read;   // how many rows the query has
    drawn_row* drawn;     // a heap with the largest hash first, then in order
    std::uint32_t kept;   // how many rows are in the heap
    std::size_t bytes;    // the size of these rows
    bool dropped;         // not all rows are in the heap
    sample_call* others;  // takes a share of the rows while rows are drawn; null: the share is not known yet
    double share;         // the share of other rows to take
    std::uint64_t chosen; // how many other rows were chosen, even if the engine has no use for them
    bool* is_anchor;      // for each other row, or null: none of them is
    std::uint32_t* near;  // for each row, how many pairs it is in
    std::uint64_t found;  // how many pairs were found
    std::uint64_t equal;  // how many of them are of equal rows
};

// Runs a query, and draws rows from it. Afterwards, they are in the order of their hashes.
void draw_rows(sample_call& call, const planned_select& query);

// Passes drawn rows to the engine of a call.
void take_drawn(sample_call& call, std::span<drawn_row> drawn);

// Starts a call for a share of the other rows. It can read them in two ways: while the rows are drawn, if it is in
// `drawn.others`; mark_anchors() then marks those that are anchors. Or later, without the anchors, by read_others().
sample_call& start_others(FunctionCallInfo fcinfo, const sample_call& drawn, double share);
void mark_anchors(sample_call& others, std::span<const drawn_row> anchors);
void read_others(sample_call& others,
                 const sample_call& drawn,
                 const planned_select& query,
                 std::span<drawn_row> anchors);

} // namespace minhash::pg
