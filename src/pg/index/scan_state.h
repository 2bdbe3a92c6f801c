// A scan, and how it goes on.
//
// For % alone, candidates are compared some at a time, so that LIMIT and EXISTS end early. In order
// of distance, searches become less and less deep. Each gives what is so near that the search has
// found about all of it, and then nothing nearer may come any more. Rows that agree in all slots
// need not wait for the end of a search: nothing is nearer.
#pragma once

#include "pg/index/constraint.h"
#include "pg/index/search.h"
#include "pg/similar/query.h"

namespace minhash::pg::index {

// What a scan is ordered by.
enum class order_kind {
    none,
    distance,
    alike,   // all rows are equally far: the signature is of the empty set
    unknown, // or it is NULL
};

struct scan_state {
    search look;
    index_size size;
    MemoryContext context;
    query narrow; // what % compares with
    bool has_narrow;
    signature near; // what distances are measured from, if it is not NULL
    order_kind order;
    bool nothing;  // can be found: a key is NULL
    bool has_keys; // of bands are known: they depend on the scope
    bool started;
    bool complete;   // nothing more can be found in the index
    bool table_read; // nor in the table

    scan_plan plan;         // of the search; depth 0: all records are compared
    bool searching;         // entries are left
    std::size_t entries;    // of each range to be read next
    std::size_t wanted;     // of the next search; 0: all
    std::uint64_t compared; // before this scan

    // What may be given: rows of look.found, or all of its sort.
    std::size_t at;
    std::size_t end;
    rank last; // of the sort that was given; 0: none

    std::uint64_t current; // the record of the row given last
    bool has_current;
    growing<std::uint64_t> killed; // records of dead rows, of the search that is going on

    bool for_constraint; // rows that conflict, see constraint.h
    row_reader reader;
};

// Begins, where there is something to be found.
void begin_search(scan_state& state, double threshold);

// Goes on until there are rows to give or the search is complete.
void search_similar(scan_state& state);
void search_in_order(scan_state& state);

// All that is left, in any order, to the bitmap, the sort or the rows of look.found.
void gather_rest(scan_state& state);

// Goes through the table for rows that are as far from the query as can be: those whose signature
// is NULL, or all of them. Their rank is that of their distance: 1, or unknown.
constexpr int unknown_distance = 1;
void find_in_table(IndexScanDesc scan, scan_state& state, bool all);

// Marks the records of rows that the executor has seen to be dead.
void mark_killed(scan_state& state);

} // namespace minhash::pg::index
