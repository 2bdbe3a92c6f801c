// Reads values again, so that they need not be kept. If a query's plan just scans a table and returns a column as it is
// stored, the location of a row (its TID) is enough to read the value again, in any process that has the query's
// snapshot.
#pragma once

#include "pg/bulk/scans.h"

extern "C" {
#include "executor/execdesc.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"
}

namespace minhash::pg {

// A table that a query scans, and the column of this table that the query returns as its values.
struct scanned_column {
    Oid table;
    AttrNumber number;
};

constexpr int most_queries = 2;
constexpr int most_scanned = most_queries * most_tables_of_query;

// How many pages stay pinned because the next row may be on one of them.
constexpr int most_pinned = 8;

struct rereading {
    const TupleTableSlot* scanned; // the slot of the current query's scan; null: no value can be read again
    scanned_column columns[most_scanned];
    bool are_texts[most_scanned]; // whether a column has texts, not signatures
    Relation tables[most_scanned];
    TupleTableSlot* slots[most_scanned]; // for each table, holds the row that was read last
    int count;
    int last;                                // the table, counted from 0, of which a row was read last
    std::uint64_t all_blocks;                // of all tables
    bool sharing;                            // workers may also read values again
    bool far;                                // the tables are larger than effective_cache_size
    std::span<const std::uint64_t> expected; // locations that will be read next
    std::size_t read;                        // how many of these locations have been read
    std::size_t ahead;                       // how many of these locations have been prefetched
    int blocks;                              // how many prefetched blocks have not been read yet
    MemoryContext memory;                    // lasts as long as the call
    MemoryContext value_memory;
};

// Call this after a query, or a part of it that scans one table, has been started. `column` is the number of the result
// column whose values are to be read again; columns are counted from 1.
void start_rereading(rereading& self, const QueryDesc& query, int column);

// For a worker, instead of start_rereading(): opens the tables of the columns that the call's own process reads again.
void join_rereading(rereading& self, const scanned_column* columns, int count);

// How many blocks a table has, together with its TOAST table.
std::uint64_t blocks_with_toast(Relation table);

// The location of a row in a table. Tables are counted from 1, in the order in which start_rereading() opened them.
std::uint64_t location_at(int table, const ItemPointerData& at);

// The location of the row that the query has just returned. The engine treats a location as a number. The result is 0
// if the row's value cannot be read again and has to be kept.
std::uint64_t location_of_row(const rereading& self);

// The value at a location, detoasted, and aligned if it is a signature. It is valid until the next call of this
// function.
const struct varlena* read_again(rereading& self, std::uint64_t location);

// Announces the locations that will be read next, in this order. The array must stay valid until all locations have
// been read.
void expect_reads(rereading& self, std::span<const std::uint64_t> locations);

// For each table, unpins the page that was read last.
void unpin(const rereading& self);

void end_rereading(rereading& self);

} // namespace minhash::pg
