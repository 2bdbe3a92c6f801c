// What keeps a band table in step with its source, in the transaction of every change: triggers
// for statements, with transition tables, or for rows where the source is a partitioned table or
// a partition (PostgreSQL gives row triggers to every partition, also to those of tomorrow).
#include "pg/band_table.h"
#include "pg/errors.h"
#include "pg/signature_rows.h"
#include "pg/statements.h"

#include "core/bands.h"

namespace minhash::pg {

namespace {

// As much as is collected before it is written: about 1 MB of keys and ids.
constexpr int batch_keys = 65536;

// What a trigger needs to know, found once per statement.
struct maintained {
    band_table settings;
    Oid id_type;
    Oid owner;     // of the relation that the trigger fired for,
    AttrNumber id; // which may be a partition, and its columns
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
        known.owner = relation->rd_rel->relowner;
        known.id = partition_column(relation, known.settings, known.settings.id);
        known.signature = partition_column(relation, known.settings, known.settings.signature);
        fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(known));
        memcpy(fcinfo->flinfo->fn_extra, &known, sizeof(known));
    }
    return *static_cast<const maintained*>(fcinfo->flinfo->fn_extra);
}

// Keys and ids on their way into the band table or out of it.
struct key_batch {
    SPIPlanPtr plan;
    Oid id_type;
    MemoryContext memory;
    ArrayBuildState* keys;
    ArrayBuildState* ids;
};

// The parameters are arrays of keys and ids; writing in the order of the keys is kind to the index.
void open_batch(key_batch& batch, const maintained& known, bool insert)
{
    const char* const table = quoted_relation(known.settings.table);
    const char* const sql =
        insert ? psprintf("INSERT INTO %s (key, id) SELECT given.key, given.id"
                          " FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2))"
                          " AS given (key, id) ORDER BY given.key",
                          table)
               : psprintf("DELETE FROM %s AS banded USING (SELECT key, id FROM"
                          " ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2))"
                          " AS given (key, id) ORDER BY key) AS gone"
                          " WHERE banded.key OPERATOR(pg_catalog.=) gone.key"
                          " AND banded.id%sgone.id",
                          table,
                          equality_of(known.id_type));
    const Oid types[] = {INT8ARRAYOID, get_array_type(known.id_type)};
    batch = {};
    batch.plan = prepare_once(sql, types);
    batch.id_type = known.id_type;
    batch.memory = AllocSetContextCreate(CurrentMemoryContext,
                                         "minhash_lsh band keys",
                                         ALLOCSET_DEFAULT_SIZES);
}

void flush(key_batch& batch)
{
    if (batch.keys == nullptr)
        return;
    const MemoryContext former = MemoryContextSwitchTo(batch.memory);
    Datum values[] = {makeArrayResult(batch.keys, batch.memory),
                      makeArrayResult(batch.ids, batch.memory)};
    run(batch.plan, values, nullptr, false, snapshot::of_statement);
    MemoryContextSwitchTo(former);
    batch.keys = nullptr;
    batch.ids = nullptr;
    MemoryContextReset(batch.memory);
    CHECK_FOR_INTERRUPTS();
}

void add(key_batch& batch, std::int64_t key, Datum id)
{
    batch.keys = accumArrayResult(batch.keys, Int64GetDatum(key), false, INT8OID, batch.memory);
    batch.ids = accumArrayResult(batch.ids, id, false, batch.id_type, batch.memory);
}

// The keys that a row has on one side of a change and not on the other. An edit leaves many bands
// as they were, and a change of other columns all of them.
void add_differing(key_batch& batch,
                   const signed_row& row,
                   const signed_row& other,
                   const maintained& known,
                   bool same_id)
{
    if (!row.present || row.value.empty())
        return;
    const banding shape = known.settings.shape;
    check_bands(shape, row.value);
    const bool comparable = same_id && other.present && !other.value.empty() &&
                            shape.bands * shape.rows <= other.value.made.num_hashes;
    for (int band = 0; band < shape.bands; band++) {
        const std::int64_t key = band_key(row.value, band, shape.rows);
        if (!comparable || band_key(other.value, band, shape.rows) != key)
            add(batch, key, row.id);
    }
}

// Writes one side of all changes.
void write_side(row_reader& reader, const maintained& known, side which)
{
    const TypeCacheEntry* const id_type = lookup_type_cache(known.id_type, 0);
    key_batch batch;
    open_batch(batch, known, which == after);
    rewind_rows(reader);
    signed_row rows[2];
    while (next_rows(reader, rows)) {
        const bool same_id =
            rows[before].present && rows[after].present &&
            datum_image_eq(rows[before].id, rows[after].id, id_type->typbyval, id_type->typlen);
        add_differing(batch, rows[which], rows[which == before ? after : before], known, same_id);
        if (batch.keys != nullptr && batch.keys->nelems >= batch_keys)
            flush(batch);
    }
    flush(batch);
    MemoryContextDelete(batch.memory);
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

} // namespace

// The trigger function: AFTER INSERT, UPDATE or DELETE for each statement with its transition
// tables, or for each row; BEFORE TRUNCATE.
MINHASH_FUNCTION(lsh_maintain_band_table)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        fail_not_trigger("lsh_maintain_band_table");
    const TriggerData& event = *reinterpret_cast<const TriggerData*>(fcinfo->context);
    const maintained& known = settings_of(fcinfo, event);

    const identity former = act_as(known.owner);
    SPI_connect();
    if (TRIGGER_FIRED_BY_TRUNCATE(event.tg_event)) {
        truncate(event, known, fcinfo);
    } else {
        row_reader reader;
        open_rows(reader, &event, known.id, known.signature);
        // All old keys go before a new one comes: two rows may have changed their ids.
        for (const side which : {before, after})
            if (reader.slots[which] != nullptr)
                write_side(reader, known, which);
        close_rows(reader);
    }
    SPI_finish();
    act_again_as(former);
    return PointerGetDatum(nullptr);
}

} // namespace minhash::pg
