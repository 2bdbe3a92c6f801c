// How a band table is found: by the triggers of its source that hold settings.
#include "pg/band_table/band_table.h"
#include "pg/extension.h"

extern "C" {
#include "access/relation.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace minhash::pg {

namespace {

// A number that lsh_create_band_table wrote into a trigger; 0 if somebody else wrote nonsense.
int read_number(const char* given)
{
    char* end = nullptr;
    const long value = strtol(given, &end, 10);
    return end == given || *end != '\0' || value < 1 || value > max_num_hashes
               ? 0
               : static_cast<int>(value);
}

// The one that was found; an ERROR if there is none, or more.
const band_table& only_one(const band_tables_found& found,
                           Oid source,
                           const band_table_search& wanted,
                           bool by_trigger)
{
    if (found.count == 1)
        return found.one;
    const char* const name = get_rel_name(source);
    if (found.count > 1)
        ereport(ERROR,
                errcode(ERRCODE_AMBIGUOUS_PARAMETER),
                errmsg("table \"%s\" has %d band tables", name, found.count),
                by_trigger
                    ? errhint("Choose one by the trigger's condition, WHEN ('...'::regclass IS NOT "
                              "NULL); lsh_band_tables lists them.")
                    : errhint("Choose one with band_table => '...'; lsh_band_tables lists them."));
    if (found.any_doubtful)
        is_band_table(found.doubtful, wanted, true);
    if (OidIsValid(wanted.chosen))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_OBJECT),
                errmsg("relation \"%s\" is not a band table of table \"%s\"",
                       get_rel_name(wanted.chosen),
                       name),
                errhint("lsh_band_tables lists the band tables."));
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_OBJECT),
            errmsg("table \"%s\" has no band table", name),
            !by_trigger && get_rel_relispartition(source)
                ? errhint("Name the partitioned table that it belongs to.")
                : errhint("Create one with lsh_create_band_table()."));
    pg_unreachable();
}

// Adds the band tables of one source to those found.
void search_source(Relation source, const band_table_search& wanted, band_tables_found& found)
{
    for (int i = 0; i < count_triggers(source); i++) {
        band_table candidate;
        if (!read_settings(source, source->trigdesc->triggers[i], wanted.function, candidate) ||
            (OidIsValid(wanted.chosen) && candidate.table != wanted.chosen))
            continue;
        if (is_band_table(candidate, wanted, false)) {
            found.one = candidate;
            found.count++;
        } else {
            found.doubtful = candidate;
            found.any_doubtful = true;
        }
    }
}

std::uint64_t definitions = 1; // 0: nothing has been read yet

void note_change(Datum, Oid)
{
    definitions++;
}

} // namespace

Oid arg_chosen(FunctionCallInfo fcinfo, int argument)
{
    return PG_ARGISNULL(argument) ? InvalidOid : PG_GETARG_OID(argument);
}

Relation open_source(Oid source, LOCKMODE mode)
{
    const Relation relation = try_relation_open(source, mode);
    if (relation == nullptr)
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_TABLE),
                errmsg("relation with OID %u does not exist", source),
                errhint("It might have been dropped concurrently."));
    return relation;
}

int count_triggers(Relation relation)
{
    return relation->trigdesc == nullptr ? 0 : relation->trigdesc->numtriggers;
}

Oid tested_relation(const char* condition, NullTestType test)
{
    const Node* const node = static_cast<const Node*>(stringToNode(condition));
    if (!IsA(node, NullTest))
        return InvalidOid;
    const NullTest* const null_test = reinterpret_cast<const NullTest*>(node);
    if (null_test->nulltesttype != test || !IsA(null_test->arg, Const))
        return InvalidOid;
    const Const* const relation = reinterpret_cast<const Const*>(null_test->arg);
    return relation->consttype == REGCLASSOID && !relation->constisnull
               ? DatumGetObjectId(relation->constvalue)
               : InvalidOid;
}

Oid watched_table(const Trigger& trigger)
{
    if (trigger.tgqual == nullptr)
        return InvalidOid;
    const Oid watched = tested_relation(trigger.tgqual, IS_NOT_NULL);
    return OidIsValid(watched) ? watched : tested_relation(trigger.tgqual, IS_NULL);
}

bool read_settings(Relation source, const Trigger& trigger, Oid function, band_table& out)
{
    if (trigger.tgfoid != function || trigger.tgnattr < 2 || trigger.tgnattr > 3 ||
        trigger.tgnargs != 2)
        return false;
    out = {
        .source = RelationGetRelid(source),
        .owner = source->rd_rel->relowner,
        .table = watched_table(trigger),
        .settings = trigger.tgoid,
        .id = trigger.tgattr[0],
        .signature = trigger.tgattr[1],
        .scope = trigger.tgnattr == 3 ? trigger.tgattr[2] : AttrNumber{InvalidAttrNumber},
        .shape = {read_number(trigger.tgargs[0]), read_number(trigger.tgargs[1])},
    };
    return OidIsValid(out.table) && out.shape.bands > 0 && out.shape.rows > 0;
}

band_tables_found search_above(Relation relation, const band_table_search& wanted)
{
    band_tables_found found = {};
    search_source(relation, wanted, found);
    const List* const ancestors = relation->rd_rel->relispartition
                                      ? get_partition_ancestors(RelationGetRelid(relation))
                                      : NIL;
    for (int i = 0; found.count == 0 && !found.any_doubtful && i < list_length(ancestors); i++) {
        const Relation ancestor = table_open(list_nth_oid(ancestors, i), AccessShareLock);
        search_source(ancestor, wanted, found);
        table_close(ancestor, AccessShareLock);
    }
    return found;
}

band_table find_band_table(Relation source, const band_table_search& wanted)
{
    band_tables_found found = {};
    search_source(source, wanted, found);
    return only_one(found, RelationGetRelid(source), wanted, false);
}

band_table find_band_table_above(Relation relation, const band_table_search& wanted)
{
    return only_one(search_above(relation, wanted), RelationGetRelid(relation), wanted, true);
}

std::uint64_t definitions_seen()
{
    static bool watching;
    if (!watching)
        CacheRegisterRelcacheCallback(note_change, 0);
    watching = true;
    return definitions;
}

AttrNumber partition_column(Relation relation, const band_table& settings, AttrNumber column)
{
    return RelationGetRelid(relation) == settings.source
               ? column
               : get_attnum(RelationGetRelid(relation),
                            get_attname(settings.source, column, false));
}

const char* band_keys_of_source(const char* schema, const band_table& scheme)
{
    const bool scoped = scheme.scope != InvalidAttrNumber;
    return psprintf("%s.lsh_band_keys(source.%s, %d, %d%s%s)",
                    schema,
                    quoted_column(scheme.source, scheme.signature),
                    scheme.shape.bands,
                    scheme.shape.rows,
                    scoped ? ", source." : "",
                    scoped ? quoted_column(scheme.source, scheme.scope) : "");
}

} // namespace minhash::pg
