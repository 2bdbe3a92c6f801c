// Records of the rows that all processes of a call read together (blocks.h). Each process appends a record for each of
// its rows to a store of its own. The records are in the order of the rows' locations, because a process gets blocks in
// rising order. They are grouped into stretches of rows between which no other process has any row. The session's
// process merges the stretches in the order of their blocks.
//
// Values that a query computes, such as lower(body), are kept in another store of each process. Without that, they
// would be computed three times: to be recorded, signed and compared. That would need less memory, but lower() of 1 KB
// takes six times as long as signing the result. A value that is kept also stays the same, even if a function is
// declared to be stable and is not.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

struct shared_scan {
    bulk::shared_number plan; // the planned statement, as text
    bulk::shared_number query;
    bulk::shared_number blocks;    // PostgreSQL's description of the parallel scan
    bulk::shared_number rows;      // each process's store_note of its records
    bulk::shared_number stretches; // each process's store_note of its stretches
    bulk::shared_number values;    // each process's store_note of the values that it has computed
    scheme texts;
    std::size_t allowance; // how many bytes all processes together may keep in memory
    std::size_t processes;
    std::size_t used;         // how many bytes they have in memory; atomic
    std::size_t values_chunk; // of the stores of computed values, at most
    int table;                // the number of the table in locations
    int scope_column;         // 0: none
    int rank_column;
    Oid short_id;  // for convert_id()
    bool computed; // the query computes its values, so they are kept
    bool from_texts;
    bool lone_ids;
    bool is_internal;
    double expected;       // how many rows PostgreSQL expects
    std::uint64_t read;    // how many rows have been read; atomic
    std::uint64_t skipped; // how many rows were left out because of a NULL; atomic
};

// Collects a process's records.
struct recorder;

// Call record_row() for each row of the scan, in order; `at` is the row's location. end_recording() leaves the records.
recorder& start_recording(bulk_host& host, shared_scan& scan);
void record_row(recorder& self, TupleTableSlot* slot, const ItemPointerData& at);
void end_recording(recorder& self);

// Passes the rows of all processes to the engine, in the order of their locations, and frees the records.
void merge_records(bulk_call& call, const shared_scan& scan);

} // namespace minhash::pg
