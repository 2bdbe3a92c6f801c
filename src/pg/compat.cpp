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
#include "nodes/nodeFuncs.h"
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
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
}

// The code below calls PostgreSQL's functions as version 19 declares them. These macros adapt the calls to older
// versions.

#if PG_VERSION_NUM < 160000 // 15 declares the visitors of trees without arguments
#define as_visitor(visit) reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(visit))
#else
#define as_visitor(visit) visit
#endif

#if PG_VERSION_NUM < 190000 // 19 added flags that say what a scan is for
#define table_beginscan_parallel(table, scan, flags) table_beginscan_parallel(table, scan)
#define table_index_fetch_begin(table, flags)        table_index_fetch_begin(table)
#endif

#if PG_VERSION_NUM < 180000 // 18 changed the arguments of these functions
#define ExecutorRun(...) ExecutorRun(__VA_ARGS__, true)
#define heap_form_minimal_tuple(form, v, n, r)                                                                         \
    heap_form_minimal_tuple(form, const_cast<Datum*>(v), const_cast<bool*>(n))
#define vacuum_delay_point(analyze) vacuum_delay_point()
#endif

#if PG_VERSION_NUM < 170000 // 17 added an argument: whether stronger locks count, too; the planner's state
#define LockHeldByMe(tag, mode, or_stronger) LockHeldByMe(tag, mode)
#define AmAutoVacuumWorkerProcess            IsAutoVacuumWorkerProcess
#define estimate_array_length(root, array)   estimate_array_length(array)
#endif

#if PG_VERSION_NUM < 160000 // since 16, one function checks the owner of any object, another the privileges
#define object_ownercheck(catalogue, ...)            pg_class_ownercheck(__VA_ARGS__)
#define object_aclcheck(catalogue, ...)              pg_namespace_aclcheck(__VA_ARGS__)
#define tuplesort_getdatum(sort, forward, copy, ...) tuplesort_getdatum(sort, forward, __VA_ARGS__)
#define debug_parallel_query                         force_parallel_mode
#define DEBUG_PARALLEL_OFF                           FORCE_PARALLEL_OFF
#define rd_locator                                   rd_node
#define relNumber                                    relNode
#endif

namespace minhash::pg {

void materialize_rows(FunctionCallInfo fcinfo)
{
// 15.0 has this function only under its old name; 15.1 and later 15.x have it under both names.
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

bool workers_are_forced() { return debug_parallel_query != DEBUG_PARALLEL_OFF; }

bool owns_relation(Oid relation, Oid user) { return object_ownercheck(RelationRelationId, relation, user); }

bool may_use_schema(Oid schema, Oid user)
{
    return object_aclcheck(NamespaceRelationId, schema, user, ACL_USAGE) == ACLCHECK_OK;
}

bool next_of_sort(Tuplesortstate* sort, Datum& value)
{
    bool null;
    return tuplesort_getdatum(sort, true, true, &value, &null, nullptr);
}

void run_to_end(QueryDesc& query) { ExecutorRun(&query, ForwardScanDirection, 0); }

MinimalTupleData* form_minimal_tuple(TupleDescData* form, const Datum* values, const bool* nulls)
{
    return heap_form_minimal_tuple(form, values, nulls, 0);
}

TableScanDescData* begin_parallel_scan(RelationData* table, ParallelTableScanDescData* scan)
{
    return table_beginscan_parallel(table, scan, SO_NONE);
}

IndexFetchTableData* begin_index_fetch(RelationData* table) { return table_index_fetch_begin(table, SO_NONE); }

void vacuum_delay() { vacuum_delay_point(false); }

int vacuum_memory()
{
    return AmAutoVacuumWorkerProcess() && autovacuum_work_mem != -1 ? autovacuum_work_mem : maintenance_work_mem;
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

Oid file_of(RelationData* relation) { return relation->rd_locator.relNumber; }

bool walk_expression(Node* expression, bool (*visit)(Node*, void*), void* context)
{
    return expression_tree_walker(expression, as_visitor(visit), context);
}

bool walk_plan_states(PlanState* state, bool (*visit)(PlanState*, void*), void* context)
{
    return planstate_tree_walker(state, as_visitor(visit), context);
}

bool prunes_at_run_time(const Append& append)
{
#if PG_VERSION_NUM >= 180000
    return append.part_prune_index >= 0;
#else
    return append.part_prune_info != nullptr;
#endif
}

bool has_rights_to_check(const RangeTblEntry& table)
{
#if PG_VERSION_NUM >= 160000
    return table.perminfoindex > 0;
#else
    return table.requiredPerms != 0;
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
    if (!ReadRecentBuffer(relation->rd_locator, MAIN_FORKNUM, block, buffer))
        return false;
    pgstat_count_buffer_read(relation);
    pgstat_count_buffer_hit(relation);
    if (VacuumCostActive) // ReadBuffer() counts costs in the same way
        VacuumCostBalance += VacuumCostPageHit;
    return true;
}

// PostgreSQL 16 and later can reserve disk space. In earlier versions, this function writes only the last page. That
// leaves a hole in the file, as PostgreSQL's own hash indexes do. Filling the hole with zeros would take a fifth of the
// time of an index build.
void extend_file(RelationData* relation, std::uint32_t first, std::uint32_t pages)
{
#if PG_VERSION_NUM >= 160000
    smgrzeroextend(RelationGetSmgr(relation), MAIN_FORKNUM, first, static_cast<int>(pages), false);
#else
    PGAlignedBlock empty = {};
    smgrextend(RelationGetSmgr(relation), MAIN_FORKNUM, first + pages - 1, empty.data, false);
#endif
}

bool holds_lock(const LOCKTAG& tag, int mode) { return LockHeldByMe(&tag, mode, false); }

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

double expected_length(PlannerInfo* root, Node* array) { return estimate_array_length(root, array); }

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
