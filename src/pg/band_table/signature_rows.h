// The rows that a trigger is told of, as ids and signatures, and perhaps scopes.
#pragma once

#include "pg/band_table/band_table.h"

#include "core/codec.h"

extern "C" {
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

// Where rows have what is read of them.
struct row_columns {
    AttrNumber id;
    AttrNumber signature;
    AttrNumber scope; // 0: they have none
    Oid scope_type;
    Oid scope_collation;
};

// The columns of a relation: the source of a band table, or a partition of it.
row_columns columns_in(Relation relation, const band_table& settings);

// One row: absent if its id, its signature or its scope is NULL.
struct signed_row {
    bool present;
    bool has_id;
    Datum id;
    Datum stored; // the signature, detoasted
    signature value;
    Datum scope;              // of one that has a scope
    std::uint64_t scope_hash; // 0 without
};

// Rows before and after an event, side by side: an UPDATE has both, INSERT the new ones, DELETE
// the old ones. Read with next_rows() until it says false; from the start again after rewind().
struct row_reader {
    const TriggerData* event;
    row_columns columns;
    Tuplestorestate* stores[2]; // old and new; null where the event has none
    TupleTableSlot* slots[2];
    bool done;            // the one row of a row trigger has been read
    MemoryContext memory; // of detoasted signatures; emptied for each row
};

enum side { before = 0, after = 1 };

// The row in a slot: its id and scope lie in the slot, its signature is detoasted into the current
// context.
signed_row read_row(TupleTableSlot* slot, const row_columns& columns);

void open_rows(row_reader& reader, const TriggerData* event, const row_columns& columns);
void rewind_rows(row_reader& reader);
bool next_rows(row_reader& reader, signed_row (&rows)[2]);
void close_rows(row_reader& reader);

} // namespace minhash::pg
