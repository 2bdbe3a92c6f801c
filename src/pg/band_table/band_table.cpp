#include "pg/band_table/band_table.h"
#include "pg/errors.h"

#include "core/bands.h"

namespace minhash::pg {

namespace {

Oid own_schema(FunctionCallInfo fcinfo)
{
    return get_func_namespace(fcinfo->flinfo->fn_oid);
}

// A number that lsh_create_band_table wrote into a trigger; 0 if somebody else wrote nonsense.
int read_number(const char* given)
{
    char* end = nullptr;
    const long value = strtol(given, &end, 10);
    return end == given || *end != '\0' || value < 1 || value > max_num_hashes
               ? 0
               : static_cast<int>(value);
}

// Reads a trigger that may hold settings; false if it does not.
bool read_settings(Relation source, const Trigger& trigger, Oid function, band_table& out)
{
    if (trigger.tgfoid != function || trigger.tgnattr != 2 || trigger.tgnargs != 2)
        return false;
    out = {
        .source = RelationGetRelid(source),
        .owner = source->rd_rel->relowner,
        .table = watched_table(trigger),
        .settings = trigger.tgoid,
        .id = trigger.tgattr[0],
        .signature = trigger.tgattr[1],
        .shape = {read_number(trigger.tgargs[0]), read_number(trigger.tgargs[1])},
    };
    return OidIsValid(out.table) && out.shape.bands > 0 && out.shape.rows > 0;
}

int count_band_tables(Relation source, Oid chosen, Oid function, band_table& found)
{
    int count = 0;
    const TriggerDesc* const triggers = source->trigdesc;
    for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
        band_table candidate;
        if (!read_settings(source, triggers->triggers[i], function, candidate) ||
            (OidIsValid(chosen) && candidate.table != chosen))
            continue;
        found = candidate;
        count++;
    }
    return count;
}

// The band tables of the relation, or of the nearest of its ancestors that has one.
int count_above(Relation relation, Oid chosen, Oid function, band_table& found)
{
    int count = count_band_tables(relation, chosen, function, found);
    const List* const ancestors = relation->rd_rel->relispartition && count == 0
                                      ? get_partition_ancestors(RelationGetRelid(relation))
                                      : NIL;
    for (int i = 0; count == 0 && i < list_length(ancestors); i++) {
        const Relation ancestor = table_open(list_nth_oid(ancestors, i), AccessShareLock);
        count = count_band_tables(ancestor, chosen, function, found);
        table_close(ancestor, AccessShareLock);
    }
    return count;
}

} // namespace

Oid maintaining_function(FunctionCallInfo fcinfo)
{
    const oidvector* const no_arguments = buildoidvector(nullptr, 0);
    const Oid found = GetSysCacheOid3(PROCNAMEARGSNSP,
                                      Anum_pg_proc_oid,
                                      CStringGetDatum("lsh_maintain_band_table"),
                                      PointerGetDatum(no_arguments),
                                      ObjectIdGetDatum(own_schema(fcinfo)));
    if (!OidIsValid(found))
        elog(ERROR, "function lsh_maintain_band_table() is missing");
    return found;
}

const char* extension_schema(FunctionCallInfo fcinfo)
{
    return quote_identifier(get_namespace_name(own_schema(fcinfo)));
}

Oid signature_type(FunctionCallInfo fcinfo)
{
    return GetSysCacheOid2(TYPENAMENSP,
                           Anum_pg_type_oid,
                           CStringGetDatum("minhash_signature"),
                           ObjectIdGetDatum(own_schema(fcinfo)));
}

Relation open_source(Oid source, LOCKMODE mode)
{
    const Relation relation = try_relation_open(source, mode);
    if (relation == nullptr)
        fail_no_relation(source);
    return relation;
}

Oid watched_table(const Trigger& trigger)
{
    if (trigger.tgqual == nullptr)
        return InvalidOid;
    const Node* const when = static_cast<const Node*>(stringToNode(trigger.tgqual));
    if (!IsA(when, NullTest))
        return InvalidOid;
    const Expr* const tested = reinterpret_cast<const NullTest*>(when)->arg;
    if (!IsA(tested, Const))
        return InvalidOid;
    const Const* const table = reinterpret_cast<const Const*>(tested);
    return table->consttype == REGCLASSOID && !table->constisnull
               ? DatumGetObjectId(table->constvalue)
               : InvalidOid;
}

band_table find_band_table(Relation source, Oid chosen, Oid function)
{
    band_table found;
    const int count = count_band_tables(source, chosen, function, found);
    if (count != 1)
        fail_band_table_choice(RelationGetRelid(source), chosen, count, false);
    return found;
}

band_table find_band_table_above(Relation relation, Oid chosen, Oid function)
{
    band_table found;
    const int count = count_above(relation, chosen, function, found);
    if (count != 1)
        fail_band_table_choice(RelationGetRelid(relation), chosen, count, true);
    return found;
}

bool has_band_table_above(Relation relation, Oid chosen, Oid function, band_table& found)
{
    return count_above(relation, chosen, function, found) == 1;
}

AttrNumber partition_column(Relation relation, const band_table& settings, AttrNumber column)
{
    return RelationGetRelid(relation) == settings.source
               ? column
               : get_attnum(RelationGetRelid(relation),
                            get_attname(settings.source, column, false));
}

Datum band_key_array(const signature& value, banding shape)
{
    check_bands(shape, value.scheme);
    Datum keys[max_num_hashes];
    const int bands = value.empty() ? 0 : shape.bands;
    for (int band = 0; band < bands; band++)
        keys[band] = Int64GetDatum(band_key(value, band, shape.rows));
    return make_bigint_array({keys, static_cast<std::size_t>(bands)});
}

const char* quoted_relation(Oid relation)
{
    const char* const name = get_rel_name(relation);
    if (name == nullptr)
        elog(ERROR, "cache lookup failed for relation %u", relation);
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name);
}

const char* quoted_column(Oid relation, AttrNumber column)
{
    return quote_identifier(get_attname(relation, column, false));
}

const char* equality_of(Oid type)
{
    const Oid equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
    const HeapTuple found = SearchSysCache1(OPEROID, ObjectIdGetDatum(equality));
    if (!HeapTupleIsValid(found))
        elog(ERROR, "cache lookup failed for operator %u", equality);
    const Form_pg_operator form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(found));
    const char* const sql = psprintf(" OPERATOR(%s.%s) ",
                                     quote_identifier(get_namespace_name(form->oprnamespace)),
                                     NameStr(form->oprname));
    ReleaseSysCache(found);
    return sql;
}

} // namespace minhash::pg
