// The managed band tables and the guards of the database, for the views lsh_band_tables and
// lsh_guards.
#include "pg/arguments.h"
#include "pg/band_table/band_table.h"
#include "pg/extension.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

// The relations with a trigger that calls the function.
List* find_sources(Oid function)
{
    List* sources = NIL;
    ScanKeyData key;
    ScanKeyInit(&key,
                Anum_pg_trigger_tgfoid,
                BTEqualStrategyNumber,
                F_OIDEQ,
                ObjectIdGetDatum(function));
    const Relation triggers = table_open(TriggerRelationId, AccessShareLock);
    const SysScanDesc scan = systable_beginscan(triggers, InvalidOid, false, nullptr, 1, &key);
    while (const HeapTuple found = systable_getnext(scan)) {
        const Form_pg_trigger form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(found));
        sources = list_append_unique_oid(sources, form->tgrelid);
    }
    systable_endscan(scan);
    table_close(triggers, AccessShareLock);
    return sources;
}

Datum column_name(const band_table& table, AttrNumber column)
{
    return DirectFunctionCall1(namein, CStringGetDatum(get_attname(table.source, column, false)));
}

Datum scope_column(const band_table& table)
{
    return table.scope == InvalidAttrNumber ? 0 : column_name(table, table.scope);
}

void put_row(const ReturnSetInfo& result, const band_table& table)
{
    Datum values[] = {
        ObjectIdGetDatum(table.source),
        ObjectIdGetDatum(table.table),
        column_name(table, table.id),
        column_name(table, table.signature),
        Int32GetDatum(table.shape.bands),
        Int32GetDatum(table.shape.rows),
        scope_column(table),
    };
    bool nulls[std::size(values)] = {};
    nulls[std::size(values) - 1] = table.scope == InvalidAttrNumber;
    tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
}

// A trigger function of guards, of the schema of the function that is called.
Oid guard_function(FunctionCallInfo fcinfo, const char* name)
{
    const oidvector* const no_arguments = buildoidvector(nullptr, 0);
    return GetSysCacheOid3(PROCNAMEARGSNSP,
                           Anum_pg_proc_oid,
                           CStringGetDatum(name),
                           PointerGetDatum(no_arguments),
                           ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo->fn_oid)));
}

// What a guard's trigger says. One made by hand can leave out or mistake what it is to say.
void put_guard(const ReturnSetInfo& result, const Trigger& trigger, Relation source, Oid function)
{
    const Oid watched = watched_table(trigger);
    const band_tables_found found = search_above(source, {watched, function, NoLock});
    const bool scoped = found.count == 1 && found.one.scope != InvalidAttrNumber;
    const bool marks = trigger.tgnargs > 1;
    char* end = nullptr;
    const double threshold = trigger.tgnargs > 0 ? strtod(trigger.tgargs[0], &end) : 0;
    const bool no_threshold = end == nullptr || end == trigger.tgargs[0] || *end != '\0';
    Datum values[] = {
        ObjectIdGetDatum(RelationGetRelid(source)),
        ObjectIdGetDatum(watched),
        DirectFunctionCall1(namein, CStringGetDatum(trigger.tgname)),
        Float8GetDatum(threshold),
        marks ? DirectFunctionCall1(namein, CStringGetDatum(trigger.tgargs[1])) : 0,
        scoped ? scope_column(found.one) : 0,
    };
    bool nulls[] = {false, !OidIsValid(watched), false, no_threshold, !marks, !scoped};
    tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
}

} // namespace

// lsh_list_guards() -> (source, band_table, trigger, threshold, mark, scope_column)
MINHASH_FUNCTION(lsh_list_guards)
{
    const ReturnSetInfo& result = start_rows(fcinfo);
    for (const char* const name : {"lsh_reject_near_duplicates", "lsh_mark_near_duplicates"}) {
        const Oid function = guard_function(fcinfo, name);
        const List* const sources = find_sources(function);
        for (int i = 0; i < list_length(sources); i++) {
            const Relation source = try_relation_open(list_nth_oid(sources, i), AccessShareLock);
            if (source == nullptr)
                continue;
            for (int t = 0; t < count_triggers(source); t++) {
                const Trigger& trigger = source->trigdesc->triggers[t];
                if (trigger.tgfoid == function && !trigger.tgisclone)
                    put_guard(result, trigger, source, maintaining_function(fcinfo));
            }
            relation_close(source, AccessShareLock);
        }
    }
    return static_cast<Datum>(0);
}

// lsh_list_band_tables() -> (source, band_table, id_column, signature_column, bands, rows,
// scope_column)
MINHASH_FUNCTION(lsh_list_band_tables)
{
    const ReturnSetInfo& result = start_rows(fcinfo);
    const Oid function = maintaining_function(fcinfo);
    const band_table_search all = {InvalidOid, function, NoLock};
    const List* const sources = find_sources(function);
    for (int i = 0; i < list_length(sources); i++) {
        const Relation source = try_relation_open(list_nth_oid(sources, i), AccessShareLock);
        if (source == nullptr)
            continue;
        band_table found;
        for (int t = 0; t < count_triggers(source); t++)
            if (read_settings(source, source->trigdesc->triggers[t], function, found) &&
                is_band_table(found, all, false))
                put_row(result, found);
        relation_close(source, AccessShareLock);
    }
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
