// Making, dropping and refreshing managed band tables. Whoever owns the source may, and all is done
// as its owner, whose the band table is, too.
#include "pg/arguments.h"
#include "pg/band_table/band_table.h"
#include "pg/band_table/maintaining_triggers.h"
#include "pg/band_table/source.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/progress.h"

#include "core/tuning.h"

#include <algorithm>

extern "C" {
#include "access/table.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace minhash::pg {

namespace {

// The number of hashes of the signatures: the column's type modifier, or a row's, or the default.
int hashes_of(FunctionCallInfo fcinfo, const band_table& scheme)
{
    Oid type;
    std::int32_t modifier;
    Oid collation;
    get_atttypetypmodcoll(scheme.source, scheme.signature, &type, &modifier, &collation);
    if (modifier > 0)
        return modifier;
    const char* const column = quoted_column(scheme.source, scheme.signature);
    const std::uint64_t rows =
        run_once(psprintf("SELECT %s.minhash_num_hashes(%s) FROM %s WHERE %s IS NOT NULL LIMIT 1",
                          extension_schema(fcinfo),
                          column,
                          quoted_relation(scheme.source),
                          column));
    bool null;
    return rows == 0 ? default_num_hashes
                     : DatumGetInt32(
                           SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
}

// Arguments of lsh_create_band_table().
enum create_argument {
    arg_source,
    arg_id_column,
    arg_signature_column,
    arg_threshold,
    arg_recall,
    arg_bands,
    arg_rows,
    arg_name,
    arg_text_column,
    arg_scope_column,
};

banding choose_shape(FunctionCallInfo fcinfo, const band_table& scheme)
{
    const int hashes = hashes_of(fcinfo, scheme);
    if (PG_ARGISNULL(arg_bands) != PG_ARGISNULL(arg_rows))
        fail_half_banding();
    if (!PG_ARGISNULL(arg_bands)) {
        const banding given = arg_banding(fcinfo, arg_bands);
        check_hashes(given, hashes);
        return given;
    }
    const auto [threshold, recall] = arg_aim(fcinfo, arg_threshold, arg_recall);
    const band_choice choice = choose_by_recall(threshold, hashes, recall);
    if (choice.bands == 0)
        fail_no_choice(threshold, hashes, recall);
    return {choice.bands, choice.rows};
}

// Shows how far the call is that reads all rows of a source, until SPI_finish(). lsh_band_keys()
// counts them.
void show_reading(Oid source, const char* phase)
{
    begin_phase(phase, rows_expected_of(psprintf("SELECT FROM %s", quoted_relation(source))));
}

// The rows (key, id) that the band table is to have, as SQL.
const char* wanted_rows(FunctionCallInfo fcinfo, const band_table& scheme)
{
    const char* const id = quoted_column(scheme.source, scheme.id);
    return psprintf("SELECT pg_catalog.unnest(%s) AS key, source.%s AS id FROM %s AS source"
                    " WHERE source.%s IS NOT NULL",
                    band_keys_of_source(extension_schema(fcinfo), scheme),
                    id,
                    quoted_relation(scheme.source),
                    id);
}

// Makes an empty table for rows.
void make_table(Relation source, const char* name, const char* rows)
{
    const char persistence = source->rd_rel->relpersistence;
    run_once(psprintf("CREATE %s TABLE %s AS %s WITH NO DATA",
                      persistence == RELPERSISTENCE_TEMP       ? "TEMPORARY"
                      : persistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED"
                                                               : "",
                      name,
                      rows));
}

// Sorts of the fill are as large as those of an index, and may use as much memory.
void fill(Relation source, const char* name, const char* rows)
{
    const int level = NewGUCNestLevel();
    set_config_option("work_mem",
                      psprintf("%d", std::max(work_mem, maintenance_work_mem)),
                      PGC_USERSET,
                      PGC_S_SESSION,
                      GUC_ACTION_SAVE,
                      true,
                      0,
                      false);
    run_once(psprintf("INSERT INTO %s %s ORDER BY 1, 2", name, rows));
    AtEOXact_GUC(false, level);
    begin_phase("making the primary key", 0);
    // The mark by which the rule of band_table_rule.cpp knows the table.
    run_once(psprintf(
        "ALTER TABLE %s ADD PRIMARY KEY (key, id), ADD CONSTRAINT %s %s",
        name,
        quote_identifier(makeObjectName(RelationGetRelationName(source), "bands", "source")),
        mark_of(RelationGetRelid(source))));
}

// Adds the column of signatures of the texts in another one.
void add_signatures(FunctionCallInfo fcinfo)
{
    const Relation source = lock_source(PG_GETARG_OID(arg_source), AccessExclusiveLock);
    check_source(source);
    const char* const table = quoted_relation(RelationGetRelid(source));
    const char* const text = quoted_column(RelationGetRelid(source),
                                           find_column(source, PG_GETARG_NAME(arg_text_column)));
    const identity former = act_for_owner(source);
    table_close(source, NoLock); // or ALTER TABLE would find it in use
    SPI_connect();
    run_once(psprintf("ALTER TABLE %s ADD COLUMN %s %s.minhash_signature"
                      " GENERATED ALWAYS AS (%s.minhash(%s)) STORED",
                      table,
                      quote_identifier(NameStr(*PG_GETARG_NAME(arg_signature_column))),
                      extension_schema(fcinfo),
                      extension_schema(fcinfo),
                      text));
    SPI_finish();
    act_again_as(former);
}

} // namespace

// lsh_create_band_table(source, id_column, signature_column, threshold, recall, bands, rows,
//                       band_table, text_column, scope_column) -> regclass
MINHASH_FUNCTION(lsh_create_band_table)
{
    for (const int required :
         {arg_source, arg_id_column, arg_signature_column, arg_threshold, arg_recall})
        if (PG_ARGISNULL(required))
            fail_null_argument(required, fcinfo->flinfo->fn_oid);
    const Oid function = maintaining_function(fcinfo);
    if (!PG_ARGISNULL(arg_text_column))
        add_signatures(fcinfo);
    const Relation source = lock_source(PG_GETARG_OID(arg_source), ShareRowExclusiveLock);
    check_source(source);

    band_table scheme = {};
    scheme.source = RelationGetRelid(source);
    scheme.id = find_column(source, PG_GETARG_NAME(arg_id_column));
    scheme.signature = find_column(source, PG_GETARG_NAME(arg_signature_column));
    check_column_types(scheme, get_atttype(scheme.source, scheme.id), signature_type(fcinfo));
    check_unique(source, scheme.id);
    if (!PG_ARGISNULL(arg_scope_column))
        scheme.scope = find_scope_column(source, scheme, PG_GETARG_NAME(arg_scope_column));

    const identity former = act_for_owner(source);
    SPI_connect();
    scheme.shape = choose_shape(fcinfo, scheme);
    start_progress(*allocate<progress>(CurrentMemoryContext), CurrentMemoryContext);
    show_reading(scheme.source, "reading rows");
    const Oid schema = RelationGetNamespace(source);
    const char* const name = PG_ARGISNULL(arg_name)
                                 ? makeObjectName(RelationGetRelationName(source), nullptr, "bands")
                                 : NameStr(*PG_GETARG_NAME(arg_name));
    const char* const qualified = quote_qualified_identifier(get_namespace_name(schema), name);
    const char* const rows = wanted_rows(fcinfo, scheme);
    make_table(source, qualified, rows);
    scheme.table = get_relname_relid(name, schema);
    // Before the work: there are tables that take no triggers.
    add_settings(fcinfo, scheme, free_name(name, scheme.source, "settings"));
    fill(source, qualified, rows);
    run_once(psprintf("COMMENT ON TABLE %s IS %s",
                      qualified,
                      quote_literal_cstr(psprintf("LSH band keys of %s, kept by its triggers",
                                                  quoted_relation(scheme.source)))));
    add_maintaining_triggers(fcinfo, scheme.table, source);
    tie_all(find_band_table(source, {scheme.table, function, RowExclusiveLock}), function);
    run_once(psprintf("ANALYZE %s", qualified));
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);
    PG_RETURN_OID(scheme.table);
}

// lsh_drop_band_table(source, band_table) -> void
MINHASH_FUNCTION(lsh_drop_band_table)
{
    const Oid function = maintaining_function(fcinfo);
    if (PG_ARGISNULL(0))
        fail_null_argument(0, fcinfo->flinfo->fn_oid);
    const Relation source = lock_source(PG_GETARG_OID(0), AccessExclusiveLock);
    const band_table dropped =
        find_band_table(source, {arg_chosen(fcinfo, 1), function, AccessExclusiveLock});

    const identity former = act_for_owner(source);
    SPI_connect();
    const char* const table = quoted_relation(dropped.table);
    tie_all(dropped, function);
    drop_settings(source, dropped);
    run_once(psprintf("DROP TABLE %s", table));
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);
    PG_RETURN_VOID();
}

// lsh_refresh_band_table(source, band_table) -> (added, removed)
MINHASH_FUNCTION(lsh_refresh_band_table)
{
    const Oid function = maintaining_function(fcinfo);
    if (PG_ARGISNULL(0))
        fail_null_argument(0, fcinfo->flinfo->fn_oid);
    const Relation source = lock_source(PG_GETARG_OID(0), ShareRowExclusiveLock);
    const band_table kept =
        find_band_table(source, {arg_chosen(fcinfo, 1), function, RowExclusiveLock});
    check_source(source);

    const identity former = act_for_owner(source);
    SPI_connect();
    const char* const table = quoted_relation(kept.table);
    const char* const wanted = wanted_rows(fcinfo, kept);
    start_progress(*allocate<progress>(CurrentMemoryContext), CurrentMemoryContext);
    show_reading(kept.source, "reading rows to find stale keys");
    const std::uint64_t removed = run_once(
        psprintf("DELETE FROM %s AS banded USING (SELECT key, id FROM %s EXCEPT %s) AS stale"
                 " WHERE banded.key OPERATOR(pg_catalog.=) stale.key AND banded.id%sstale.id",
                 table,
                 table,
                 wanted,
                 equality_of(get_atttype(kept.source, kept.id))));
    show_reading(kept.source, "reading rows to find missing keys");
    const std::uint64_t added =
        run_once(psprintf("INSERT INTO %s (key, id) SELECT key, id FROM"
                          " (%s EXCEPT SELECT key, id FROM %s) AS missing ORDER BY key, id",
                          table,
                          wanted,
                          table));
    add_maintaining_triggers(fcinfo, kept.table, source);
    tie_all(kept, function);
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);

    Datum values[] = {Int64GetDatum(static_cast<std::int64_t>(added)),
                      Int64GetDatum(static_cast<std::int64_t>(removed))};
    return make_row(fcinfo, values);
}

} // namespace minhash::pg
