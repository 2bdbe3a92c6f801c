// Values that need not be kept: where a query's plan is a scan of a table and a column of it is
// returned as it is stored, its place in the table suffices to read the value again: the snapshot
// of the query keeps VACUUM from removing its row. Values that are compressed or stored out of line
// are left to be kept, as reading those takes longer.
//
// Workers read values in the same way, without knowing the table: whoever was given a place has
// seen the row, and has the table locked until workers have ended.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "executor/execdesc.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"
}

namespace minhash::pg {

// A page that values were read from last, pinned, so that they stay where they are.
struct pinned_page {
    Buffer buffer; // or none
    std::uint64_t of;
};

// A table that a query scans.
struct scanned_table {
    Relation table;
    bool for_workers; // they can read it, too
    Buffer* buffers;  // of the first blocks, where they were scanned
    BlockNumber blocks;
};

struct rereading {
    const TupleTableSlot* scanned; // the row that the query in hand scans; null: it scans no table
    scanned_table tables[2];       // of two queries
    int count;
    pinned_page page;
    MemoryContext memory; // of the call
};

void unpin(pinned_page& page);

// To be called when a query has been started. `column`, counted from 1, is one of its result.
void start_rereading(rereading& self, const QueryDesc& query, int column);

// The place of a value of the row that the query has just returned, as the engine has it; 0 if it
// has to be kept.
std::uint64_t place_of_value(rereading& self, Datum value);

// The value of a place. It is good until the next call.
Datum read_again(rereading& self, std::uint64_t place);

// Fetches from memory what read_again() will read: first where the row is in its page, if that was
// in shared buffers, and later, in step 1, the row.
void read_ahead(const rereading& self, std::uint64_t place, int step);

void end_rereading(rereading& self);

// The same in a worker, by the files of the tables.
Datum read_in_worker(pinned_page& page, const block_file* files, std::uint64_t place);

} // namespace minhash::pg
