// Calls that return pairs of a query's rows, or of the rows of two: lsh_pairs(), lsh_contained().
#pragma once

#include "pg/bulk/call.h"

#include "bulk/search/pairs.h"

namespace minhash::pg {

// Between two queries, the left row of a pair is of the first query.
struct pair_call : bulk_call {
    planned_select queries[2];
    void (*find)(pair_call& call);
    bool plain_ids; // of type bigint
    FmgrInfo less;  // of ids
    Oid collation;
    MemoryContext pair_memory;
};

// Runs a call: reads its rows, and calls find(call) if there are at least two. `other_query` is the position of the
// argument with the second query, or NULL.
void run_pair_call(const call_form& form, const bulk_request& wanted, int other_query, void (*find)(pair_call& call));

// The ids of a pair, left and right.
struct id_pair {
    Datum ids[2];
    bool falling; // the right id is the smaller one
    bool equal;
};

// Returns pairs as result rows, except pairs of one id within one query. The ids of a pair are swapped if is_turned()
// says so, but never between two queries.
void put_pairs(bulk::host& host,
               std::span<const bulk::found_pair> pairs,
               bool (*is_turned)(const pair_call& call, const bulk::found_pair& pair, const id_pair& found));

} // namespace minhash::pg
