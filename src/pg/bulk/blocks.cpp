#include "pg/bulk/blocks.h"
#include "pg/bulk/scan_records.h"
#include "pg/compat.h"

#include <algorithm>
#include <bit>

extern "C" {
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

// The scan if a plan is just the sequential scan of a table, and if any process can run the plan; otherwise null.
const SeqScan* scan_to_share(const PlannedStmt* planned)
{
    Plan* const top = planned->planTree;
    if (!IsA(top, SeqScan) || planned->subplans != NIL || planned->paramExecTypes != NIL || top->initPlan != NIL ||
        planned->rowMarks != NIL || may_remove_visible_rows() || list_length(top->targetlist) < 2)
        return nullptr;
    Node* const columns = reinterpret_cast<Node*>(top->targetlist);
    Node* const filter = reinterpret_cast<Node*>(top->qual);
    Query* const evaluated = makeNode(Query);
    evaluated->commandType = CMD_SELECT;
    evaluated->targetList = top->targetlist;
    evaluated->jointree = makeFromExpr(NIL, filter);
    const bool safe = max_parallel_hazard(evaluated) == PROPARALLEL_SAFE && !contain_volatile_functions(columns) &&
                      !contain_volatile_functions(filter);
    return safe ? castNode(SeqScan, top) : nullptr;
}

Oid scanned_table(const PlannedStmt* planned)
{
    const Index number = reinterpret_cast<const Scan*>(planned->planTree)->scanrelid;
    return rt_fetch(number, planned->rtable)->relid;
}

// Whether all processes can read the rows of a part.
bool can_share(const PlannedStmt* part)
{
    if (scan_to_share(part) == nullptr)
        return false;
    const Relation table = table_open(scanned_table(part), NoLock);
    const bool result =
        table->rd_tableam == GetHeapamTableAmRoutine() && table->rd_rel->relpersistence != RELPERSISTENCE_TEMP;
    table_close(table, NoLock);
    return result;
}

// Whether the query computes its values, so that they cannot be read again from the table.
bool is_computed(const PlannedStmt* part) { return table_column(part->planTree, 2) == 0; }

// How much work the rows of a part can be, as least_work counts it.
std::uint64_t work_of(const bulk_call& call, const PlannedStmt* part)
{
    const Relation table = table_open(scanned_table(part), NoLock);
    const std::uint64_t bytes = blocks_with_toast(table) * BLCKSZ;
    table_close(table, NoLock);
    const auto* const value = static_cast<const TargetEntry*>(lsecond(part->planTree->targetlist));
    if (is_computed(part))
        return bytes;
    const bool texts = getBaseType(exprType(reinterpret_cast<const Node*>(value->expr))) != call.signature_type;
    return texts ? bytes : bytes / bulk::slot_bytes_of_work;
}

bool can_share(const List* parts)
{
    const ListCell* cell;
    foreach (cell, parts)
        if (!can_share(lfirst_node(PlannedStmt, cell)))
            return false;
    return true;
}

List* parts_of(CachedPlan* plan) { return split_into_scans(linitial_node(PlannedStmt, plan->stmt_list)); }

// The plan to run for a query. PostgreSQL's own plan may have workers, if a filter drops most rows or a function is
// costly. A plan without them is better, if the processes of the call can share it: what they read need not go through
// one of them.
CachedPlan* plan_to_run(const bulk_call& call, const planned_select& query)
{
    CachedPlan* const plan = SPI_plan_get_cached_plan(query.plan);
    if (call.most_workers == 0 || !linitial_node(PlannedStmt, plan->stmt_list)->parallelModeNeeded)
        return plan;
    CachedPlan* const other = SPI_plan_get_cached_plan(plan_without_workers(query));
    const bool better = can_share(parts_of(other));
    ReleaseCachedPlan(better ? plan : other, nullptr);
    return better ? other : plan;
}

// Makes the call ready for workers if all parts of its queries can be shared, and if there is enough to read.
bool share_reading(bulk_call& call, std::span<List* const> queries)
{
    if (call.most_workers == 0)
        return false;
    std::uint64_t work = 0;
    for (const List* const parts : queries) {
        if (!can_share(parts))
            return false;
        const ListCell* cell;
        foreach (cell, parts)
            work += work_of(call, lfirst_node(PlannedStmt, cell));
    }
    if (work < call.least_work)
        return false;
    call.start_sharing(call);
    if (!call.sharing)
        call.most_workers = 0;
    return call.sharing;
}

bulk::shared_number share_bytes(bulk_host& host, const void* bytes, std::size_t count)
{
    bulk::shared_number number;
    memcpy(bulk::allocate_shared<char>(host, number, count), bytes, count);
    return number;
}

bulk::shared_number share_text(bulk_host& host, const char* text) { return share_bytes(host, text, strlen(text) + 1); }

// Prepares PostgreSQL's parallel scan of a table. It begins at the first block, wherever other scans are now.
bulk::shared_number share_blocks(bulk_host& host, Relation table)
{
    const Snapshot snapshot = GetActiveSnapshot();
    bulk::shared_number number;
    void* const memory = bulk::allocate_shared<char>(host, number, table_parallelscan_estimate(table, snapshot));
    auto* const blocks = static_cast<ParallelTableScanDesc>(memory);
    table_parallelscan_initialize(table, blocks, snapshot);
    blocks->phs_syncscan = false;
    return number;
}

SeqScanState* scan_of(const QueryDesc* running) { return castNode(SeqScanState, running->planstate); }

// Reads this process's part of the blocks.
void scan_part(bulk_host& host, shared_scan& scan, QueryDesc* running)
{
    host.begin_phase(host);
    recorder& records = start_recording(host, scan);
    EState* const estate = running->estate;
    SeqScanState* const node = scan_of(running);
    const MemoryContext former = MemoryContextSwitchTo(estate->es_query_cxt);
    void* const blocks = bulk::find_shared<char>(host, scan.blocks);
    node->ss.ss_currentScanDesc =
        begin_parallel_scan(node->ss.ss_currentRelation, static_cast<ParallelTableScanDesc>(blocks));
    const MemoryContext row_memory =
        AllocSetContextCreate(estate->es_query_cxt, "minhash_lsh scanned row", ALLOCSET_DEFAULT_SIZES);
    for (;;) {
        bulk::pause(host);
        MemoryContextReset(row_memory);
        MemoryContextSwitchTo(estate->es_query_cxt);
        ResetPerTupleExprContext(estate);
        TupleTableSlot* const slot = ExecProcNode(running->planstate);
        if (TupIsNull(slot))
            break;
        MemoryContextSwitchTo(row_memory);
        record_row(records, slot, node->ss.ss_ScanTupleSlot->tts_tid);
    }
    MemoryContextSwitchTo(former);
    end_recording(records);
    host.end_phase(host);
}

bulk::shared_number make_scan(bulk_call& call, const QueryDesc* running)
{
    bulk::shared_number number;
    shared_scan& scan = *bulk::allocate_shared<shared_scan>(call, number);
    char* const plan = nodeToString(running->plannedstmt);
    scan.plan = share_text(call, plan);
    pfree(plan);
    scan.query = share_text(call, running->sourceText);
    scan.blocks = share_blocks(call, scan_of(running)->ss.ss_currentRelation);
    const auto processes = static_cast<std::size_t>(call.processes);
    bulk::allocate_shared<bulk::store_note>(call, scan.rows, processes);
    bulk::allocate_shared<bulk::store_note>(call, scan.stretches, processes);
    scan.texts = call.wanted.texts;
    const std::size_t free = call.budget.limit - std::min(call.budget.limit, call.budget.used);
    scan.computed = is_computed(running->plannedstmt);
    if (scan.computed)
        bulk::allocate_shared<bulk::store_note>(call, scan.values, processes);
    scan.allowance = scan.computed ? free / 4 * 3 : free / 2;
    scan.processes = processes;
    scan.values_chunk = std::bit_floor(
        std::clamp<std::size_t>(work_of(call, running->plannedstmt) / processes / 8, 64 * 1024, 2 * 1024 * 1024));
    scan.table = call.again.count;
    scan.scope_column = call.scope_column;
    scan.rank_column = call.rank_column;
    scan.short_id = call.short_id;
    scan.from_texts = call.from_texts;
    scan.lone_ids = call.wanted.lone_ids;
    scan.is_internal = call.is_internal;
    scan.expected = call.expected_rows;
    scan.read = row_count(call) - call.rows_before; // in the query's other parts
    return number;
}

void free_scan(bulk_call& call, bulk::shared_number number)
{
    const shared_scan& scan = *bulk::find_shared<shared_scan>(call, number);
    for (const bulk::shared_number part :
         {scan.plan, scan.query, scan.blocks, scan.rows, scan.stretches, scan.values, number})
        if (part != 0)
            call.release_shared(call, part);
}

// Starts workers, unless they have been started for an earlier query. PostgreSQL shows the present error context with
// each error of a worker, for as long as the worker runs. The context of the query ends before that, and workers have
// one of their own.
void ask_for_workers(bulk_call& call, running_plan& running)
{
    ErrorContextCallback* const former = error_context_stack;
    error_context_stack = running.context.previous;
    call.start_workers(call, 0);
    error_context_stack = former;
}

void read_blocks(bulk_call& call, const planned_select& query, PlannedStmt* part)
{
    running_plan running;
    start_plan(running, part, query.text, call.is_internal, None_Receiver);
    take_columns(call, *running.query);
    ask_for_workers(call, running);
    const bulk::shared_number number = make_scan(call, running.query);
    shared_scan& scan = *bulk::find_shared<shared_scan>(call, number);
    call.estimated = true;
    begin_scan(call, number);
    scan_part(call, scan, running.query);
    end_scan(call);
    call.estimated = false;
    end_plan(running);
    call.again.scanned = nullptr;
    call.skipped += scan.skipped;
    merge_records(call, scan);
    free_scan(call, number);
}

} // namespace

void read_queries(bulk_call& call, std::span<const planned_select> queries)
{
    // The plans that are looked at must be the plans that run, so they are held all the time.
    CachedPlan* plans[most_queries];
    List* parts[most_queries];
    Assert(queries.size() <= most_queries);
    for (std::size_t i = 0; i < queries.size(); i++) {
        plans[i] = plan_to_run(call, queries[i]);
        parts[i] = parts_of(plans[i]);
    }
    const bool shared = share_reading(call, std::span(parts).first(queries.size()));
    for (std::size_t i = 0; i < queries.size(); i++) {
        begin_query(call, queries[i]);
        const ListCell* cell;
        foreach (cell, parts[i]) {
            PlannedStmt* const part = lfirst_node(PlannedStmt, cell);
            // To wait for workers takes longer than to read a small partition.
            const bool worthwhile = shared && work_of(call, part) >= call.least_work;
            worthwhile ? read_blocks(call, queries[i], part) : read_part(call, queries[i], part);
        }
        ReleaseCachedPlan(plans[i], nullptr);
    }
    if (call.rows != nullptr) {
        call.rows->brought = call.values.values;
        call.rows->brought_count = call.value_count;
    }
}

void scan_blocks(bulk_host& self, bulk::shared_number number)
{
    shared_scan& scan = *bulk::find_shared<shared_scan>(self, number);
    auto* const planned = static_cast<PlannedStmt*>(stringToNode(bulk::find_shared<char>(self, scan.plan)));
    running_plan running;
    start_plan(running, planned, bulk::find_shared<char>(self, scan.query), scan.is_internal, None_Receiver);
    scan_part(self, scan, running.query);
    end_plan(running);
}

} // namespace minhash::pg
