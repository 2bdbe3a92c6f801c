// The state of a scan, and how it continues.
//
// For % alone, candidates are compared some at a time, so that LIMIT and EXISTS end early. In order of distance, one
// search follows another, each with a smaller depth. A search returns only rows that are so near that it has found
// nearly all such rows; later searches may no longer return nearer rows than these. But rows that agree in all slots
// need not wait for the end of a search, because none can be nearer.
#pragma once

#include "pg/index/constraint.h"
#include "pg/index/search.h"
#include "pg/similar/query.h"

namespace minhash::pg::index {

// What a scan is ordered by.
enum class order_kind {
    none,
    distance,
    alike,   // all rows are equally far from the signature of the empty set
    unknown, // the signature is NULL
};

struct scan_state {
    search look;
    index_size size;
    MemoryContext context;
    query narrow; // the signature that % compares with
    bool has_narrow;
    signature near; // the signature from which distances are measured, unless it is NULL
    order_kind order;
    bool nothing;  // nothing can match: a key is NULL
    bool has_keys; // the keys of bands are known; they depend on the scope
    bool started;
    bool complete;   // nothing more can be found in the index
    bool table_read; // find_in_table() has nothing more to find either

    scan_plan plan;         // the plan of the search; depth 0: all records are compared
    bool searching;         // a search has begun, and entries are left
    std::size_t entries;    // how many entries to read next from each range
    std::size_t wanted;     // how many rows the next search keeps; 0: all
    std::uint64_t compared; // look.work.compared before this scan

    // What may be returned now: the rows of look.found from `at` to before `end`, or all rows of its sort.
    std::size_t at;
    std::size_t end;
    rank last; // the row returned last from the sort; 0: none

    std::uint64_t current; // the record of the row returned last
    bool has_current;
    growing<std::uint64_t> killed; // records of rows that were found dead in this search

    bool for_constraint; // the scan looks for conflicts (constraint.h)
    row_reader reader;
};

// Begins the search of a scan, if anything can match.
void begin_search(scan_state& state, double threshold);

// These continue the search until there are rows to return, or the search is complete.
void search_similar(scan_state& state);
void search_in_order(scan_state& state);

// Puts all remaining rows, in any order, into the bitmap, into the sort, or into look.found.rows.
void gather_rest(scan_state& state);

// Says that rows up to a rank may be returned now.
void give_found(scan_state& state, rank upto);

} // namespace minhash::pg::index
