#include "pg/glue.h"

extern "C" {
#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "commands/explain.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lock.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
}

namespace minhash::pg {

void materialize_rows(FunctionCallInfo fcinfo)
{
// 15.0 has this function only under its old name, 15.1 and later under both names.
#if PG_VERSION_NUM >= 160000
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
#else
    SetSingleFuncCall(fcinfo, SRF_SINGLE_USE_EXPECTED);
#endif
}

std::uint32_t bulk_wait_event()
{
#if PG_VERSION_NUM >= 170000
    static std::uint32_t event = 0;
    if (event == 0)
        event = WaitEventExtensionNew("MinhashBulk");
    return event;
#else
    return PG_WAIT_EXTENSION;
#endif
}

// 16 renamed the setting.
bool workers_are_forced()
{
#if PG_VERSION_NUM >= 160000
    return debug_parallel_query != DEBUG_PARALLEL_OFF;
#else
    return force_parallel_mode != FORCE_PARALLEL_OFF;
#endif
}

// From 16 on one function checks the owner of any object, by its catalogue.
bool owns_relation(Oid relation, Oid user)
{
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation, user);
#else
    return pg_class_ownercheck(relation, user);
#endif
}

bool may_use_schema(Oid schema, Oid user)
{
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(NamespaceRelationId, schema, user, ACL_USAGE) == ACLCHECK_OK;
#else
    return pg_namespace_aclcheck(schema, user, ACL_USAGE) == ACLCHECK_OK;
#endif
}

bool next_of_sort(Tuplesortstate* sort, Datum& value)
{
    bool null;
#if PG_VERSION_NUM >= 160000
    return tuplesort_getdatum(sort, true, true, &value, &null, nullptr);
#else
    return tuplesort_getdatum(sort, true, &value, &null, nullptr);
#endif
}

// Before 18, ExecutorRun() must be told that a query runs only once.
void run_to_end(QueryDesc& query)
{
#if PG_VERSION_NUM >= 180000
    ExecutorRun(&query, ForwardScanDirection, 0);
#else
    ExecutorRun(&query, ForwardScanDirection, 0, true);
#endif
}

// 18 has a new argument: room to be left before the tuple.
MinimalTupleData* form_minimal_tuple(TupleDescData* form, const Datum* values, const bool* nulls)
{
#if PG_VERSION_NUM >= 180000
    return heap_form_minimal_tuple(form, values, nulls, 0);
#else
    return heap_form_minimal_tuple(form,
                                   const_cast<Datum*>(values), // which it only reads
                                   const_cast<bool*>(nulls));
#endif
}

void lock_buffer(int buffer, int mode)
{
#if PG_VERSION_NUM >= 190000
    LockBuffer(buffer, static_cast<BufferLockMode>(mode));
#else
    LockBuffer(buffer, mode);
#endif
}

// 19 has a new argument: flags for the purpose of the scan.
TableScanDescData* begin_parallel_scan(RelationData* table, ParallelTableScanDescData* scan)
{
#if PG_VERSION_NUM >= 190000
    return table_beginscan_parallel(table, scan, SO_NONE);
#else
    return table_beginscan_parallel(table, scan);
#endif
}

IndexFetchTableData* begin_index_fetch(RelationData* table)
{
#if PG_VERSION_NUM >= 190000
    return table_index_fetch_begin(table, SO_NONE);
#else
    return table_index_fetch_begin(table);
#endif
}

// 18 has a new argument: whether the caller is ANALYZE.
void vacuum_delay()
{
#if PG_VERSION_NUM >= 180000
    vacuum_delay_point(false);
#else
    vacuum_delay_point();
#endif
}

int vacuum_memory()
{
#if PG_VERSION_NUM >= 170000
    const bool automatic = AmAutoVacuumWorkerProcess();
#else
    const bool automatic = IsAutoVacuumWorkerProcess();
#endif
    return automatic && autovacuum_work_mem != -1 ? autovacuum_work_mem : maintenance_work_mem;
}

void count_index_scan(IndexScanDescData& scan)
{
    pgstat_count_index_scan(scan.indexRelation);
#if PG_VERSION_NUM >= 180000
    if (scan.instrument != nullptr)
        scan.instrument->nsearches++;
#endif
}

#if PG_VERSION_NUM >= 180000
namespace {

void (*show_scan)(IndexScanDescData& scan, ExplainState& state);
explain_per_node_hook_type next_hook;

void show_node(PlanState* node, List* ancestors, const char* relationship, const char* plan_name, ExplainState* state)
{
    if (next_hook != nullptr)
        next_hook(node, ancestors, relationship, plan_name, state);
    IndexScanDesc scan = nullptr;
    if (IsA(node, IndexScanState))
        scan = castNode(IndexScanState, node)->iss_ScanDesc;
    else if (IsA(node, BitmapIndexScanState))
        scan = castNode(BitmapIndexScanState, node)->biss_ScanDesc;
    if (state->analyze && scan != nullptr)
        show_scan(*scan, *state);
}

} // namespace
#endif

void show_scans(void (*show)(IndexScanDescData& scan, ExplainState& state))
{
#if PG_VERSION_NUM >= 180000
    show_scan = show;
    next_hook = explain_per_node_hook;
    explain_per_node_hook = show_node;
#endif
}

void show_property(ExplainState& state, const char* name, const char* value)
{
    ExplainPropertyText(name, value, &state);
}

void show_property(ExplainState& state, const char* name, std::int64_t value)
{
    ExplainPropertyInteger(name, nullptr, value, &state);
}

Oid file_of(RelationData* relation)
{
#if PG_VERSION_NUM >= 160000
    return relation->rd_locator.relNumber;
#else
    return relation->rd_node.relNode;
#endif
}

bool may_remove_visible_rows()
{
#if PG_VERSION_NUM >= 170000
    return false;
#else
    return old_snapshot_threshold >= 0;
#endif
}

bool pin_recent(RelationData* relation, std::uint32_t block, int buffer)
{
#if PG_VERSION_NUM >= 160000
    const RelFileLocator& file = relation->rd_locator;
#else
    const RelFileNode& file = relation->rd_node;
#endif
    if (!ReadRecentBuffer(file, MAIN_FORKNUM, block, buffer))
        return false;
    pgstat_count_buffer_read(relation);
    pgstat_count_buffer_hit(relation);
    if (VacuumCostActive) // as ReadBuffer() does
        VacuumCostBalance += VacuumCostPageHit;
    return true;
}

// 16 can reserve disk space. Before, only the last page is written, which leaves a hole in the file, as PostgreSQL's
// hash indexes do: writing zeros took a fifth of the time of an index build.
void extend_file(RelationData* relation, std::uint32_t first, std::uint32_t pages)
{
#if PG_VERSION_NUM >= 160000
    smgrzeroextend(RelationGetSmgr(relation), MAIN_FORKNUM, first, static_cast<int>(pages), false);
#else
    PGAlignedBlock empty = {};
    smgrextend(RelationGetSmgr(relation), MAIN_FORKNUM, first + pages - 1, empty.data, false);
#endif
}

// 17 has a new argument: whether stronger locks count, too.
bool holds_lock(const LOCKTAG& tag, int mode)
{
#if PG_VERSION_NUM >= 170000
    return LockHeldByMe(&tag, mode, false);
#else
    return LockHeldByMe(&tag, mode);
#endif
}

bool may_change(int buffer)
{
#if PG_VERSION_NUM >= 190000
    return BufferIsLockedByMeInMode(buffer, BUFFER_LOCK_EXCLUSIVE);
#elif PG_VERSION_NUM >= 180000
    return BufferIsExclusiveLocked(buffer);
#else
    return BufferIsLocal(buffer) ||
           LWLockHeldByMeInMode(BufferDescriptorGetContentLock(GetBufferDescriptor(buffer - 1)), LW_EXCLUSIVE);
#endif
}

void restrict_search_path()
{
#if PG_VERSION_NUM >= 170000
    RestrictSearchPath();
#endif
}

void disable_path(Path& path)
{
#if PG_VERSION_NUM >= 180000
    path.disabled_nodes = 2;
#endif
}

Datum hand_out(const IndexAmRoutine& method)
{
#if PG_VERSION_NUM >= 190000
    return PointerGetDatum(&method);
#else
    IndexAmRoutine* const copy = makeNode(IndexAmRoutine);
    *copy = method;
    return PointerGetDatum(copy);
#endif
}

int workers_of_build(RelationData& table, RelationData& index, const IndexInfo& info)
{
#if PG_VERSION_NUM >= 170000
    return info.ii_ParallelWorkers;
#else
    return plan_create_index_workers(RelationGetRelid(&table), RelationGetRelid(&index));
#endif
}

} // namespace minhash::pg
