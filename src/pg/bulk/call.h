// One call of a bulk function: its query's rows, (id, signature) or (id, text), are brought to the
// engine, with columns that are known by their names: scope, and rank. Ids, ranks and scopes stay
// here: the engine knows rows and scopes by their numbers.
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
    bulk::row_set* rows; // null until a first signature tells the scheme
    datum_store ids;     // of the engine's rows
    datum_store ranks;
    int rank_column; // of the query in hand; 0: it has none
    int scope_column;
    numbered_values scopes; // of scoped tasks
    datum_store lone_ids;   // of rows that the engine has not, as they are near nothing
    std::uint32_t lone_count;
    std::uint64_t skipped;     // rows with a NULL
    double expected_rows;      // of the query in hand
    std::uint32_t rows_before; // that the engine had before it

    Oid signature_type;
    Oid short_id;                      // of the query in hand: convert_id()
    std::uint8_t header[header_bytes]; // of the first signature that came stored, and its size
    std::size_t header_size;
    MemoryContext row_memory;
};

// Starts a call. `fresh` is cleared, and its memory is in the current context.
void start_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted);

// Runs a query as the user and takes its rows. Of two queries, the first has the rows before
// first_count.
void read_query(bulk_call& call, const planned_select& query);

// Reports rows that were left out, chooses what the call leaves open, and starts the engine's
// steps, once a call. Nothing of the user's may run from now on until end_call().
void end_reading(bulk_call& call);

// Ends a call: reports temporary files, and frees them and its rows.
void end_call(bulk_call& call);

// How many rows the engine has.
std::uint32_t row_count(const bulk_call& call);

} // namespace minhash::pg
