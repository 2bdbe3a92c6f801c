// What keeps a band table in step with its source, in the transaction of every change: triggers
// for statements, with transition tables, or for rows where the source is a partitioned table or
// a partition (PostgreSQL gives row triggers to every partition, including future ones).
//
// Keys that a row has before a change and not after it are deleted, then those that it has only
// afterwards are inserted, in batches of one SQL statement each. A batch that does not find what it
// expected has met another statement's work; from then on, in this transaction, the rows themselves
// are asked which keys are to stay.
#include "pg/arguments.h"
#include "pg/band_table/band_table.h"
#include "pg/band_table/signature_rows.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "core/bands.h"

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

// Keys are written when there are this many, or when they and their ids fill this much memory.
constexpr int batch_keys = 65536;
constexpr std::size_t batch_bytes = 16 << 20;

// What a trigger needs to know, found once per statement, and again if a definition has changed.
struct maintained {
    std::uint64_t definitions;
    band_table settings;
    Oid id_type;
    row_columns columns; // of the relation that the trigger fired for, maybe a partition
};

// What a trigger looks for. Nobody can define a trigger on the band table as long as it is locked.
band_table_search wanted_by(FunctionCallInfo fcinfo, const TriggerData& event)
{
    return {watched_table(*event.tg_trigger), fcinfo->flinfo->fn_oid, RowExclusiveLock};
}

maintained settings_of(FunctionCallInfo fcinfo, const TriggerData& event)
{
    if (fcinfo->flinfo->fn_extra == nullptr)
        fcinfo->flinfo->fn_extra =
            MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(maintained));
    maintained& known = *static_cast<maintained*>(fcinfo->flinfo->fn_extra);
    if (const std::uint64_t seen = definitions_seen(); known.definitions != seen) {
        const Relation relation = event.tg_relation;
        known.settings = find_band_table_above(relation, wanted_by(fcinfo, event));
        known.id_type = get_atttype(known.settings.source, known.settings.id);
        known.columns = columns_in(relation, known.settings);
        known.definitions = seen;
    }
    return known;
}

// Keys and ids on their way into the band table or out of it.
struct key_batch {
    const maintained* known;
    const char* schema; // the extension's
    bool insert;
    MemoryContext memory;
    ArrayBuildState* keys;
    ArrayBuildState* ids;
};

void open_batch(key_batch& batch, const maintained& known, const char* schema, bool insert)
{
    batch = {};
    batch.known = &known;
    batch.schema = schema;
    batch.insert = insert;
    batch.memory = AllocSetContextCreate(CurrentMemoryContext,
                                         "minhash_lsh band keys",
                                         ALLOCSET_DEFAULT_SIZES);
}

// The batch as a table for SQL; writing in the order of the keys is kind to the index.
#define GIVEN_KEYS                                                                                 \
    "(SELECT pg_catalog.unnest($1) AS key, pg_catalog.unnest($2) AS id ORDER BY 1) AS given"

const char* insert_sql(const key_batch& batch, const char* condition)
{
    return psprintf("INSERT INTO %s (key, id) SELECT key, id FROM " GIVEN_KEYS
                    " %s ON CONFLICT DO NOTHING",
                    quoted_relation(batch.known->settings.table),
                    condition);
}

const char* delete_sql(const key_batch& batch, const char* condition)
{
    return psprintf("DELETE FROM %s AS banded USING " GIVEN_KEYS
                    " WHERE banded.key OPERATOR(pg_catalog.=) given.key AND banded.id%sgiven.id %s",
                    quoted_relation(batch.known->settings.table),
                    equality_of(batch.known->id_type),
                    condition);
}

// A condition on "given": the source has a row that has the key.
const char* is_true(const key_batch& batch)
{
    const band_table& settings = batch.known->settings;
    return psprintf("EXISTS (SELECT FROM %s AS source WHERE source.%s%sgiven.id AND"
                    " given.key OPERATOR(pg_catalog.=) ANY (%s))",
                    quoted_relation(settings.source),
                    quoted_column(settings.source, settings.id),
                    equality_of(batch.known->id_type),
                    band_keys_of_source(batch.schema, settings));
}

// The transaction in which a batch found keys in its way, or found its keys gone. Then another
// statement has been there first: one that a row trigger ran between the change of a row and this
// trigger, or one for another row of a partitioned table, when rows exchange their ids. Or the band
// table was out of step. From there on the rows themselves decide which keys are to stay.
TransactionId in_doubt;

std::uint64_t write(const key_batch& batch, const char* sql, std::span<Datum> values)
{
    const Oid types[] = {INT8ARRAYOID, get_array_type(batch.known->id_type)};
    // The latest: a refresh by another session may have put keys of rows that this one has long
    // seen.
    return run(prepare_once(batch.known->settings.table, sql, types),
               values,
               nullptr,
               false,
               snapshot::latest);
}

void empty_batch(key_batch& batch)
{
    batch.keys = nullptr;
    batch.ids = nullptr;
    MemoryContextReset(batch.memory);
}

void flush(key_batch& batch)
{
    if (batch.keys == nullptr)
        return;
    const MemoryContext former = MemoryContextSwitchTo(batch.memory);
    const std::uint64_t count = static_cast<std::uint64_t>(batch.keys->nelems);
    Datum values[] = {makeArrayResult(batch.keys, batch.memory),
                      makeArrayResult(batch.ids, batch.memory)};
    const TransactionId transaction = GetTopTransactionId();
    if (in_doubt != transaction &&
        write(batch, batch.insert ? insert_sql(batch, "") : delete_sql(batch, ""), values) != count)
        in_doubt = transaction;
    if (in_doubt == transaction) {
        const char* const condition = is_true(batch);
        write(batch, delete_sql(batch, psprintf("AND NOT %s", condition)), values);
        write(batch, insert_sql(batch, psprintf("WHERE %s", condition)), values);
    }
    MemoryContextSwitchTo(former);
    empty_batch(batch);
}

bool is_full(const key_batch& batch)
{
    return batch.keys != nullptr && (batch.keys->nelems >= batch_keys ||
                                     MemoryContextMemAllocated(batch.memory, true) >= batch_bytes);
}

void add(key_batch& batch, std::int64_t key, Datum id)
{
    batch.keys = accumArrayResult(batch.keys, Int64GetDatum(key), false, INT8OID, batch.memory);
    batch.ids = accumArrayResult(batch.ids, id, false, batch.known->id_type, batch.memory);
}

// The keys that a row has on one side of a change and not on the other. An edit leaves many bands
// as they were, and a change of other columns all of them.
void add_differing(key_batch& batch,
                   const signed_row& row,
                   const signed_row& other,
                   const maintained& known,
                   bool same_id)
{
    const banding shape = known.settings.shape;
    const auto has_keys = [shape](const signed_row& of) {
        return of.present && !of.value.empty() &&
               can_be_banded(of.value.scheme, shape.bands, shape.rows);
    };
    if (batch.insert && row.present)
        check_bands(shape, row.value.scheme);
    // A row that cannot be banded, written while no trigger fired, has no keys to delete.
    if (!has_keys(row))
        return;
    const bool comparable = same_id && has_keys(other);
    for (int band = 0; band < shape.bands; band++) {
        const std::int64_t key = band_key(row.value, band, shape.rows, row.scope_hash);
        if (!comparable || band_key(other.value, band, shape.rows, other.scope_hash) != key)
            add(batch, key, row.id);
    }
}

// Writes one side of all changes.
void write_side(row_reader& reader, const maintained& known, const char* schema, side which)
{
    const TypeCacheEntry* const id_type = lookup_type_cache(known.id_type, 0);
    key_batch batch;
    open_batch(batch, known, schema, which == after);
    rewind_rows(reader);
    signed_row rows[2];
    while (next_rows(reader, rows)) {
        const bool same_id =
            rows[before].present && rows[after].present &&
            datum_image_eq(rows[before].id, rows[after].id, id_type->typbyval, id_type->typlen);
        add_differing(batch, rows[which], rows[which == before ? after : before], known, same_id);
        if (is_full(batch))
            flush(batch);
    }
    flush(batch);
    MemoryContextDelete(batch.memory);
}

// Whether a table was a partition of the source once, and kept its trigger for TRUNCATE.
bool is_detached(FunctionCallInfo fcinfo, const TriggerData& event)
{
    const band_tables_found found = search_above(event.tg_relation, wanted_by(fcinfo, event));
    return found.count == 0 && !found.any_doubtful;
}

bool is_empty(Oid table)
{
    const Relation opened = table_open(table, AccessShareLock);
    const bool empty = RelationGetNumberOfBlocks(opened) == 0;
    table_close(opened, AccessShareLock);
    return empty;
}

void delete_batch(key_batch& batch)
{
    if (batch.keys == nullptr)
        return;
    Datum values[] = {makeArrayResult(batch.keys, batch.memory),
                      makeArrayResult(batch.ids, batch.memory)};
    write(batch, delete_sql(batch, ""), values);
    empty_batch(batch);
}

// Deletes the keys of all rows of a partition that is about to be truncated. The rows are read
// without SQL: neither the rights nor the policies of the partition, which may have another owner
// than the source, are asked.
void delete_keys_of(Relation partition, const maintained& known, const char* schema)
{
    key_batch batch;
    open_batch(batch, known, schema, false);
    const Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
    const TableScanDesc scan = table_beginscan(partition, latest, 0, nullptr);
    TupleTableSlot* const slot = table_slot_create(partition, nullptr);
    const MemoryContext row_memory =
        AllocSetContextCreate(batch.memory, "minhash_lsh row", ALLOCSET_DEFAULT_SIZES);
    while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
        CHECK_FOR_INTERRUPTS();
        const MemoryContext former = MemoryContextSwitchTo(row_memory);
        const signed_row row = read_row(slot, known.columns);
        MemoryContextSwitchTo(former);
        add_differing(batch, row, {}, known, false);
        MemoryContextReset(row_memory);
        if (is_full(batch))
            delete_batch(batch);
    }
    delete_batch(batch);
    ExecDropSingleTupleTableSlot(slot);
    table_endscan(scan);
    UnregisterSnapshot(latest);
    MemoryContextDelete(batch.memory);
}

// Before, so that the rows of a partition, which are some of those in the band table, can still
// be read.
void truncate(const TriggerData& event, const maintained& known, FunctionCallInfo fcinfo)
{
    const Relation relation = event.tg_relation;
    if (RelationGetRelid(relation) == known.settings.source)
        run_once(psprintf("TRUNCATE %s", quoted_relation(known.settings.table)));
    // When the whole table is truncated, so is each partition after it.
    else if (relation->rd_rel->relkind == RELKIND_RELATION && !is_empty(known.settings.table))
        delete_keys_of(relation, known, extension_schema(fcinfo));
}

// Triggers are defined by lsh_create_band_table(), but anybody may define others.
void check_use(const TriggerData& event)
{
    const bool truncates = TRIGGER_FIRED_BY_TRUNCATE(event.tg_event);
    const bool has_rows =
        TRIGGER_FIRED_FOR_ROW(event.tg_event) ||
        ((TRIGGER_FIRED_BY_INSERT(event.tg_event) || event.tg_oldtable != nullptr) &&
         (TRIGGER_FIRED_BY_DELETE(event.tg_event) || event.tg_newtable != nullptr));
    if (truncates ? !TRIGGER_FIRED_BEFORE(event.tg_event)
                  : !TRIGGER_FIRED_AFTER(event.tg_event) || !has_rows)
        ereport(ERROR,
                errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                errmsg("trigger \"%s\" is not defined correctly", event.tg_trigger->tgname),
                errdetail("Only lsh_create_band_table() creates triggers of this function."),
                errhint("Drop the trigger."));
}

} // namespace

// The trigger function: AFTER INSERT, UPDATE or DELETE for each statement with its transition
// tables, or for each row; BEFORE TRUNCATE.
MINHASH_FUNCTION(lsh_maintain_band_table)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        fail_not_trigger("lsh_maintain_band_table");
    const TriggerData& event = *reinterpret_cast<const TriggerData*>(fcinfo->context);
    check_use(event);
    const bool truncates = TRIGGER_FIRED_BY_TRUNCATE(event.tg_event);
    if (truncates && is_detached(fcinfo, event))
        return PointerGetDatum(nullptr);
    // A copy: what runs in between may change definitions.
    const maintained known = settings_of(fcinfo, event);

    // Whoever owns the source owns the band table, and no code of others runs when it is written.
    const identity former = act_as(known.settings.owner);
    SPI_connect();
    if (truncates) {
        truncate(event, known, fcinfo);
    } else {
        row_reader reader;
        open_rows(reader, &event, known.columns);
        // All old keys go before a new one comes: two rows may have changed their ids.
        for (const side which : {before, after})
            if (reader.slots[which] != nullptr)
                write_side(reader, known, extension_schema(fcinfo), which);
        close_rows(reader);
    }
    SPI_finish();
    act_again_as(former);
    return PointerGetDatum(nullptr);
}

} // namespace minhash::pg
