// One call of a bulk function. It passes the rows of its query, (id, signature) or (id, text), to the engine. Columns
// named scope and rank may follow. Ids, ranks and the values of scopes stay in the call: the engine sees only the
// numbers of rows and scopes.
#pragma once

#include "pg/bulk/arguments.h"
#include "pg/bulk/datum_store.h"
#include "pg/bulk/select.h"

#include "bulk/rows/rows.h"

extern "C" {
#include "executor/spi.h"
}

namespace minhash::pg {

struct bulk_call : bulk_host {
    bulk_request wanted;
    bulk::memory_budget budget;
    ReturnSetInfo* result;

    bool crossing;       // each pair has a row of either query
    bulk::row_set* rows; // null until the first signature gives the scheme
    datum_store ids;     // the ids of the engine's rows
    datum_store ranks;
    int rank_column; // the rank column of the current query; 0: it has none
    int scope_column;
    numbered_values scopes; // the scopes, in scoped tasks
    datum_store lone_ids;   // ids of rows that are near nothing, which the engine does not get
    std::uint32_t lone_count;
    std::uint64_t skipped;     // rows with a NULL
    double expected_rows;      // how many rows the current query is expected to return
    std::uint32_t rows_before; // how many rows the engine had before the current query

    Oid signature_type;
    Oid short_id;                      // for convert_id(), in the current query
    std::uint8_t header[header_bytes]; // the stored header of the first signature
    std::size_t header_size;
    MemoryContext row_memory;
};

// Used by start_call(). `fresh` must be zeroed, in memory of the current context.
void prepare_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted);

// Starts the rows of a result and a call that fills them, in memory that end_call() frees. `Call` is a bulk_call.
template <typename Call>
Call& start_call(FunctionCallInfo fcinfo, const bulk_request& wanted)
{
    ReturnSetInfo& result = start_rows(fcinfo);
    SPI_connect();
    Call& call = *allocate<Call>(CurrentMemoryContext);
    call = {};
    prepare_call(call, fcinfo, wanted);
    call.result = &result;
    return call;
}

// Runs a query as the user and takes its rows. With two queries, the rows before first_count are those of the first.
void read_query(bulk_call& call, const planned_select& query);

// Call this once, after the last query. It reports rows that were left out, chooses what the call leaves open, and
// starts the engine's steps. No user code may run from now on until end_call().
void end_reading(bulk_call& call);

// Ends a call. Reports if temporary files were used, and frees them, the rows, and all memory of the call. Returns the
// value that the SQL function must return besides its rows.
Datum end_call(bulk_call& call);

// How many rows the engine has.
std::uint32_t row_count(const bulk_call& call);

// The engine's task for rows with this scheme; an ERROR if the call asks for something that such rows cannot do.
bulk::task make_task(const bulk_call& call, const scheme& scheme);

// Chooses the numbers of hashes, bands and rows per band that the call leaves open, by a sample of the query's rows. At
// least one row must have been read.
void choose_by_sample(bulk_call& call);

} // namespace minhash::pg
