// The access method lsh: its properties, and its functions.
//
// Possible improvements: several open pages, for many concurrent writers; smaller copies of signatures with many
// hashes.
#include "pg/index/am.h"
#include "pg/index/format/columns.h"
#include "pg/index/options.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "commands/vacuum.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace minhash::pg::index {

namespace {

bool validate(Oid operator_class)
{
    bool valid = false;
    CatCList* const members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(get_opclass_family(operator_class)));
    for (int at = 0; at < members->n_members; at++) {
        const HeapTuple member = &members->members[at]->tuple;
        const auto strategy = reinterpret_cast<Form_pg_amop>(GETSTRUCT(member))->amopstrategy;
        valid |= strategy == similar_by_setting || strategy == equality;
    }
    ReleaseSysCacheList(members);
    if (!valid)
        ereport(INFO,
                errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                errmsg("operator class %u of access method lsh has no operator with number %d or %d",
                       operator_class,
                       similar_by_setting,
                       equality));
    return valid;
}

// Answers the only question that PostgreSQL cannot answer by itself: whether a column supports ORDER BY.
bool answer_property(Oid index, int column, IndexAMProperty property, const char* name, bool* answer, bool* unknown)
{
    if (property != AMPROP_DISTANCE_ORDERABLE || column == 0)
        return false;
    Oid family;
    Oid type;
    const Oid operator_class = get_index_column_opclass(index, column);
    *unknown = !get_opclass_opfamily_and_input_type(operator_class, &family, &type);
    *answer = !*unknown && !OidIsValid(get_opfamily_member(family, type, type, equality));
    return true;
}

constexpr IndexAmRoutine make_method()
{
    IndexAmRoutine method = {};
    method.type = T_IndexAmRoutine;
    method.amstrategies = strategies;
    method.amcanorderbyop = true;
    method.amcanmulticol = true;
    method.amoptionalkey = true;
    method.amusemaintenanceworkmem = true;
    allow_parallel_build(method);
    method.amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
    method.ambuild = build;
    method.ambuildempty = build_empty;
    method.aminsert = insert;
    method.ambulkdelete = bulk_delete;
    method.amvacuumcleanup = clean_up;
    method.amcostestimate = estimate_cost;
    method.amoptions = parse_options;
    method.ambuildphasename = name_phase;
    method.amproperty = answer_property;
    method.amvalidate = validate;
    method.ambeginscan = begin_scan;
    method.amrescan = rescan;
    method.amgettuple = next_row;
    method.amgetbitmap = all_rows;
    method.amendscan = end_scan;
    return method;
}

constexpr IndexAmRoutine method = make_method();

} // namespace

} // namespace minhash::pg::index

namespace minhash::pg {

// lsh_handler(internal) -> index_am_handler
MINHASH_FUNCTION(lsh_handler) { return hand_out(index::method); }

} // namespace minhash::pg
