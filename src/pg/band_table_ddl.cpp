// Making, dropping and refreshing managed band tables. Whoever owns the source may, and all is done
// as its owner, whose the band table is, too.
#include "pg/band_table.h"
#include "pg/errors.h"
#include "pg/statements.h"

#include "core/tuning.h"

#include <algorithm>

namespace minhash::pg {

namespace {

// Locks a table against writes and other changes of its triggers, with all of its partitions.
Relation lock_source(Oid source)
{
    const Relation relation = table_open(source, ShareRowExclusiveLock);
    if (!owns_relation(source, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER,
                       get_relkind_objtype(relation->rd_rel->relkind),
                       RelationGetRelationName(relation));
    find_all_inheritors(source, ShareRowExclusiveLock, nullptr);
    return relation;
}

bool is_partitioned(Relation source)
{
    return source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

// Whether rows come and go by other names than the table's own.
bool needs_row_triggers(Relation source)
{
    return is_partitioned(source) || source->rd_rel->relispartition;
}

void check_kind(Relation source)
{
    const char kind = source->rd_rel->relkind;
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        fail_source_kind(RelationGetRelid(source), kind);
    if (kind == RELKIND_RELATION && has_subclass(RelationGetRelid(source)) &&
        list_length(find_all_inheritors(RelationGetRelid(source), NoLock, nullptr)) > 1)
        fail_inheritance(RelationGetRelid(source));
}

AttrNumber find_column(Relation source, Name column)
{
    const AttrNumber found = get_attnum(RelationGetRelid(source), NameStr(*column));
    if (found <= 0)
        fail_no_column(RelationGetRelid(source), NameStr(*column));
    return found;
}

// An id must name one row: keys of two rows with one id could not be told apart. The unique index
// of a partitioned table has the partition key besides, so there it is the user's word.
void check_unique(Relation source, AttrNumber column)
{
    if (is_partitioned(source))
        return;
    bool unique = false;
    const List* const indexes = RelationGetIndexList(source);
    for (int i = 0; !unique && i < list_length(indexes); i++) {
        const Relation index = index_open(list_nth_oid(indexes, i), AccessShareLock);
        const Form_pg_index form = index->rd_index;
        unique = form->indisunique && form->indisvalid && form->indimmediate &&
                 form->indnkeyatts == 1 && form->indkey.values[0] == column &&
                 RelationGetIndexPredicate(index) == NIL;
        index_close(index, AccessShareLock);
    }
    if (!unique)
        fail_not_unique(RelationGetRelid(source), column);
}

// The number of hashes of the signatures: the column's type modifier, or a row's, or the default.
int hashes_of(FunctionCallInfo fcinfo, const band_table& made)
{
    Oid type;
    std::int32_t modifier;
    Oid collation;
    get_atttypetypmodcoll(made.source, made.signature, &type, &modifier, &collation);
    if (modifier > 0)
        return modifier;
    const char* const column = quoted_column(made.source, made.signature);
    const std::uint64_t rows =
        run_once(psprintf("SELECT %s.minhash_num_hashes(%s) FROM %s WHERE %s IS NOT NULL LIMIT 1",
                          extension_schema(fcinfo),
                          column,
                          quoted_relation(made.source),
                          column));
    bool null;
    return rows == 0 ? default_num_hashes
                     : DatumGetInt32(
                           SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
}

banding choose_shape(FunctionCallInfo fcinfo, const band_table& made)
{
    const int hashes = hashes_of(fcinfo, made);
    if (PG_ARGISNULL(5) != PG_ARGISNULL(6))
        fail_half_banding();
    if (!PG_ARGISNULL(5)) {
        const banding given = arg_banding(fcinfo, 5);
        if (given.bands * given.rows > hashes)
            fail_bands(given.bands, given.rows, hashes);
        return given;
    }
    const double threshold = arg_fraction(fcinfo, 3, "threshold");
    const double recall = arg_fraction(fcinfo, 4, "recall");
    const band_choice choice = choose_by_recall(threshold, hashes, recall);
    if (choice.bands == 0)
        fail_no_choice(threshold, hashes, recall);
    return {choice.bands, choice.rows};
}

// The rows (key, id) that the band table is to have, as SQL.
const char* wanted_rows(FunctionCallInfo fcinfo, const band_table& made)
{
    const char* const id = quoted_column(made.source, made.id);
    return psprintf("SELECT pg_catalog.unnest(%s.lsh_band_keys(%s, %d, %d)) AS key, %s AS id"
                    " FROM %s WHERE %s IS NOT NULL",
                    extension_schema(fcinfo),
                    quoted_column(made.source, made.signature),
                    made.shape.bands,
                    made.shape.rows,
                    id,
                    quoted_relation(made.source),
                    id);
}

// Sorts of the fill are as large as those of an index, and may use as much memory.
void fill(FunctionCallInfo fcinfo, Relation source, const char* name, const char* sql)
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
    const char persistence = source->rd_rel->relpersistence;
    run_once(psprintf("CREATE %s TABLE %s AS %s ORDER BY 1, 2",
                      persistence == RELPERSISTENCE_TEMP       ? "TEMPORARY"
                      : persistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED"
                                                               : "",
                      name,
                      sql));
    AtEOXact_GUC(false, level);
    run_once(psprintf("ALTER TABLE %s ADD PRIMARY KEY (key, id)", name));
}

// Drops the band table with its source, and not without CASCADE leaves it behind without the
// extension. pg_dump does not know of it, so a restored band table gets it when it is refreshed.
void tie(const band_table& made, Oid function)
{
    const ObjectAddress table = {RelationRelationId, made.table, 0};
    const ObjectAddress source = {RelationRelationId, made.source, 0};
    const ObjectAddress extension = {ExtensionRelationId,
                                     getExtensionOfObject(ProcedureRelationId, function),
                                     0};
    deleteDependencyRecordsForSpecific(RelationRelationId,
                                       made.table,
                                       DEPENDENCY_AUTO,
                                       RelationRelationId,
                                       made.source);
    recordDependencyOn(&table, &source, DEPENDENCY_AUTO);
    if (OidIsValid(extension.objectId)) {
        deleteDependencyRecordsForSpecific(RelationRelationId,
                                           made.table,
                                           DEPENDENCY_NORMAL,
                                           ExtensionRelationId,
                                           extension.objectId);
        recordDependencyOn(&table, &extension, DEPENDENCY_NORMAL);
    }
}

struct trigger_writer {
    const char* table; // the band table's name, for SQL and as a literal of SQL
    const char* literal;
    const char* bare;     // unquoted, without its schema
    const char* function; // the trigger function
};

void add_trigger(const trigger_writer& writer,
                 Oid relation,
                 const char* suffix,
                 const char* event,
                 const char* rest,
                 const char* test,
                 const char* arguments)
{
    run_once(psprintf("CREATE TRIGGER %s %s ON %s %s WHEN (%s::pg_catalog.regclass %s)"
                      " EXECUTE FUNCTION %s(%s)",
                      quote_identifier(makeObjectName(writer.bare, nullptr, suffix)),
                      event,
                      quoted_relation(relation),
                      rest,
                      writer.literal,
                      test,
                      writer.function,
                      arguments));
}

bool has_truncate_trigger(Relation relation, Oid table, Oid function)
{
    const TriggerDesc* const triggers = relation->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
        if (triggers->triggers[i].tgfoid == function &&
            TRIGGER_FOR_TRUNCATE(triggers->triggers[i].tgtype) &&
            watched_table(triggers->triggers[i]) == table)
            return true;
    return false;
}

// The source and, as no trigger for TRUNCATE is handed down, its partitions.
void add_truncate_triggers(const trigger_writer& writer, const band_table& made, Oid function)
{
    const List* const relations = find_all_inheritors(made.source, NoLock, nullptr);
    for (int i = 0; i < list_length(relations); i++) {
        const Oid relation = list_nth_oid(relations, i);
        const Relation opened = table_open(relation, NoLock);
        const bool wanted =
            (relation == made.source || opened->rd_rel->relkind == RELKIND_RELATION) &&
            !has_truncate_trigger(opened, made.table, function);
        table_close(opened, NoLock);
        if (wanted)
            add_trigger(writer,
                        relation,
                        "truncate",
                        "BEFORE TRUNCATE",
                        "FOR EACH STATEMENT",
                        "IS NOT NULL",
                        "");
    }
}

trigger_writer writer_for(FunctionCallInfo fcinfo, Oid table)
{
    trigger_writer writer;
    writer.table = quoted_relation(table);
    writer.literal = quote_literal_cstr(writer.table);
    writer.bare = get_rel_name(table);
    writer.function = psprintf("%s.lsh_maintain_band_table", extension_schema(fcinfo));
    return writer;
}

void add_triggers(FunctionCallInfo fcinfo, Relation source, const band_table& made, Oid function)
{
    const trigger_writer writer = writer_for(fcinfo, made.table);
    const Oid relation = made.source;
    add_trigger(writer,
                relation,
                "settings",
                psprintf("BEFORE UPDATE OF %s, %s",
                         quoted_column(relation, made.id),
                         quoted_column(relation, made.signature)),
                "FOR EACH STATEMENT",
                "IS NULL",
                psprintf("%d, %d", made.shape.bands, made.shape.rows));
    if (needs_row_triggers(source)) {
        add_trigger(writer,
                    relation,
                    "rows",
                    "AFTER INSERT OR UPDATE OR DELETE",
                    "FOR EACH ROW",
                    "IS NOT NULL",
                    "");
    } else {
        static const char* const events[][3] = {
            {"insert", "AFTER INSERT", "REFERENCING NEW TABLE AS new_rows"},
            {"update", "AFTER UPDATE", "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows"},
            {"delete", "AFTER DELETE", "REFERENCING OLD TABLE AS old_rows"},
        };
        for (const auto& [suffix, event, tables] : events)
            add_trigger(writer,
                        relation,
                        suffix,
                        event,
                        psprintf("%s FOR EACH STATEMENT", tables),
                        "IS NOT NULL",
                        "");
    }
    add_truncate_triggers(writer, made, function);
}

} // namespace

// lsh_create_band_table(source, id_column, signature_column, threshold, recall, bands, rows,
//                       band_table) -> regclass
MINHASH_FUNCTION(lsh_create_band_table)
{
    for (const int required : {0, 1, 2, 3, 4})
        if (PG_ARGISNULL(required))
            fail_null_argument(required, fcinfo->flinfo->fn_oid);
    const Oid function = maintaining_function(fcinfo);
    const Relation source = lock_source(PG_GETARG_OID(0));
    check_kind(source);

    band_table made = {};
    made.source = RelationGetRelid(source);
    made.id = find_column(source, PG_GETARG_NAME(1));
    made.signature = find_column(source, PG_GETARG_NAME(2));
    const Oid id_type = get_atttype(made.source, made.id);
    if (get_atttype(made.source, made.signature) != signature_type(fcinfo))
        fail_column_type(made.source, made.signature, "minhash_signature");
    if (!OidIsValid(lookup_type_cache(id_type, TYPECACHE_BTREE_OPFAMILY)->btree_opf) ||
        !OidIsValid(get_array_type(id_type)))
        fail_id_type(made.source, made.id);
    check_unique(source, made.id);

    const identity former = act_as(source->rd_rel->relowner);
    SPI_connect();
    made.shape = choose_shape(fcinfo, made);
    const Oid schema = RelationGetNamespace(source);
    const char* const name = PG_ARGISNULL(7)
                                 ? makeObjectName(RelationGetRelationName(source), nullptr, "bands")
                                 : NameStr(*PG_GETARG_NAME(7));
    const char* const qualified = quote_qualified_identifier(get_namespace_name(schema), name);
    const char* const rows = wanted_rows(fcinfo, made);
    fill(fcinfo, source, qualified, rows);
    made.table = get_relname_relid(name, schema);
    run_once(psprintf("COMMENT ON TABLE %s IS %s",
                      qualified,
                      quote_literal_cstr(psprintf("LSH band keys of %s, kept by its triggers",
                                                  quoted_relation(made.source)))));
    add_triggers(fcinfo, source, made, function);
    tie(made, function);
    run_once(psprintf("ANALYZE %s", qualified));
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);
    PG_RETURN_OID(made.table);
}

// lsh_drop_band_table(source, band_table) -> void
MINHASH_FUNCTION(lsh_drop_band_table)
{
    const Oid function = maintaining_function(fcinfo);
    if (PG_ARGISNULL(0))
        fail_null_argument(0, fcinfo->flinfo->fn_oid);
    const Relation source = lock_source(PG_GETARG_OID(0));
    const Oid chosen = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
    const Oid table = find_band_table(source, chosen, function).table;

    const identity former = act_as(source->rd_rel->relowner);
    SPI_connect();
    const char* const name = quoted_relation(table);
    const List* const relations = find_all_inheritors(RelationGetRelid(source), NoLock, nullptr);
    for (int i = 0; i < list_length(relations); i++) {
        const Relation relation = table_open(list_nth_oid(relations, i), NoLock);
        const char* const quoted = quoted_relation(RelationGetRelid(relation));
        // A copy: the first DROP TRIGGER makes the relation's own list anew.
        const TriggerDesc* const triggers = CopyTriggerDesc(relation->trigdesc);
        table_close(relation, NoLock);
        for (int j = 0; triggers != nullptr && j < triggers->numtriggers; j++) {
            const Trigger& trigger = triggers->triggers[j];
            if (trigger.tgfoid == function && !trigger.tgisclone && watched_table(trigger) == table)
                run_once(
                    psprintf("DROP TRIGGER %s ON %s", quote_identifier(trigger.tgname), quoted));
        }
    }
    run_once(psprintf("DROP TABLE %s", name));
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
    const Relation source = lock_source(PG_GETARG_OID(0));
    const Oid chosen = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
    const band_table kept = find_band_table(source, chosen, function);

    const identity former = act_as(source->rd_rel->relowner);
    SPI_connect();
    const char* const table = quoted_relation(kept.table);
    const char* const wanted = wanted_rows(fcinfo, kept);
    const std::uint64_t removed = run_once(
        psprintf("DELETE FROM %s AS banded USING (SELECT key, id FROM %s EXCEPT %s) AS stale"
                 " WHERE banded.key OPERATOR(pg_catalog.=) stale.key AND banded.id%sstale.id",
                 table,
                 table,
                 wanted,
                 equality_of(get_atttype(kept.source, kept.id))));
    const std::uint64_t added =
        run_once(psprintf("INSERT INTO %s (key, id) SELECT key, id FROM"
                          " (%s EXCEPT SELECT key, id FROM %s) AS missing ORDER BY key, id",
                          table,
                          wanted,
                          table));
    add_truncate_triggers(writer_for(fcinfo, kept.table), kept, function);
    tie(kept, function);
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);

    Datum values[] = {Int64GetDatum(static_cast<std::int64_t>(added)),
                      Int64GetDatum(static_cast<std::int64_t>(removed))};
    return make_row(fcinfo, values);
}

} // namespace minhash::pg
