// Making and dropping band tables: tables (key, id) of the caller's, with triggers of the caller's
// that keep them in step (upkeep.h). All is done as the caller.
#include "pg/bands/upkeep.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/progress.h"

#include "core/tuning.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

// Runs a statement with a snapshot of its own, as rows may have been committed since that of the
// transaction.
std::uint64_t run(const char* sql)
{
    const SPIPlanPtr plan = SPI_prepare(sql, 0, nullptr);
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
    const int result = SPI_execute_snapshot(plan,
                                            nullptr,
                                            nullptr,
                                            GetLatestSnapshot(),
                                            InvalidSnapshot,
                                            false,
                                            true,
                                            0);
    if (result < 0)
        elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(result));
    return SPI_processed;
}

void set(const char* setting, const char* value)
{
    set_config_option(setting, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

// Starts SPI; what is named without a schema is in pg_catalog. Policies that hide rows are an
// error.
int start_sql()
{
    SPI_connect();
    const int level = NewGUCNestLevel();
    set("search_path", "pg_catalog, pg_temp");
    set("row_security", "off");
    return level;
}

void end_sql(int level)
{
    AtEOXact_GUC(false, level);
    SPI_finish();
}

// Opens the source and locks it, with all partitions, against writers.
Relation lock_source(Oid source)
{
    (void)quoted_relation(source); // there is one
    if (!owns_relation(source, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER,
                       get_relkind_objtype(get_rel_relkind(source)),
                       get_rel_name(source));
    const Relation relation = relation_open(source, ShareRowExclusiveLock);
    const List* const all = find_all_inheritors(source, ShareRowExclusiveLock, nullptr);
    const char kind = relation->rd_rel->relkind;
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        ereport(
            ERROR,
            errcode(ERRCODE_WRONG_OBJECT_TYPE),
            errmsg("relation \"%s\" cannot have a band table", RelationGetRelationName(relation)),
            errdetail_relkind_not_supported(kind),
            errhint("Use an ordinary or a partitioned table, or join lsh_bands() by hand."));
    if (kind == RELKIND_RELATION && list_length(all) > 1)
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("table \"%s\" cannot have a band table because other tables inherit from it",
                       RelationGetRelationName(relation)),
                errhint("Use a partitioned table, or give each of the tables a band table."));
    return relation;
}

AttrNumber find_column(Relation source, const char* column, const char* hint)
{
    const AttrNumber found = get_attnum(RelationGetRelid(source), column);
    if (found <= 0)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_COLUMN),
                errmsg("column \"%s\" of table \"%s\" does not exist",
                       column,
                       RelationGetRelationName(source)),
                errhint("%s", hint));
    return found;
}

constexpr const char* add_signatures = "ALTER TABLE ... ADD COLUMN sig minhash_signature GENERATED "
                                       "ALWAYS AS (minhash(...)) STORED.";

AttrNumber find_signature(Relation source, const char* column, Oid type)
{
    const Oid relation = RelationGetRelid(source);
    const AttrNumber found = find_column(source, column, psprintf("Add it: %s", add_signatures));
    if (get_atttype(relation, found) != type)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("column \"%s\" of table \"%s\" is of type %s, not minhash_signature",
                       column,
                       RelationGetRelationName(source),
                       format_type_be(get_atttype(relation, found))),
                errhint("Add a column: %s", add_signatures));
    return found;
}

// The only column of signatures.
AttrNumber find_only_signature(Relation source, Oid type)
{
    AttrNumber found = InvalidAttrNumber;
    int count = 0;
    const TupleDesc columns = RelationGetDescr(source);
    for (int i = 0; i < columns->natts; i++) {
        const Form_pg_attribute column = TupleDescAttr(columns, i);
        if (column->attisdropped || column->atttypid != type)
            continue;
        found = column->attnum;
        count++;
    }
    if (count != 1)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_COLUMN),
                errmsg("table \"%s\" has %d columns of type minhash_signature",
                       RelationGetRelationName(source),
                       count),
                count == 0 ? errhint("Add one: %s", add_signatures)
                           : errhint("Choose one: signature_column => '...'."));
    return found;
}

// In a partitioned table no index can say so, unless it has the columns of the partition key.
void check_unique(Relation source, AttrNumber column)
{
    if (source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
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

// The number of hashes of the signatures: the column's type modifier, or a row's, or the default.
int hashes_of(const band_table& made)
{
    Oid type;
    std::int32_t modifier;
    Oid collation;
    get_atttypetypmodcoll(made.source, made.signature, &type, &modifier, &collation);
    if (modifier > 0)
        return modifier;
    const char* const column = quoted_column(made.source, made.signature);
    const std::uint64_t rows = run(psprintf("SELECT s.%s FROM %s s WHERE s.%s IS NOT NULL LIMIT 1",
                                            column,
                                            quoted_relation(made.source),
                                            column));
    if (rows == 0)
        return default_num_hashes;
    bool null;
    const auto* const stored =
        PG_DETOAST_DATUM(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
    return decode_stored(
               {reinterpret_cast<const std::uint8_t*>(VARDATA(stored)), VARSIZE(stored) - VARHDRSZ})
        .scheme.num_hashes;
}

enum create_argument {
    arg_source,
    arg_id_column,
    arg_signature_column,
    arg_threshold,
    arg_recall,
    arg_bands,
    arg_rows,
    arg_name,
};

banding choose_shape(FunctionCallInfo fcinfo, const band_table& made)
{
    const int hashes = hashes_of(made);
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

// What the arguments say, but for bands and rows.
band_table described(FunctionCallInfo fcinfo, Relation source)
{
    const Oid type = signature_type(fcinfo->flinfo->fn_oid);
    const bool partition = has_superclass(RelationGetRelid(source));
    return {
        .source = RelationGetRelid(source),
        .id = find_column(source,
                          NameStr(*PG_GETARG_NAME(arg_id_column)),
                          "Name the column of ids: id_column => '...'."),
        .signature =
            PG_ARGISNULL(arg_signature_column)
                ? find_only_signature(source, type)
                : find_signature(source, NameStr(*PG_GETARG_NAME(arg_signature_column)), type),
        .shape = {},
        .schema = get_namespace_name(RelationGetNamespace(source)),
        .name = PG_ARGISNULL(arg_name)
                    ? makeObjectName(RelationGetRelationName(source), nullptr, "bands")
                    : NameStr(*PG_GETARG_NAME(arg_name)),
        .extension = extension_schema(fcinfo),
        .by_rows = partition || source->rd_rel->relkind == RELKIND_PARTITIONED_TABLE,
    };
}

Oid make_table(Relation source, const band_table& made)
{
    const char persistence = source->rd_rel->relpersistence;
    run(psprintf("CREATE %s TABLE %s AS SELECT 0::bigint AS key, s.%s AS id FROM %s s WITH NO DATA",
                 persistence == RELPERSISTENCE_TEMP       ? "TEMPORARY"
                 : persistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED"
                                                          : "",
                 qualified(made),
                 quoted_column(made.source, made.id),
                 quoted_relation(made.source)));
    return get_relname_relid(made.name, RelationGetNamespace(source));
}

// By them DROP TABLE of the source or of the band table leaves nothing behind. A dump lacks them.
void tie(Oid object_class, Oid object, Oid table)
{
    const ObjectAddress tied = {object_class, object, 0};
    const ObjectAddress to = {RelationRelationId, table, 0};
    recordDependencyOn(&tied, &to, DEPENDENCY_AUTO);
}

void make_trigger(const band_table& made, Oid table, const upkeep_trigger& trigger)
{
    const char* const function = quote_qualified_identifier(made.schema, trigger.name);
    run(trigger.create_function);
    run(psprintf("COMMENT ON FUNCTION %s() IS %s", function, quote_literal_cstr(upkeep_comment)));
    run(trigger.create_trigger);
    const List* const name =
        list_make2(makeString(pstrdup(made.schema)), makeString(pstrdup(trigger.name)));
    tie(ProcedureRelationId, LookupFuncName(const_cast<List*>(name), 0, nullptr, false), table);
    tie(TriggerRelationId, get_trigger_oid(made.source, trigger.name, false), table);
}

// Sorts of the fill are as large as those of an index, and may use as much memory.
void fill(const band_table& made)
{
    const char* const name = qualified(made);
    const int level = NewGUCNestLevel();
    set("work_mem", psprintf("%d", std::max(work_mem, maintenance_work_mem)));
    begin_phase("reading rows", 0);
    run(psprintf("INSERT INTO %s (key, id) %s", name, wanted_rows(made)));
    begin_phase("making the primary key", 0);
    run(psprintf("ALTER TABLE %s ADD PRIMARY KEY (key, id)", name));
    AtEOXact_GUC(false, level);
    run(psprintf("ANALYZE %s", name));
}

} // namespace

// lsh_create_band_table(source, id_column, signature_column, threshold, recall, bands, rows,
//                       band_table) -> regclass
MINHASH_FUNCTION(lsh_create_band_table)
{
    for (const int required : {arg_source, arg_id_column, arg_threshold, arg_recall})
        if (PG_ARGISNULL(required))
            fail_null_argument(required, fcinfo->flinfo->fn_oid);
    const Relation source = lock_source(PG_GETARG_OID(arg_source));
    band_table made = described(fcinfo, source);
    check_unique(source, made.id);
    const int level = start_sql();
    made.shape = choose_shape(fcinfo, made);
    start_progress(*allocate<progress>(CurrentMemoryContext), CurrentMemoryContext);
    const Oid table = make_table(source, made);
    tie(RelationRelationId, table, made.source);
    table_close(source, NoLock); // or CREATE TRIGGER would find it in use
    // Before the work: there are tables that take no triggers.
    for (const upkeep_trigger& trigger : upkeep_triggers(made))
        make_trigger(made, table, trigger);
    fill(made);
    run(psprintf("COMMENT ON TABLE %s IS %s",
                 qualified(made),
                 quote_literal_cstr(psprintf("LSH band keys of %s, kept in step by its triggers",
                                             quoted_relation(made.source)))));
    end_sql(level);
    PG_RETURN_OID(table);
}

// lsh_drop_band_table(band_table) -> void
//
// DROP TABLE does as much, but for the dependencies that a dump does not keep.
MINHASH_FUNCTION(lsh_drop_band_table)
{
    const Oid table = PG_GETARG_OID(0);
    const char* const name = quoted_relation(table);
    const int level = start_sql();
    const std::uint64_t count =
        run(psprintf("SELECT format('DROP TRIGGER %%I ON %%s', tgname, tgrelid::regclass),"
                     " 'DROP FUNCTION ' || tgfoid::regprocedure"
                     " FROM pg_trigger t JOIN pg_depend d ON d.classid = %u AND d.objid = t.oid"
                     " WHERE d.refclassid = %u AND d.refobjid = %u AND d.deptype = 'n'"
                     " AND t.tgparentid = 0 AND obj_description(t.tgfoid, 'pg_proc') = %s",
                     TriggerRelationId,
                     RelationRelationId,
                     table,
                     quote_literal_cstr(upkeep_comment)));
    if (count == 0)
        ereport(ERROR,
                errcode(ERRCODE_WRONG_OBJECT_TYPE),
                errmsg("no trigger of lsh_create_band_table() is for relation %s", name),
                errhint("Use DROP TABLE."));
    const SPITupleTable* const rows = SPI_tuptable;
    for (int part : {1, 2})
        for (std::uint64_t i = 0; i < count; i++)
            run(SPI_getvalue(rows->vals[i], rows->tupdesc, part));
    run(psprintf("DROP TABLE %s", name));
    end_sql(level);
    PG_RETURN_VOID();
}

// lsh_require_band_table(band_table, name, privileges) -> boolean
//
// True, or an ERROR: in the WHEN of a trigger, it says what a writer lacks. The functions of the
// triggers name the band table, and after ALTER TABLE ... RENAME another one may have that name.
MINHASH_FUNCTION(lsh_require_band_table)
{
    const Oid table = PG_GETARG_OID(0);
    const char* const name = text_to_cstring(PG_GETARG_TEXT_PP(1));
    const char* const privileges = text_to_cstring(PG_GETARG_TEXT_PP(2));
    if (strcmp(name, quoted_relation(table)) != 0)
        ereport(ERROR,
                errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("band table %s is now %s", name, quoted_relation(table)),
                errdetail("Trigger functions name it."),
                errhint("Rename it back, or drop it by lsh_drop_band_table() and create another."));

    constexpr struct {
        const char* name;
        AclMode mode;
    } known[] = {{"SELECT", ACL_SELECT},
                 {"INSERT", ACL_INSERT},
                 {"DELETE", ACL_DELETE},
                 {"TRUNCATE", ACL_TRUNCATE}};

    for (const auto& privilege : known)
        if (strstr(privileges, privilege.name) != nullptr &&
            pg_class_aclcheck(table, GetUserId(), privilege.mode) != ACLCHECK_OK)
            ereport(ERROR,
                    errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for table %s", get_rel_name(table)),
                    errhint("GRANT %s ON %s TO %s;",
                            privileges,
                            name,
                            quote_identifier(GetUserNameFromId(GetUserId(), false))));
    PG_RETURN_BOOL(true);
}

} // namespace minhash::pg
