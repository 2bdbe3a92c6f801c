// Values that need not be kept: where a query's plan is a scan of a table and a column of it is
// returned as it is stored, the place of the row suffices to read the value again, by the snapshot
// of the query, and in any process that has that snapshot.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "executor/execdesc.h"
#include "utils/rel.h"
}

namespace minhash::pg {

// A column of a table that a query scans. Of the first and the second query of a call.
struct scanned_column {
    Oid table;
    AttrNumber number;
};

constexpr int most_scanned = 2;

struct rereading {
    const TupleTableSlot* scanned; // the row that the query in hand scans; null: it scans no table
    scanned_column columns[most_scanned];
    Relation tables[most_scanned];
    TupleTableSlot* slots[most_scanned]; // of the row read last
    int count;
    bool sharing;                            // workers may read what it has
    bool far;                                // a table is larger than memory
    std::span<const std::uint64_t> expected; // places that will be read next,
    std::size_t read;                        // how many of them have been,
    std::size_t ahead;                       // and how many at least asked for;
    int blocks;                              // those of which are not read yet
    MemoryContext memory;                    // of the call
    MemoryContext value_memory;
};

// To be called when a query has been started. `column`, counted from 1, is one of its result.
void start_rereading(rereading& self, const QueryDesc& query, int column);

// The same in another process: opens what the first one has.
void join_rereading(rereading& self, const scanned_column* columns, int count);

// The place of the row that the query has just returned, as the engine has it; 0 if its value has
// to be kept.
std::uint64_t place_of_row(const rereading& self);

// The value of a place, not compressed. It is good until the next call.
const struct varlena* read_again(rereading& self, std::uint64_t place);

// Says which places will be read next, in this order. They stay where they are.
void expect_reads(rereading& self, std::span<const std::uint64_t> places);

// Lets go of the page that was read last.
void unpin(const rereading& self);

void end_rereading(rereading& self);

} // namespace minhash::pg
