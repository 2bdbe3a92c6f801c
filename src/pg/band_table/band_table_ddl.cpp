// Making, dropping and refreshing managed band tables. Whoever owns the source may, and all is done
// as its owner, whose the band table is, too.
#include "pg/arguments.h"
#include "pg/band_table/band_table.h"
#include "pg/band_table/band_table_ddl.h"
#include "pg/band_table/statements.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "core/tuning.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

bool is_partitioned(Relation source)
{
    return source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

void check_kind(Relation source)
{
    const char kind = source->rd_rel->relkind;
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        ereport(ERROR,
                errcode(ERRCODE_WRONG_OBJECT_TYPE),
                errmsg("relation \"%s\" cannot have a band table", RelationGetRelationName(source)),
                errdetail_relkind_not_supported(kind),
                errhint("Use an ordinary or a partitioned table, or join lsh_bands() by hand."));
    if (kind == RELKIND_RELATION && has_subclass(RelationGetRelid(source)) &&
        list_length(find_all_inheritors(RelationGetRelid(source), NoLock, nullptr)) > 1)
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("table \"%s\" cannot have a band table because other tables inherit from it",
                       RelationGetRelationName(source)),
                errhint("Use a partitioned table, or give each of the tables a band table."));
}

AttrNumber find_column(Relation source, Name column)
{
    const AttrNumber found = get_attnum(RelationGetRelid(source), NameStr(*column));
    if (found <= 0)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_COLUMN),
                errmsg("column \"%s\" of table \"%s\" does not exist",
                       NameStr(*column),
                       RelationGetRelationName(source)),
                errhint("Name the columns with id_column => '...' and signature_column => '...', "
                        "or add one: ALTER TABLE ... ADD COLUMN sig minhash_signature GENERATED "
                        "ALWAYS AS (minhash(...)) STORED."));
    return found;
}

// An id must name one row: keys of two rows with one id could not be told apart. The unique index
// of a partitioned table has the partition key besides, so there we trust the user.
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
        ereport(ERROR,
                errcode(ERRCODE_INVALID_TABLE_DEFINITION),
                errmsg("column \"%s\" of table \"%s\" has no unique index",
                       get_attname(RelationGetRelid(source), column, false),
                       RelationGetRelationName(source)),
                errhint("Make it the primary key, or give it a unique constraint."));
}

void check_column_types(const band_table& scheme, Oid id_type, Oid signature)
{
    if (get_atttype(scheme.source, scheme.signature) != signature)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of table \"%s\" is of type %s, not minhash_signature",
                       get_attname(scheme.source, scheme.signature, false),
                       get_rel_name(scheme.source),
                       format_type_be(get_atttype(scheme.source, scheme.signature))),
                errhint("Add a column: ALTER TABLE ... ADD COLUMN sig minhash_signature GENERATED "
                        "ALWAYS AS (minhash(...)) STORED."));
    if (!OidIsValid(lookup_type_cache(id_type, TYPECACHE_BTREE_OPFAMILY)->btree_opf) ||
        !OidIsValid(get_array_type(id_type)))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of type %s cannot be used as an id",
                       get_attname(scheme.source, scheme.id, false),
                       format_type_be(id_type)),
                errdetail("Type %s has no default btree operator class, or no array type.",
                          format_type_be(id_type)),
                errhint("Choose another id_column."));
}

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

banding choose_shape(FunctionCallInfo fcinfo, const band_table& scheme)
{
    const int hashes = hashes_of(fcinfo, scheme);
    if (PG_ARGISNULL(5) != PG_ARGISNULL(6))
        fail_half_banding();
    if (!PG_ARGISNULL(5)) {
        const banding given = arg_banding(fcinfo, 5);
        check_hashes(given, hashes);
        return given;
    }
    const auto [threshold, recall] = arg_aim(fcinfo, 3, 4);
    const band_choice choice = choose_by_recall(threshold, hashes, recall);
    if (choice.bands == 0)
        fail_no_choice(threshold, hashes, recall);
    return {choice.bands, choice.rows};
}

// The rows (key, id) that the band table is to have, as SQL.
const char* wanted_rows(FunctionCallInfo fcinfo, const band_table& scheme)
{
    const char* const id = quoted_column(scheme.source, scheme.id);
    return psprintf("SELECT pg_catalog.unnest(%s.lsh_band_keys(%s, %d, %d)) AS key, %s AS id"
                    " FROM %s WHERE %s IS NOT NULL",
                    extension_schema(fcinfo),
                    quoted_column(scheme.source, scheme.signature),
                    scheme.shape.bands,
                    scheme.shape.rows,
                    id,
                    quoted_relation(scheme.source),
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
    // The mark by which the rule of band_table_rule.cpp knows the table.
    run_once(psprintf(
        "ALTER TABLE %s ADD PRIMARY KEY (key, id), ADD CONSTRAINT %s %s",
        name,
        quote_identifier(makeObjectName(RelationGetRelationName(source), "bands", "source")),
        mark_of(RelationGetRelid(source))));
}

void tie(const ObjectAddress& object, const ObjectAddress& to, DependencyType how)
{
    deleteDependencyRecordsForSpecific(object.classId,
                                       object.objectId,
                                       static_cast<char>(how),
                                       to.classId,
                                       to.objectId);
    recordDependencyOn(&object, &to, how);
}

// What is dropped with what: the band table with its source; the triggers with the one that holds
// the settings, also those of partitions that are none any more; and the extension not without
// CASCADE. pg_dump does not know of it, so what was restored is tied when it is refreshed. (A table
// that depends on a column makes ALTER COLUMN TYPE fail with an internal error. So the triggers
// alone depend on the two columns.)
void tie_all(const band_table& scheme, Oid function)
{
    const ObjectAddress table = {RelationRelationId, scheme.table, 0};
    const ObjectAddress settings = {TriggerRelationId, scheme.settings, 0};
    const ObjectAddress extension = {ExtensionRelationId,
                                     getExtensionOfObject(ProcedureRelationId, function),
                                     0};
    const ObjectAddress source = {RelationRelationId, scheme.source, 0};
    tie(table, source, DEPENDENCY_AUTO);
    if (OidIsValid(extension.objectId))
        tie(table, extension, DEPENDENCY_NORMAL);

    const std::uint64_t triggers = run_once(psprintf(
        "SELECT t.oid FROM pg_catalog.pg_trigger t, pg_catalog.pg_depend d"
        " WHERE d.classid OPERATOR(pg_catalog.=) %u AND d.objid OPERATOR(pg_catalog.=) t.oid"
        " AND d.refclassid OPERATOR(pg_catalog.=) %u"
        " AND d.refobjid OPERATOR(pg_catalog.=) %u"
        " AND t.tgfoid OPERATOR(pg_catalog.=) %u AND t.oid OPERATOR(pg_catalog.<>) %u"
        " AND t.tgparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid",
        TriggerRelationId,
        RelationRelationId,
        scheme.table,
        function,
        scheme.settings));
    for (std::uint64_t i = 0; i < triggers; i++) {
        bool null;
        const Datum found = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null);
        const ObjectAddress trigger = {TriggerRelationId, DatumGetObjectId(found), 0};
        tie(trigger, settings, DEPENDENCY_AUTO);
    }
}

// A kind of trigger, as CREATE TRIGGER and as pg_trigger.tgtype have it.
struct worker {
    const char* suffix;
    const char* event;
    const char* rest;
    int type;
};

constexpr worker row_worker = {
    "rows",
    "AFTER INSERT OR UPDATE OR DELETE",
    "FOR EACH ROW",
    TRIGGER_TYPE_ROW | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE,
};

constexpr worker statement_workers[] = {
    {"insert",
     "AFTER INSERT",
     "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT",
     TRIGGER_TYPE_INSERT},
    {"update",
     "AFTER UPDATE",
     "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT",
     TRIGGER_TYPE_UPDATE},
    {"delete",
     "AFTER DELETE",
     "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT",
     TRIGGER_TYPE_DELETE},
};

constexpr worker truncate_worker = {
    "truncate",
    "BEFORE TRUNCATE",
    "FOR EACH STATEMENT",
    TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_TRUNCATE,
};

const char* trigger_name(Relation relation, Oid trigger)
{
    for (int i = 0; i < count_triggers(relation); i++)
        if (relation->trigdesc->triggers[i].tgoid == trigger)
            return pstrdup(relation->trigdesc->triggers[i].tgname);
    elog(ERROR, "trigger %u is missing", trigger);
}

struct trigger_writer {
    Oid table;
    const char* bare;     // the band table's name, unquoted and without its schema,
    const char* literal;  // and as a literal of SQL
    const char* function; // the trigger function, by name and OID
    Oid function_oid;
};

trigger_writer writer_for(FunctionCallInfo fcinfo, Oid table, Oid function)
{
    return {
        .table = table,
        .bare = get_rel_name(table),
        .literal = quote_literal_cstr(quoted_relation(table)),
        .function = psprintf("%s.lsh_maintain_band_table", extension_schema(fcinfo)),
        .function_oid = function,
    };
}

// Another band table, since renamed, may have left triggers of the name that is wanted.
const char* free_name(const char* band_table, Oid relation, const char* suffix)
{
    const char* name = makeObjectName(band_table, nullptr, suffix);
    for (int i = 1; OidIsValid(get_trigger_oid(relation, name, true)); i++)
        name = makeObjectName(band_table, nullptr, psprintf("%s%d", suffix, i));
    return name;
}

void add_trigger(const trigger_writer& writer,
                 Oid relation,
                 const char* name,
                 const char* event,
                 const char* rest,
                 const char* test,
                 const char* arguments)
{
    run_once(psprintf("CREATE OR REPLACE TRIGGER %s %s ON %s %s WHEN (%s::pg_catalog.regclass %s)"
                      " EXECUTE FUNCTION %s(%s)",
                      quote_identifier(name),
                      event,
                      quoted_relation(relation),
                      rest,
                      writer.literal,
                      test,
                      writer.function,
                      arguments));
}

// The name of the trigger of a kind that a relation has for the band table, not of one that a table
// above it has handed down; null without one.
const char* find_worker(const trigger_writer& writer, Relation relation, const worker& kind)
{
    constexpr int kinds = TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT |
                          TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE | TRIGGER_TYPE_TRUNCATE;
    for (int i = 0; i < count_triggers(relation); i++) {
        const Trigger& trigger = relation->trigdesc->triggers[i];
        if (trigger.tgfoid == writer.function_oid && !trigger.tgisclone &&
            (trigger.tgtype & kinds) == kind.type && watched_table(trigger) == writer.table)
            return pstrdup(trigger.tgname);
    }
    return nullptr;
}

void add_worker(const trigger_writer& writer, Relation relation, const worker& kind)
{
    if (find_worker(writer, relation, kind) == nullptr)
        add_trigger(writer,
                    RelationGetRelid(relation),
                    free_name(writer.bare, RelationGetRelid(relation), kind.suffix),
                    kind.event,
                    kind.rest,
                    "IS NOT NULL",
                    "");
}

void drop_worker(const trigger_writer& writer, Relation relation, const worker& kind)
{
    if (const char* const found = find_worker(writer, relation, kind))
        run_once(psprintf("DROP TRIGGER %s ON %s",
                          quote_identifier(found),
                          quoted_relation(RelationGetRelid(relation))));
}

// Gives the source the triggers that it lacks, and its partitions theirs for TRUNCATE, as these
// are not handed down.
void add_workers(const trigger_writer& writer, Relation source)
{
    if (needs_row_triggers(source)) {
        // Statement triggers are from the time before the source became a partition.
        for (const worker& kind : statement_workers)
            drop_worker(writer, source, kind);
        add_worker(writer, source, row_worker);
    } else if (find_worker(writer, source, row_worker) == nullptr) {
        for (const worker& kind : statement_workers)
            add_worker(writer, source, kind);
    }
    add_worker(writer, source, truncate_worker);
    const List* const relations = find_all_inheritors(RelationGetRelid(source), NoLock, nullptr);
    for (int i = 1; i < list_length(relations); i++) { // after the source itself
        const Relation partition = table_open(list_nth_oid(relations, i), NoLock);
        if (partition->rd_rel->relkind == RELKIND_RELATION)
            add_worker(writer, partition, truncate_worker);
        table_close(partition, NoLock);
    }
}

const char* event_of_settings(const band_table& scheme)
{
    return psprintf("BEFORE UPDATE OF %s, %s",
                    quoted_column(scheme.source, scheme.id),
                    quoted_column(scheme.source, scheme.signature));
}

void advise_without_triggers(void*)
{
    // Citus gives no code of its own, which makes it an internal error.
    if (geterrcode() == ERRCODE_FEATURE_NOT_SUPPORTED || geterrcode() == ERRCODE_INTERNAL_ERROR)
        errhint("Keep the band keys of such a table by hand: see doc/more-than-one-server.md.");
}

// Makes the trigger that is to hold the settings, still without them: so a source that takes no
// triggers, as a table that Citus distributes, is an error before its rows are read. Filling the
// band table can take hours.
void try_trigger(FunctionCallInfo fcinfo, const band_table& scheme, const char* name)
{
    ErrorContextCallback advice = {error_context_stack, advise_without_triggers, nullptr};
    error_context_stack = &advice;
    run_once(psprintf("CREATE TRIGGER %s %s ON %s FOR EACH STATEMENT"
                      " EXECUTE FUNCTION %s.lsh_maintain_band_table()",
                      quote_identifier(name),
                      event_of_settings(scheme),
                      quoted_relation(scheme.source),
                      extension_schema(fcinfo)));
    error_context_stack = advice.previous;
}

} // namespace

Relation lock_source(Oid source, LOCKMODE mode)
{
    if (!owns_relation(source, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER,
                       get_relkind_objtype(get_rel_relkind(source)),
                       get_rel_name(source));
    const Relation relation = open_source(source, mode);
    find_all_inheritors(source, mode, nullptr);
    return relation;
}

identity act_for_owner(Relation source)
{
    const bool temporary = source->rd_rel->relpersistence == RELPERSISTENCE_TEMP;
    return act_as(source->rd_rel->relowner, temporary ? 0 : SECURITY_RESTRICTED_OPERATION);
}

bool needs_row_triggers(Relation source)
{
    return is_partitioned(source) || has_superclass(RelationGetRelid(source));
}

// lsh_create_band_table(source, id_column, signature_column, threshold, recall, bands, rows,
//                       band_table) -> regclass
MINHASH_FUNCTION(lsh_create_band_table)
{
    for (const int required : {0, 1, 2, 3, 4})
        if (PG_ARGISNULL(required))
            fail_null_argument(required, fcinfo->flinfo->fn_oid);
    const Oid function = maintaining_function(fcinfo);
    const Relation source = lock_source(PG_GETARG_OID(0), ShareRowExclusiveLock);
    check_kind(source);

    band_table scheme = {};
    scheme.source = RelationGetRelid(source);
    scheme.id = find_column(source, PG_GETARG_NAME(1));
    scheme.signature = find_column(source, PG_GETARG_NAME(2));
    check_column_types(scheme, get_atttype(scheme.source, scheme.id), signature_type(fcinfo));
    check_unique(source, scheme.id);

    const identity former = act_for_owner(source);
    SPI_connect();
    scheme.shape = choose_shape(fcinfo, scheme);
    const Oid schema = RelationGetNamespace(source);
    const char* const name = PG_ARGISNULL(7)
                                 ? makeObjectName(RelationGetRelationName(source), nullptr, "bands")
                                 : NameStr(*PG_GETARG_NAME(7));
    const char* const qualified = quote_qualified_identifier(get_namespace_name(schema), name);
    const char* const rows = wanted_rows(fcinfo, scheme);
    const char* const settings = free_name(name, scheme.source, "settings");
    try_trigger(fcinfo, scheme, settings);
    fill(fcinfo, source, qualified, rows);
    scheme.table = get_relname_relid(name, schema);
    run_once(psprintf("COMMENT ON TABLE %s IS %s",
                      qualified,
                      quote_literal_cstr(psprintf("LSH band keys of %s, kept by its triggers",
                                                  quoted_relation(scheme.source)))));
    const trigger_writer writer = writer_for(fcinfo, scheme.table, function);
    add_trigger(writer,
                scheme.source,
                settings,
                event_of_settings(scheme),
                "FOR EACH STATEMENT",
                "IS NULL",
                psprintf("%d, %d", scheme.shape.bands, scheme.shape.rows));
    add_workers(writer, source);
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
    const Oid chosen = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
    const band_table dropped = find_band_table(source, {chosen, function, AccessExclusiveLock});

    const identity former = act_for_owner(source);
    SPI_connect();
    const char* const table = quoted_relation(dropped.table);
    tie_all(dropped, function);
    run_once(psprintf("DROP TRIGGER %s ON %s",
                      quote_identifier(trigger_name(source, dropped.settings)),
                      quoted_relation(dropped.source)));
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
    const Oid chosen = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
    const band_table kept = find_band_table(source, {chosen, function, RowExclusiveLock});
    check_kind(source);

    const identity former = act_for_owner(source);
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
    add_workers(writer_for(fcinfo, kept.table, function), source);
    tie_all(kept, function);
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);

    Datum values[] = {Int64GetDatum(static_cast<std::int64_t>(added)),
                      Int64GetDatum(static_cast<std::int64_t>(removed))};
    return make_row(fcinfo, values);
}

} // namespace minhash::pg
