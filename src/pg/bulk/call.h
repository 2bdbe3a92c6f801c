// One call of a bulk function, which passes the rows of its query to the engine. The query returns (id, signature) or
// (id, text); columns named scope and rank may follow. Ids, ranks and the values of scopes are kept in the call: the
// engine sees only the numbers of rows and scopes.
#pragma once

#include "pg/bulk/arguments.h"
#include "pg/bulk/datum_store.h"
#include "pg/bulk/select.h"
#include "pg/bulk/verdicts.h"

#include "bulk/rows/rows.h"

extern "C" {
#include "executor/spi.h"
}

namespace minhash::pg {

struct bulk_call : bulk_host {
    bulk_request wanted;
    bulk::memory_budget budget;
    ReturnSetInfo* result;

    bool crossing;       // there are two queries, and a pair has one row from each query
    bulk::row_set* rows; // null until the first text or signature has been read
    datum_store ids;     // the ids of the engine's rows
    datum_store ranks;
    int rank_column; // the number of the current query's rank column; 0: there is none
    int scope_column;
    numbered_values scopes; // the values of scopes, in scoped tasks
    verdict_list* verdicts; // null: none were asked for
    datum_store lone_ids;   // ids of empty and NULL texts, which are not passed to the engine
    std::uint32_t lone_count;
    bulk::growing<bulk::byte_store*> values; // stores of values that processes have computed (scan_records.h)
    std::size_t value_count;
    std::uint32_t empty;       // how many texts have no shingles
    std::uint64_t skipped;     // how many rows were left out because of a NULL
    double expected_rows;      // how many rows the current query is expected to return
    std::uint32_t rows_before; // how many rows the engine had before the current query

    Oid signature_type;
    Oid short_id;                      // for convert_id(), in the current query
    std::uint8_t header[header_bytes]; // the stored header of the first signature
    std::size_t header_size;
    MemoryContext row_memory;
};

// Used by start_call(). `fresh` must be zeroed, and allocated in the current memory context.
void prepare_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted);

// The beginning of a text that is compressed or out of line, in UTF-8, and the size of the whole text.
struct text_beginning {
    bulk::text_bytes bytes;
    std::size_t size;
};

// What a row has as its text or signature.
enum class row_content : std::uint32_t { value, empty, null };

constexpr std::size_t in_table = SIZE_MAX;

// A row that any process has read (blocks.h), so that only the location of its value is known.
struct scanned_row {
    std::uint64_t location; // of the value: in the table; or, if the query computes its values, in
    std::size_t store;      // bulk_call::values[store]; otherwise in_table
    std::uint32_t size;     // of the text, or of the stored signature
    row_content content;
    const char* header; // the stored header, if the value is a signature
    Datum id;
    Datum scope;
    Datum rank;
    bool no_scope;
    bool no_rank;
};

// Prepares the result of an SQL function, and starts a call that adds rows to the result. end_call() frees the call's
// memory. `Call` is bulk_call or a type derived from it.
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

// Records which columns of a query have texts or signatures, scopes and ranks. An ERROR if the call cannot use the
// columns, or if they do not match the columns of the first query.
void check_columns(bulk_call& call, TupleDesc columns);

// Looks only at the beginning of a text, if this saves time. Returns false if the whole text must be read.
bool beginning_of(Datum value, text_beginning& start);

// Runs a query as the user, or the part of a query that split_into_scans() has made of its plan, and passes its rows to
// the engine. begin_query() must have been called. If there are two queries, rows with numbers below first_count belong
// to the first query.
void read_part(bulk_call& call, const planned_select& query, PlannedStmt* part);

// The two parts of read_part(), for rows that come in another way. take_columns() checks the columns of a query, and
// records how to read its rows; an ERROR if the call cannot use the columns, or if they do not match the columns of the
// first query. If the query has been started, it also finds out whether values can be read again (reread.h). take_row()
// passes a row to the engine, unless its id or value is NULL.
void take_columns(bulk_call& call, TupleDesc columns);
void take_columns(bulk_call& call, const QueryDesc& running);
void take_row(bulk_call& call, TupleTableSlot* slot);

// For rows that other processes have read: begin_query() before the first row of a query, and take_scanned_row() for
// each row. take_columns() comes between the two.
void begin_query(bulk_call& call, const planned_select& query);
void take_scanned_row(bulk_call& call, const scanned_row& row);

// Call this once, after the last query. Reports rows that were left out, chooses the parameters that the user has not
// specified, and starts the engine's steps. No user code may run from now on until the engine's steps have ended.
void end_reading(bulk_call& call);

// Ends a call: reports if temporary files were used, and frees the files, the rows, and all memory of the call. Returns
// a dummy Datum, which the SQL function must return. (The rows of the result have already been stored.)
Datum end_call(bulk_call& call);

// How many rows the engine has.
std::uint32_t row_count(const bulk_call& call);

// The engine's task for rows with this scheme; an ERROR if the bands that the call asks for are impossible with this
// scheme.
bulk::task make_task(const bulk_call& call, const scheme& scheme);

// Chooses the numbers of hashes, bands and rows per band that the user has not specified, based on a sample of the
// rows. At least one row must have been read. If the call's rows are themselves a sample, `all_rows` is the number of
// all rows, for which the choice is made.
void choose_by_sample(bulk_call& call, double all_rows = 0);

} // namespace minhash::pg
