// The rows that a trigger is told of, as ids and signatures.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"

extern "C" {
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

// One row: absent if its id or its signature is NULL.
struct signed_row {
    bool present;
    bool has_id;
    Datum id;
    Datum stored; // the signature, detoasted
    signature value;
};

// Rows before and after an event, side by side: an UPDATE has both, INSERT the new ones, DELETE
// the old ones. Read with next_rows() until it says false; from the start again after rewind().
struct row_reader {
    const TriggerData* event;
    AttrNumber id;
    AttrNumber signature;
    Tuplestorestate* stores[2]; // old and new; null where the event has none
    TupleTableSlot* slots[2];
    bool done;            // the one row of a row trigger has been read
    MemoryContext memory; // of detoasted signatures; emptied for each row
};

enum side { before = 0, after = 1 };

// The row in a slot: its id lies in the slot, its signature is detoasted into the current context.
signed_row read_row(TupleTableSlot* slot, AttrNumber id, AttrNumber signature);

void open_rows(row_reader& reader, const TriggerData* event, AttrNumber id, AttrNumber signature);
void rewind_rows(row_reader& reader);
bool next_rows(row_reader& reader, signed_row (&rows)[2]);
void close_rows(row_reader& reader);

} // namespace minhash::pg
