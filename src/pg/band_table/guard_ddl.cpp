// Making and dropping guards: the triggers, with names that let them fire after those of the band
// table, and with what can be wrong checked when they are made.
#include "pg/arguments.h"
#include "pg/band_table/guard_check.h"
#include "pg/band_table/source.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/settings.h"

#include "core/tuning.h"

extern "C" {
#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace minhash::pg {

namespace {

constexpr const char* reject_function = "lsh_reject_near_duplicates";
constexpr const char* mark_function = "lsh_mark_near_duplicates";

struct guard_definition {
    const char* events;
    const char* level;
    const char* suffix;
};

constexpr guard_definition of_rows = {"INSERT OR UPDATE", "FOR EACH ROW", "rows"};

constexpr guard_definition of_statements[] = {
    {"INSERT", "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT", "insert"},
    {"UPDATE",
     "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT",
     "update"},
};

// A name that no trigger has and that sorts after those of all triggers of the band table.
const char* guard_name(Relation source, const band_table& watched, const char* suffix)
{
    const char* prefix = "zz";
    for (;; prefix = psprintf("%sz", prefix)) {
        const char* const name = makeObjectName(prefix, get_rel_name(watched.table), suffix);
        bool is_last = !OidIsValid(get_trigger_oid(watched.source, name, true));
        for (int i = 0; is_last && i < count_triggers(source); i++) {
            const Trigger& other = source->trigdesc->triggers[i];
            is_last = watched_table(other) != watched.table || strcmp(other.tgname, name) < 0;
        }
        if (is_last)
            return name;
    }
}

void create_trigger(FunctionCallInfo fcinfo,
                    Relation source,
                    const band_table& watched,
                    const guard_definition& what,
                    double threshold,
                    const char* mark)
{
    run_once(
        psprintf("CREATE TRIGGER %s AFTER %s ON %s %s WHEN (%s::pg_catalog.regclass IS NOT NULL)"
                 " EXECUTE FUNCTION %s.%s('%s'%s%s)",
                 quote_identifier(guard_name(source, watched, what.suffix)),
                 what.events,
                 quoted_relation(watched.source),
                 what.level,
                 quote_literal_cstr(quoted_relation(watched.table)),
                 extension_schema(fcinfo),
                 mark != nullptr ? mark_function : reject_function,
                 float8out_internal(threshold),
                 mark != nullptr ? ", " : "",
                 mark != nullptr ? quote_literal_cstr(mark) : ""));
}

// Whether a trigger is a guard that looks rows up in the band table.
bool is_guard(const Trigger& trigger, const band_table& watched, Oid namespace_of)
{
    const char* const function = get_func_name(trigger.tgfoid);
    return function != nullptr && get_func_namespace(trigger.tgfoid) == namespace_of &&
           (strcmp(function, reject_function) == 0 || strcmp(function, mark_function) == 0) &&
           !trigger.tgisclone && watched_table(trigger) == watched.table;
}

band_table arg_watched(FunctionCallInfo fcinfo, Relation source, int argument)
{
    return find_band_table(
        source,
        {arg_chosen(fcinfo, argument), maintaining_function(fcinfo), AccessShareLock});
}

// A guard at a threshold that the bands were not made for would miss much and not say so.
void notice_recall(const band_table& watched, double threshold)
{
    const double share = band_probability(threshold, watched.shape.bands, watched.shape.rows);
    if (share < recall_notice)
        ereport(NOTICE,
                errmsg("a guard by band table \"%s\" finds only %.4g%% of rows at similarity %g",
                       get_rel_name(watched.table),
                       100 * share,
                       threshold),
                errdetail("It has %d bands of %d rows.", watched.shape.bands, watched.shape.rows),
                errhint("Create a band table with threshold => %g.", threshold));
}

} // namespace

// lsh_create_guard(source, threshold, mark, band_table) -> void
MINHASH_FUNCTION(lsh_create_guard)
{
    enum { arg_source, arg_threshold, arg_mark, arg_band_table };

    for (const int required : {arg_source, arg_threshold})
        if (PG_ARGISNULL(required))
            fail_null_argument(required, fcinfo->flinfo->fn_oid);
    const double threshold = arg_fraction(fcinfo, arg_threshold, "threshold");
    const Relation source = lock_source(PG_GETARG_OID(arg_source), ShareRowExclusiveLock);
    check_source(source);
    const band_table watched = arg_watched(fcinfo, source, arg_band_table);
    check_unique(source, watched.id);
    for (const int event : {TRIGGER_TYPE_INSERT, TRIGGER_TYPE_UPDATE})
        check_kept(source, watched, maintaining_function(fcinfo), event);
    const char* const mark = PG_ARGISNULL(arg_mark) ? nullptr : NameStr(*PG_GETARG_NAME(arg_mark));
    if (mark != nullptr)
        find_mark_column(watched, mark, nullptr);

    notice_recall(watched, threshold);
    const identity former = act_for_owner(source);
    SPI_connect();
    if (needs_row_triggers(source)) {
        create_trigger(fcinfo, source, watched, of_rows, threshold, mark);
    } else {
        for (const guard_definition& what : of_statements)
            create_trigger(fcinfo, source, watched, what, threshold, mark);
    }
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);
    PG_RETURN_VOID();
}

// lsh_drop_guard(source, band_table) -> void
MINHASH_FUNCTION(lsh_drop_guard)
{
    if (PG_ARGISNULL(0))
        fail_null_argument(0, fcinfo->flinfo->fn_oid);
    const Relation source = lock_source(PG_GETARG_OID(0), AccessExclusiveLock);
    const band_table watched = arg_watched(fcinfo, source, 1);
    const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);

    const identity former = act_for_owner(source);
    SPI_connect();
    List* names = NIL;
    for (int i = 0; i < count_triggers(source); i++)
        if (is_guard(source->trigdesc->triggers[i], watched, schema))
            names = lappend(names, pstrdup(source->trigdesc->triggers[i].tgname));
    if (names == NIL)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_OBJECT),
                errmsg("table \"%s\" has no guard by its band table \"%s\"",
                       RelationGetRelationName(source),
                       get_rel_name(watched.table)),
                errhint("Guards whose condition does not name the band table are dropped by DROP "
                        "TRIGGER."));
    for (int i = 0; i < list_length(names); i++)
        run_once(psprintf("DROP TRIGGER %s ON %s",
                          quote_identifier(static_cast<const char*>(list_nth(names, i))),
                          quoted_relation(watched.source)));
    SPI_finish();
    act_again_as(former);
    table_close(source, NoLock);
    PG_RETURN_VOID();
}

} // namespace minhash::pg
