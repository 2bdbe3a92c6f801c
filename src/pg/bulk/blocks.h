// Reads a query's rows with all processes of a call. If the plan of the query is just the sequential scan of a table,
// or of several tables one after another, each process runs the plan with PostgreSQL's executor, as a parallel query
// does, and PostgreSQL deals out the blocks of one table after another to the processes. The rows are then numbered in
// the order of the blocks, so they are the same, in the same order, with any number of workers.
//
// The values themselves are not passed on, because any process can read them again from their locations (reread.h).
// Only values that the query computes are kept, each by the process that has computed it (scan_records.h).
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

// Runs a call's queries, and passes their rows to the engine: with workers if this is possible for all queries and
// there is enough to read, and otherwise by read_part(). With workers, the call is in parallel mode afterwards, so no
// user code may run until the engine's steps have ended.
void read_queries(bulk_call& call, std::span<const planned_select> queries);

// Reads one process's part of the blocks. `scan` is the number of the memory that describes the scan.
void scan_blocks(bulk_host& self, bulk::shared_number scan);

} // namespace minhash::pg
