// Calls that return pairs of a query's rows, or of the rows of two: lsh_pairs(), lsh_contained().
#pragma once

#include "pg/bulk/call.h"

#include "bulk/search/pairs.h"

namespace minhash::pg {

// Between two queries the left row of a pair is the first's.
struct pair_call : bulk_call {
    planned_select queries[2];
    void (*find)(pair_call& call);
    bool plain_ids; // of type bigint
    FmgrInfo less;  // of ids
    Oid collation;
    MemoryContext pair_memory;
};

// Runs a call: reads its rows, and calls find(call) where there are two or more. `other_query` is
// the position of the argument with the second query, or NULL.
void run_pair_call(const call_form& form,
                   const bulk_request& wanted,
                   int other_query,
                   void (*find)(pair_call& call));

// The ids of a pair, left and right.
struct id_pair {
    Datum ids[2];
    bool falling; // the right id is the smaller one
    bool equal;
};

// Returns the rows of pairs, but for two rows of one id in one query. The ids of a pair that
// is_turned() says change places: never those of two queries.
void put_pairs(bulk::host& host,
               std::span<const bulk::found_pair> pairs,
               bool (*is_turned)(const pair_call& call,
                                 const bulk::found_pair& pair,
                                 const id_pair& found));

} // namespace minhash::pg
