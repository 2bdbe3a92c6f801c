// Hashes, bands and rows of a call that leaves them open: by what they will cost, as far as the
// first rows of its query tell (bulk/tuning/choose_bands.h). These wait for the choice. One that
// turns out badly costs time, never recall: so it does not look at scopes. With max_bucket large
// buckets lose pairs: then threshold and recall alone choose, with as many rows in a band as they
// allow.
#pragma once

#include "pg/bulk/datum_store.h"

#include "bulk/rows/rows.h"

namespace minhash::pg {

struct bulk_call;

// Rows that came before the choice. None has a NULL but as its rank.
struct waiting_rows {
    datum_store ids;
    datum_store values;
    datum_store ranks;
    bulk::growing<std::uint64_t> places;
    bulk::growing<std::uint32_t> scopes; // of scoped tasks
    std::uint32_t count;
};

// A row as the query gave it, with the number of its scope.
struct query_row {
    Datum id;
    Datum value;
    Datum rank; // if the query has one
    bool no_rank;
    std::uint64_t place; // where the value can be read again, or 0
    std::uint32_t scope; // of scoped tasks
};

// Whether the next row has to wait.
bool are_waiting(const bulk_call& call);

// Keeps a row; false if no more should wait.
bool keep_waiting(bulk_call& call, const query_row& row);

// A row that waits, in the current context.
query_row waiting_row(bulk_call& call, std::uint32_t place);

// Frees the rows that wait: none does any longer.
void drop_waiting(bulk_call& call);

// Chooses by the rows that wait, at least one: what call.wanted leaves open is set. `ended` says
// that the query has no more rows.
void choose_by_waiting(bulk_call& call, bool ended);

// What the engine is to do with rows of a scheme; an ERROR if it cannot.
bulk::task make_task(const bulk_call& call, const scheme& scheme);

} // namespace minhash::pg
