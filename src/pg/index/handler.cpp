// The access method lsh: what it can do, and where its functions are.
//
// Not there yet: several open pages for many writers at once; a smaller copy of signatures of many
// hashes.
#include "pg/index/am.h"
#include "pg/index/columns.h"
#include "pg/index/options.h"

extern "C" {
#include "access/amapi.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_opclass.h"
#include "commands/vacuum.h"
#include "utils/catcache.h"
#include "utils/syscache.h"
}

namespace minhash::pg::lsh {

namespace {

bool validate(Oid operator_class)
{
    const HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(operator_class));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for operator class %u", operator_class);
    const Form_pg_opclass found = reinterpret_cast<Form_pg_opclass>(GETSTRUCT(tuple));
    const Oid family = found->opcfamily;
    ReleaseSysCache(tuple);
    bool valid = false;
    CatCList* const members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
    for (int at = 0; at < members->n_members; at++) {
        const HeapTuple member = &members->members[at]->tuple;
        const auto strategy = reinterpret_cast<Form_pg_amop>(GETSTRUCT(member))->amopstrategy;
        valid |= strategy == similar_by_setting || strategy == equality;
    }
    ReleaseSysCacheList(members);
    if (!valid)
        ereport(
            INFO,
            errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
            errmsg("operator class %u of access method lsh has no operator with number %d or %d",
                   operator_class,
                   similar_by_setting,
                   equality));
    return valid;
}

} // namespace

} // namespace minhash::pg::lsh

namespace minhash::pg {

// lsh_handler(internal) -> index_am_handler
MINHASH_FUNCTION(lsh_handler)
{
    IndexAmRoutine* const method = makeNode(IndexAmRoutine);
    method->amstrategies = lsh::strategies;
    method->amcanorderbyop = true;
    method->amcanmulticol = true;
    method->amoptionalkey = true;
    method->amusemaintenanceworkmem = true;
    allow_parallel_build(*method);
    method->amparallelvacuumoptions =
        VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
    method->ambuild = lsh::build;
    method->ambuildempty = lsh::build_empty;
    method->aminsert = lsh::insert;
    method->ambulkdelete = lsh::bulk_delete;
    method->amvacuumcleanup = lsh::clean_up;
    method->amcostestimate = lsh::estimate_cost;
    method->amoptions = lsh::parse_options;
    method->ambuildphasename = lsh::name_phase;
    method->amvalidate = lsh::validate;
    method->ambeginscan = lsh::begin_scan;
    method->amrescan = lsh::rescan;
    method->amgettuple = lsh::next_row;
    method->amgetbitmap = lsh::all_rows;
    method->amendscan = lsh::end_scan;
    PG_RETURN_POINTER(method);
}

} // namespace minhash::pg
