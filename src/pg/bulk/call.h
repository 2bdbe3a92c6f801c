// One call of a bulk function. The rows of its query, (id, signature) or (id, text), go to the engine. Columns named
// scope and rank may follow. Ids, ranks and the values of scopes stay here: the engine knows only numbers of rows and
// scopes.
#pragma once

#include "pg/bulk/arguments.h"
#include "pg/bulk/datum_store.h"
#include "pg/bulk/host.h"
#include "pg/bulk/numbered.h"
#include "pg/bulk/select.h"

#include "bulk/rows/rows.h"

namespace minhash::pg {

struct bulk_call : bulk_host {
    bulk_request wanted;
    bulk::memory_budget budget;
    ReturnSetInfo* result;

    bool crossing;       // between two queries
    bulk::row_set* rows; // null until the first signature gives the scheme
    datum_store ids;     // of the engine's rows
    datum_store ranks;
    int rank_column; // of the current query; 0: it has none
    int scope_column;
    numbered_values scopes; // of scoped tasks
    datum_store lone_ids;   // of rows that are near nothing, which the engine does not get
    std::uint32_t lone_count;
    std::uint64_t skipped;     // rows with a NULL
    double expected_rows;      // of the current query
    std::uint32_t rows_before; // that the engine had before that query

    Oid signature_type;
    Oid short_id;                      // of the current query: convert_id()
    std::uint8_t header[header_bytes]; // the stored header of the first signature,
    std::size_t header_size;
    MemoryContext row_memory;
};

// Starts a call. `fresh` is cleared, and its memory is in the current context.
void start_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted);

// Runs a query as the user and takes its rows. With two queries, rows before first_count are of the first.
void read_query(bulk_call& call, const planned_select& query);

// To be called once, after the last query: reports rows that were left out, chooses what the call leaves open, and
// starts the engine's steps. No user code may run from now on until end_call().
void end_reading(bulk_call& call);

// Ends a call: reports the use of temporary files, and frees these and the rows.
void end_call(bulk_call& call);

// How many rows the engine has.
std::uint32_t row_count(const bulk_call& call);

} // namespace minhash::pg
