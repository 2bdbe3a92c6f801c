// A trigger for statements reads its two transition tables side by side, which PostgreSQL fills in
// the same order, so that the old and the new row of an UPDATE come together; one for rows has both
// at hand. A row's memory lasts until the next is read.
#include "pg/arguments.h"
#include "pg/band_table/signature_rows.h"
#include "pg/lsh/bands.h"

extern "C" {
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

bool has_side(const TriggerData& event, side which)
{
    return which == before ? !TRIGGER_FIRED_BY_INSERT(event.tg_event)
                           : !TRIGGER_FIRED_BY_DELETE(event.tg_event);
}

TupleTableSlot* row_slot(const TriggerData& event, side which)
{
    // An UPDATE's old row stands where the only row of other events does.
    return which == after && TRIGGER_FIRED_BY_UPDATE(event.tg_event) ? event.tg_newslot
                                                                     : event.tg_trigslot;
}

// Fetches the next row of a side into its slot.
bool advance(row_reader& reader, side which)
{
    if (reader.stores[which] != nullptr)
        return tuplestore_gettupleslot(reader.stores[which], true, false, reader.slots[which]);
    return !reader.done;
}

} // namespace

row_columns columns_in(Relation relation, const band_table& settings)
{
    row_columns found = {};
    found.id = partition_column(relation, settings, settings.id);
    found.signature = partition_column(relation, settings, settings.signature);
    if (settings.scope == InvalidAttrNumber)
        return found;
    found.scope = partition_column(relation, settings, settings.scope);
    std::int32_t modifier;
    get_atttypetypmodcoll(settings.source,
                          settings.scope,
                          &found.scope_type,
                          &modifier,
                          &found.scope_collation);
    return found;
}

signed_row read_row(TupleTableSlot* slot, const row_columns& columns)
{
    signed_row row = {};
    bool no_id;
    bool no_signature;
    bool no_scope = false;
    row.id = slot_getattr(slot, columns.id, &no_id);
    const Datum stored = slot_getattr(slot, columns.signature, &no_signature);
    if (columns.scope != InvalidAttrNumber)
        row.scope = slot_getattr(slot, columns.scope, &no_scope);
    row.has_id = !no_id;
    if (no_id || no_signature || no_scope)
        return row;
    row.present = true;
    if (columns.scope != InvalidAttrNumber)
        row.scope_hash = hash_scope(columns.scope_type, columns.scope_collation, row.scope);
    const struct varlena* const whole = PG_DETOAST_DATUM(stored);
    row.stored = PointerGetDatum(whole);
    row.value = decode_stored(
        {reinterpret_cast<const std::uint8_t*>(VARDATA(whole)), VARSIZE(whole) - VARHDRSZ});
    return row;
}

void open_rows(row_reader& reader, const TriggerData* event, const row_columns& columns)
{
    reader = {};
    reader.event = event;
    reader.columns = columns;
    reader.memory = AllocSetContextCreate(CurrentMemoryContext,
                                          "minhash_lsh row of a trigger",
                                          ALLOCSET_DEFAULT_SIZES);
    const bool by_row = TRIGGER_FIRED_FOR_ROW(event->tg_event);
    for (const side which : {before, after}) {
        if (!has_side(*event, which))
            continue;
        if (by_row) {
            reader.slots[which] = row_slot(*event, which);
            continue;
        }
        Tuplestorestate* const store = which == before ? event->tg_oldtable : event->tg_newtable;
        if (store == nullptr)
            continue;
        reader.stores[which] = store;
        reader.slots[which] =
            MakeSingleTupleTableSlot(RelationGetDescr(event->tg_relation), &TTSOpsMinimalTuple);
        // Other triggers read the same rows with pointers of their own.
        tuplestore_select_read_pointer(store,
                                       tuplestore_alloc_read_pointer(store, EXEC_FLAG_REWIND));
    }
    rewind_rows(reader);
}

void rewind_rows(row_reader& reader)
{
    reader.done = false;
    for (Tuplestorestate* const store : reader.stores)
        if (store != nullptr)
            tuplestore_rescan(store);
}

bool next_rows(row_reader& reader, signed_row (&rows)[2])
{
    CHECK_FOR_INTERRUPTS();
    // A row that was read from disk lies in this memory, and its slot would free it once more.
    for (const side which : {before, after})
        if (reader.stores[which] != nullptr)
            ExecClearTuple(reader.slots[which]);
    MemoryContextReset(reader.memory);
    const MemoryContext former = MemoryContextSwitchTo(reader.memory);
    bool any = false;
    for (const side which : {before, after}) {
        rows[which] = {};
        if (reader.slots[which] != nullptr && advance(reader, which)) {
            any = true;
            rows[which] = read_row(reader.slots[which], reader.columns);
        }
    }
    reader.done = true;
    MemoryContextSwitchTo(former);
    return any;
}

void close_rows(row_reader& reader)
{
    for (const side which : {before, after})
        if (reader.stores[which] != nullptr)
            ExecDropSingleTupleTableSlot(reader.slots[which]);
    MemoryContextDelete(reader.memory);
}

} // namespace minhash::pg
