// What kept clusters and samples do with a user's query: find out what it returns, hash its rows, and run a statement
// that contains it. The query is found and run with the search path that is kept with it.
#include "pg/arguments.h"
#include "pg/bulk/call.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/internal_call.h"
#include "pg/owned_relation.h"

#include "core/hash.h"

extern "C" {
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

enum { arg_path = arg_query + 1, arg_origin, arg_seed = arg_origin, arg_contents };

// Names where the query is kept if something in it does not exist (any more).
void tell_origin(void* origin)
{
    keep_context(true);
    const int code = geterrcode();
    if (origin != nullptr && (code == ERRCODE_UNDEFINED_COLUMN || code == ERRCODE_UNDEFINED_TABLE ||
                              code == ERRCODE_UNDEFINED_FUNCTION || code == ERRCODE_INVALID_SCHEMA_NAME))
        errhint("The query is kept in the table %s. UPDATE it there.", static_cast<const char*>(origin));
}

// While a user's query is parsed and runs, names are found in its own search path, and the context of errors does not
// show the statements of ours around it. After an error, the end of the (sub)transaction restores the search path, and
// whoever catches the error the context.
struct query_setting {
    int level;
    ErrorContextCallback* outer;
    ErrorContextCallback own;
};

void enter(query_setting& setting, FunctionCallInfo fcinfo, char* origin)
{
    setting.level = NewGUCNestLevel();
    (void)set_config_option("search_path",
                            text_to_cstring(PG_GETARG_TEXT_PP(arg_path)),
                            PGC_USERSET,
                            PGC_S_SESSION,
                            GUC_ACTION_SAVE,
                            true,
                            0,
                            false);
    setting.outer = error_context_stack;
    setting.own = {nullptr, tell_origin, origin};
    error_context_stack = &setting.own;
}

void leave(const query_setting& setting)
{
    keep_context(false); // a NOTICE calls tell_origin(), too
    error_context_stack = setting.outer;
    AtEOXact_GUC(true, setting.level);
}

// The function that hashes values of a type: its own extended hash function, or else its output function, whose text is
// then hashed. (Texts and signatures are hashed as bytes.)
struct value_hash {
    FmgrInfo function;
    Oid collation;
    bool is_own;
};

struct hash_call : bulk_call {
    value_hash hashes[4]; // of the columns; that of the second is not used
    int columns;
    std::uint64_t seed;
    std::uint64_t contents; // the XOR of all rows' hashes
    std::uint64_t rows_read;
};

value_hash hash_for(Oid type)
{
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC);
    value_hash made = {};
    made.collation = entry->typcollation;
    made.is_own = OidIsValid(entry->hash_extended_proc);
    Oid function = entry->hash_extended_proc;
    bool is_varlena;
    if (!made.is_own)
        getTypeOutputInfo(type, &function, &is_varlena);
    fmgr_info(function, &made.function);
    return made;
}

std::uint64_t hash_value(value_hash& hash, Datum value, std::uint64_t seed)
{
    if (hash.is_own)
        return DatumGetUInt64(FunctionCall2Coll(&hash.function, hash.collation, value, UInt64GetDatum(seed)));
    const char* const written = OutputFunctionCall(&hash.function, value);
    return hash_any_bytes(reinterpret_cast<const std::uint8_t*>(written),
                          strlen(written),
                          static_cast<std::int64_t>(seed));
}

void take_hash_columns(DestReceiver* self, int, TupleDesc columns)
{
    hash_call& call = call_of<hash_call>(self);
    check_columns(call, columns);
    call.columns = columns->natts;
    for (int column = 0; column < columns->natts; column++)
        call.hashes[column] = hash_for(TupleDescAttr(columns, column)->atttypid);
}

bool take_hash_row(TupleTableSlot* row, DestReceiver* self)
{
    hash_call& call = call_of<hash_call>(self);
    MemoryContextReset(call.row_memory);
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    bool null;
    const Datum id = slot_getattr(row, 1, &null);
    if (null)
        ereport(ERROR,
                errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("query returned a row whose id is NULL"),
                errhint("Leave such rows out in the query."));
    // A NULL is hashed, too: its hash is not that of any value, and the values after it count as well.
    std::uint64_t hash = call.seed;
    for (int column = call.columns; column >= 1; column--) {
        const Datum value = slot_getattr(row, column, &null);
        const std::uint64_t seed = mix(hash + static_cast<std::uint64_t>(column));
        if (null)
            hash = mix(seed);
        else if (column != 2)
            hash = hash_value(call.hashes[column - 1], value, seed);
        else {
            const auto bytes = bytes_of(PG_DETOAST_DATUM_PACKED(value));
            hash = hash_any_bytes(bytes.data(), bytes.size(), static_cast<std::int64_t>(seed));
        }
    }
    call.contents ^= hash;
    put_row(*call.result, {id, Int64GetDatum(static_cast<std::int64_t>(hash))});
    MemoryContextSwitchTo(former);
    report_read(call, "reading rows", ++call.rows_read, call.expected_rows);
    return true;
}

bool take_any_row(TupleTableSlot* row, DestReceiver* self)
{
    tuplestore_puttupleslot(call_of<bulk_call>(self).result->setResult, row);
    return true;
}

void take_any_columns(DestReceiver* self, int, TupleDesc columns)
{
    const TupleDesc wanted = call_of<bulk_call>(self).result->setDesc;
    bool fits = columns->natts == wanted->natts;
    for (int i = 0; fits && i < columns->natts; i++)
        fits = TupleDescAttr(columns, i)->atttypid == TupleDescAttr(wanted, i)->atttypid;
    if (!fits)
        fail_result();
}

// A bigint[] of the relations that a query reads, also through views.
Datum relations_of(const CachedPlanSource* query, MemoryContext memory)
{
    const MemoryContext former = MemoryContextSwitchTo(memory);
    const List* const oids = query->relationOids;
    const auto oid_at = [oids](std::size_t at) { return list_nth_oid(oids, static_cast<int>(at)); };
    const Datum made = make_bigint_array(static_cast<std::size_t>(list_length(oids)), oid_at);
    MemoryContextSwitchTo(former);
    return made;
}

bool is_named(const char* table, const char* name) { return table != nullptr && strcmp(table, name) == 0; }

bool fits_note(const TriggerData& call)
{
    const bool has_old = is_named(call.tg_trigger->tgoldtable, "old_rows");
    const bool has_new = is_named(call.tg_trigger->tgnewtable, "new_rows");
    return TRIGGER_FIRED_BY_TRUNCATE(call.tg_event) ||
           ((has_old || TRIGGER_FIRED_BY_INSERT(call.tg_event)) && (has_new || TRIGGER_FIRED_BY_DELETE(call.tg_event)));
}

} // namespace

// _lsh_kept_query(query, search_path, origin) -> (id_type, equates_ids, is_signature, has_scope, has_rank, relations)
MINHASH_FUNCTION(lsh_kept_query)
{
    if (PG_ARGISNULL(arg_query) || PG_ARGISNULL(arg_path))
        PG_RETURN_NULL();
    bulk_call& call = *allocate<bulk_call>(CurrentMemoryContext);
    call = {};
    call.wanted.ranked = true;
    call.signature_type = signature_type(fcinfo->flinfo->fn_oid);
    query_setting setting;
    enter(setting, fcinfo, PG_ARGISNULL(arg_origin) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(arg_origin)));
    const MemoryContext outer = CurrentMemoryContext;
    SPI_connect();
    const planned_select query = plan_select(fcinfo, arg_query);
    const auto* const source = static_cast<CachedPlanSource*>(linitial(SPI_plan_get_plan_sources(query.plan)));
    check_columns(call, source->resultDesc);
    const Datum relations = relations_of(source, outer);
    const Oid collation = TupleDescAttr(source->resultDesc, 0)->attcollation;
    SPI_finish();
    leave(setting);
    const Oid id = getBaseType(call.wanted.id_type);
    if (id == RECORDOID)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("ids that are rows of several columns need a type with a name"),
                errhint("CREATE TYPE page_key AS (site text, nr bigint), and return (site, nr)::page_key."));
    require_order(id, "Ids need an order.");
    return make_row(fcinfo,
                    {ObjectIdGetDatum(id),
                     BoolGetDatum(OidIsValid(collation) && !get_collation_isdeterministic(collation)),
                     BoolGetDatum(!call.from_texts),
                     BoolGetDatum(call.scope_column > 0),
                     BoolGetDatum(call.rank_column > 0),
                     relations});
}

// _lsh_kept_hashes(query, search_path, seed, contents) -> (id, content_hash)
//
// If the XOR of all hashes and of their number is `contents`, the result is a single row of NULLs. (Without the number,
// a row that the query returns twice would not count.)
MINHASH_FUNCTION(lsh_kept_hashes)
{
    for (const int argument : {static_cast<int>(arg_query), static_cast<int>(arg_path), static_cast<int>(arg_seed)})
        refuse_null(fcinfo, argument);
    bulk_request wanted = {};
    wanted.ranked = true;
    query_setting setting;
    enter(setting, fcinfo, nullptr);
    hash_call& call = start_call<hash_call>(fcinfo, wanted);
    call.seed = static_cast<std::uint64_t>(PG_GETARG_INT64(arg_seed));
    const planned_select query = plan_select(fcinfo, arg_query);
    call.expected_rows = query.rows;
    run_select(query, call, take_hash_columns, take_hash_row);
    leave(setting);
    const std::uint64_t found = call.contents ^ call.rows_read;
    if (!PG_ARGISNULL(arg_contents) && found == static_cast<std::uint64_t>(PG_GETARG_INT64(arg_contents))) {
        Datum values[2] = {};
        bool nulls[2] = {true, true};
        tuplestore_clear(call.result->setResult);
        tuplestore_putvalues(call.result->setResult, call.result->setDesc, values, nulls);
    }
    return end_call(call);
}

// _lsh_kept_rows(query, search_path) -> the rows of the query
MINHASH_FUNCTION(lsh_kept_rows)
{
    query_setting setting;
    enter(setting, fcinfo, nullptr);
    bulk_call& call = start_call<bulk_call>(fcinfo, {});
    run_select(plan_select(fcinfo, arg_query), call, take_any_columns, take_any_row);
    leave(setting);
    return end_call(call);
}

// lsh_refresh_clusters(clusters, changed, log): calls _lsh_refresh_clusters() as the owner of the clusters.
MINHASH_FUNCTION(lsh_refresh_clusters) { return call_as_owner(fcinfo, ShareRowExclusiveLock); }

// lsh_create_clusters(clusters, query, threshold, ...): calls _lsh_create_clusters().
MINHASH_FUNCTION(lsh_create_clusters) { return call_internal(fcinfo); }

// lsh_refresh_clusters(clusters, threshold, ...): an ERROR that shows how to change a setting.
MINHASH_FUNCTION(lsh_refresh_clusters_at) { return call_internal(fcinfo); }

// _lsh_kept_note(): a trigger, which calls __lsh_kept_note() as the owner of its table. That reads transition tables by
// their names, so a trigger without them must not find something else of these names.
MINHASH_FUNCTION(lsh_kept_note)
{
    const auto* const call = reinterpret_cast<const TriggerData*>(fcinfo->context);
    if (!CALLED_AS_TRIGGER(fcinfo) || !fits_note(*call))
        ereport(ERROR,
                errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                errmsg("_lsh_kept_note() was not called by a trigger that a refresh has made"));
    const as_owner work = begin_as_owner(call->tg_relation->rd_rel->relowner);
    const Datum result = call_internal(fcinfo);
    end_as_owner(work);
    return result;
}

// _lsh_kept_locked_name(relation) -> text
//
// The name of a table of the current user, quoted, which means the table until the transaction ends.
MINHASH_FUNCTION(lsh_kept_locked_name)
{
    const Oid relation = PG_GETARG_OID(0);
    const Oid owner = lock_owned_relation(relation, RowExclusiveLock);
    if (get_rel_relkind(relation) != RELKIND_RELATION)
        ereport(ERROR,
                errcode(ERRCODE_WRONG_OBJECT_TYPE),
                errmsg("\"%s\" is not an ordinary table", get_rel_name(relation)),
                errhint("Clusters, their settings, a log and a queue are ordinary tables."));
    if (owner != GetUserId())
        ereport(ERROR,
                errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("table \"%s\" does not belong to the owner of the clusters", get_rel_name(relation)),
                errhint("ALTER TABLE %s OWNER TO %s;",
                        quoted_relation(relation),
                        quote_identifier(GetUserNameFromId(GetUserId(), false))));
    PG_RETURN_TEXT_P(cstring_to_text(quoted_relation(relation)));
}

} // namespace minhash::pg
