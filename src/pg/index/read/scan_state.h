// The state of a scan, and how it continues.
//
// With % alone, a scan compares its candidates in batches, so that LIMIT and EXISTS can end the scan early. With ORDER
// BY alone, a scan makes one search after another, each with a smaller depth. Each search finds nearly all rows up to
// some distance, and returns only rows up to this distance. Before the last search, which compares all records, comes
// one by score (score.h), if the index is large. To keep the order, later searches leave out rows within the distance.
// Rows that agree in all slots are returned before a search ends, because no row can be nearer.
#pragma once

#include "pg/index/read/constraint.h"
#include "pg/index/read/search.h"
#include "pg/similar/query.h"

namespace minhash::pg::index {

// What a scan is ordered by.
enum class order_kind {
    none,
    distance,
    alike,   // the signature is of an empty set, so all rows are equally far from it
    unknown, // the distance is NULL, because the query's signature or the row's signature is NULL
};

struct scan_state {
    search look;
    index_size size;
    MemoryContext context;
    query filter; // the signature that % compares with, and the threshold
    bool has_filter;
    signature order_by_signature; // the signature of ORDER BY, unless it is NULL
    order_kind order;
    bool nothing;  // nothing can match, because a scan key is NULL
    bool has_keys; // band keys can be made: the index has no scope, or the scan keys determine the scope
    bool started;
    bool complete; // nothing more can be found in the index

    scan_plan plan;      // the plan of the search; depth 0: all records are compared
    rank scored_to;      // a search by score found nearly all rows up to this rank
    bool searching;      // search_in_order() has begun a search that has not ended yet
    std::size_t entries; // how many entries to read next from each range
    std::size_t wanted;  // how many rows the next search keeps; 0: all

    // The rows that may be returned now: those in look.found.rows from `at` up to `end` - 1, or all rows in
    // look.found.sort.
    std::size_t at;
    std::size_t end;
    rank last; // the rank of the row returned last from the sort; 0: none

    std::uint64_t current; // the record number of the row returned last
    bool has_current;
    growing<std::uint64_t> killed; // numbers of records to be marked, because their rows were found dead

    bool for_constraint; // the scan looks for conflicts (constraint.h)
    row_reader reader;
};

// Begins the search of a scan, if anything can match.
void begin_search(scan_state& self, double threshold);

// Each call continues the search. If a call finds no rows to return, and the search is not complete, call again.
void search_similar(scan_state& self);
void search_in_order(scan_state& self);

// Without ORDER BY: collects all remaining rows in the bitmap, in the sort, or in look.found.rows.
void gather_rest(scan_state& self);

} // namespace minhash::pg::index
