// Values that need not be kept: where a query's plan is a scan of a table and a column of it is
// returned as it is stored, a row's place in the table suffices to read the value again, under the
// same snapshot, which keeps VACUUM from removing it. Values that are compressed or stored out of
// line are left to be kept, as reading those takes longer.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "executor/execdesc.h"
#include "storage/buf.h"
#include "utils/rel.h"
}

namespace minhash::pg {

// A table that a query scans.
struct scanned_table {
    Relation table;
    AttrNumber column; // that is read
    TupleTableSlot* slot;
    Buffer* buffers; // of the first blocks, where they were scanned
    BlockNumber blocks;
};

struct rereading {
    TupleTableSlot* scanned; // the row that the query in hand scans; null: it scans no table
    scanned_table tables[2]; // of two queries
    int count;
    MemoryContext memory; // of the call
};

// To be called when a query has been started. `column`, counted from 1, is one of its result.
void start_rereading(rereading& self, const QueryDesc& query, int column);

// The place of a value of the row that the query has just returned; 0 if it has to be kept.
std::uint64_t place_of(rereading& self, Datum value);

// The value of a place. It is good until the next call.
Datum read_again(rereading& self, std::uint64_t place);

void end_rereading(rereading& self);

} // namespace minhash::pg
