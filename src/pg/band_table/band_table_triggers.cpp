// What keeps a band table in step with its source, in the transaction of every change: triggers
// for statements, with transition tables, or for rows where the source is a partitioned table or
// a partition (PostgreSQL gives row triggers to every partition, also to those of tomorrow).
#include "pg/band_table/band_table.h"
#include "pg/band_table/signature_rows.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"

#include "core/bands.h"

namespace minhash::pg {

namespace {

// As much as is collected before it is written: so many keys, or so many bytes of long ids.
constexpr int batch_keys = 65536;
constexpr std::size_t batch_bytes = 16 << 20;

// What a trigger needs to know, found once per statement.
struct maintained {
    band_table settings;
    Oid id_type;
    AttrNumber id; // columns of the relation that the trigger fired for, maybe a partition
    AttrNumber signature;
};

const maintained& settings_of(FunctionCallInfo fcinfo, const TriggerData& event)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        const Relation relation = event.tg_relation;
        maintained known;
        known.settings = find_band_table_above(relation,
                                               watched_table(*event.tg_trigger),
                                               fcinfo->flinfo->fn_oid);
        known.id_type = get_atttype(known.settings.source, known.settings.id);
        known.id = partition_column(relation, known.settings, known.settings.id);
        known.signature = partition_column(relation, known.settings, known.settings.signature);
        fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(known));
        memcpy(fcinfo->flinfo->fn_extra, &known, sizeof(known));
    }
    return *static_cast<const maintained*>(fcinfo->flinfo->fn_extra);
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
                    " given.key OPERATOR(pg_catalog.=) ANY (%s.lsh_band_keys(source.%s, %d, %d)))",
                    quoted_relation(settings.source),
                    quoted_column(settings.source, settings.id),
                    equality_of(batch.known->id_type),
                    batch.schema,
                    quoted_column(settings.source, settings.signature),
                    settings.shape.bands,
                    settings.shape.rows);
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
    return run(prepare_once(sql, types), values, nullptr, false, snapshot::latest);
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
    batch.keys = nullptr;
    batch.ids = nullptr;
    MemoryContextReset(batch.memory);
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
        const std::int64_t key = band_key(row.value, band, shape.rows);
        if (!comparable || band_key(other.value, band, shape.rows) != key)
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
    band_table ignored;
    return !has_band_table_above(event.tg_relation,
                                 watched_table(*event.tg_trigger),
                                 fcinfo->flinfo->fn_oid,
                                 ignored);
}

bool is_empty(Oid table)
{
    const Relation opened = table_open(table, AccessShareLock);
    const bool empty = RelationGetNumberOfBlocks(opened) == 0;
    table_close(opened, AccessShareLock);
    return empty;
}

// Before, so that the rows of a partition, which are some of those in the band table, can still
// be read.
void truncate(const TriggerData& event, const maintained& known, FunctionCallInfo fcinfo)
{
    const char* const table = quoted_relation(known.settings.table);
    const Oid relation = RelationGetRelid(event.tg_relation);
    if (relation == known.settings.source) {
        run_once(psprintf("TRUNCATE %s", table));
        return;
    }
    // As when the whole table is truncated, each partition after it.
    if (is_empty(known.settings.table))
        return;
    const char* const id = quoted_column(relation, known.id);
    run_once(psprintf("DELETE FROM %s AS banded USING"
                      " (SELECT pg_catalog.unnest(%s.lsh_band_keys(%s, %d, %d)) AS key, %s AS id"
                      " FROM ONLY %s) AS gone"
                      " WHERE banded.key OPERATOR(pg_catalog.=) gone.key AND banded.id%sgone.id",
                      table,
                      extension_schema(fcinfo),
                      quoted_column(relation, known.signature),
                      known.settings.shape.bands,
                      known.settings.shape.rows,
                      id,
                      quoted_relation(relation),
                      equality_of(known.id_type)));
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
        fail_maintaining_use(event.tg_trigger->tgname);
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
    const maintained& known = settings_of(fcinfo, event);

    // Whoever owns the source owns the band table. But reading a partition, to truncate it, is
    // left to the partition's owner, whose row security policies it may run.
    const identity former =
        act_as(truncates ? event.tg_relation->rd_rel->relowner : known.settings.owner);
    SPI_connect();
    if (truncates) {
        truncate(event, known, fcinfo);
    } else {
        row_reader reader;
        open_rows(reader, &event, known.id, known.signature);
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
