// Each process appends a record for each of its rows to a store of its own. The records are in the order of the rows'
// locations, because a process gets blocks in rising order. They are grouped into runs of rows between which no other
// process has any row. The session's process merges the runs in the order of their blocks.
#include "pg/bulk/blocks.h"
#include "pg/compat.h"

#include <algorithm>
#include <atomic>

extern "C" {
#include "access/detoast.h"
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
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

struct shared_scan {
    bulk::shared_number plan; // the planned statement, as text
    bulk::shared_number query;
    bulk::shared_number blocks; // PostgreSQL's description of the parallel scan
    bulk::shared_number rows;   // each process's store_note of its records
    bulk::shared_number runs;   // each process's store_note of its runs
    scheme texts;
    std::size_t allowance; // how many bytes each process may keep in memory
    int table;             // the number of the table in locations
    int scope_column;      // 0: none
    int rank_column;
    Oid short_id; // for convert_id()
    bool from_texts;
    bool lone_ids;
    bool is_internal;
    double expected;       // how many rows PostgreSQL expects
    std::uint64_t read;    // how many rows have been read; atomic
    std::uint64_t skipped; // how many rows were left out because of a NULL; atomic
};

constexpr std::uint32_t most_rows_of_run = 1024;

struct run {
    std::uint64_t offset; // of the records, in the store of their process
    std::uint64_t bytes;
    std::uint32_t rows;
    BlockNumber first; // the block of the first row
};

// A record is this struct, the header of the signature if there is one, and then the serialized id, scope and rank.
struct row_head {
    std::uint64_t location;
    std::uint32_t size;
    row_content content;
};

// The scan if a plan is just the sequential scan of a table in which any process can read the second column again, and
// if any process can run the plan; otherwise null.
const SeqScan* scan_to_share(const PlannedStmt* planned)
{
    Plan* const top = planned->planTree;
    if (!IsA(top, SeqScan) || planned->subplans != NIL || planned->paramExecTypes != NIL || top->initPlan != NIL ||
        planned->rowMarks != NIL || may_remove_visible_rows() || list_length(top->targetlist) < 2 ||
        table_column(top, 2) == 0)
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

// How much work the rows of a part can be, as least_work counts it.
std::uint64_t work_of(const bulk_call& call, const PlannedStmt* part)
{
    const Relation table = table_open(scanned_table(part), NoLock);
    const std::uint64_t bytes = blocks_with_toast(table) * BLCKSZ;
    table_close(table, NoLock);
    const auto* const value = static_cast<const TargetEntry*>(lsecond(part->planTree->targetlist));
    const bool texts = getBaseType(exprType(reinterpret_cast<const Node*>(value->expr))) != call.signature_type;
    return texts ? bytes : bytes / bulk::slot_bytes_of_work;
}

// Makes the call ready for workers if all parts of its queries can be shared, and if there is enough to read.
bool share_reading(bulk_call& call, std::span<List* const> queries)
{
    if (call.most_workers == 0)
        return false;
    std::uint64_t work = 0;
    for (const List* const parts : queries) {
        const ListCell* cell;
        foreach (cell, parts) {
            const PlannedStmt* const part = lfirst_node(PlannedStmt, cell);
            if (!can_share(part))
                return false;
            work += work_of(call, part);
        }
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

// A plan that runs. Until it ends, errors show its query, unless the query is internal.
struct running_plan {
    QueryDesc* query;
    ErrorContextCallback context;
};

void start_plan(running_plan& fresh, PlannedStmt* planned, const char* text, bool is_internal)
{
    fresh.query =
        CreateQueryDesc(planned, text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, nullptr, nullptr, 0);
    fresh.context = {error_context_stack, tell_query, fresh.query};
    if (!is_internal)
        error_context_stack = &fresh.context;
    ExecutorStart(fresh.query, 0);
}

void end_plan(const running_plan& plan)
{
    ExecutorFinish(plan.query);
    ExecutorEnd(plan.query);
    error_context_stack = plan.context.previous;
    FreeQueryDesc(plan.query);
}

// Collects a process's records.
struct recorder {
    bulk_host* host;
    shared_scan* scan;
    bulk::host_signer* signer;
    bulk::byte_store* rows;
    bulk::byte_store* runs;
    bulk::growing<char> record;
    run current;      // not yet in `runs`; no rows: there is none
    BlockNumber last; // the block of the last row
    std::uint64_t skipped;
};

void end_run(recorder& self)
{
    if (self.current.rows == 0)
        return;
    self.current.bytes = self.rows->size - self.current.offset;
    bulk::append(*self.runs, &self.current, sizeof(self.current));
    const std::atomic_ref read(self.scan->read);
    const std::uint64_t all = read.fetch_add(self.current.rows, std::memory_order_relaxed) + self.current.rows;
    self.current = {};
    if (self.host->member == 0)
        report_read(*self.host, "reading rows", all, self.scan->expected);
}

// The size of a text. Sets `content` if the text has no shingles.
std::size_t measure_text(const recorder& self, Datum value, row_content& content)
{
    text_beginning start;
    if (beginning_of(value, start) && bulk::has_shingles(*self.signer, start.bytes))
        return start.size;
    const bulk::text_bytes whole = utf8_of(*self.host, DatumGetTextPP(value));
    if (!bulk::has_shingles(*self.signer, whole))
        content = row_content::empty;
    return whole.size();
}

// The size of a stored signature. Copies its header, or as much of it as there is.
std::size_t measure_signature(Datum value, std::uint8_t (&header)[header_bytes])
{
    const struct varlena* const start = PG_DETOAST_DATUM_SLICE(value, 0, header_bytes);
    memcpy(header, VARDATA_ANY(start), std::min<std::size_t>(VARSIZE_ANY_EXHDR(start), header_bytes));
    return toast_raw_datum_size(value) - VARHDRSZ;
}

// Serializes a column after the first `bytes` bytes of the record, and adds to `bytes`.
void add_column(recorder& self, TupleTableSlot* slot, int column, Datum value, bool null, std::size_t& bytes)
{
    const Form_pg_attribute type = TupleDescAttr(slot->tts_tupleDescriptor, column - 1);
    const std::size_t more = datumEstimateSpace(value, null, type->attbyval, type->attlen);
    bulk::grow(*self.host, self.record, bytes, bytes + more);
    char* at = self.record.values + bytes;
    datumSerialize(value, null, type->attbyval, type->attlen, &at);
    bytes += more;
}

void append_record(recorder& self, TupleTableSlot* slot, row_head head, Datum id, Datum value)
{
    std::uint8_t header[header_bytes] = {};
    if (!self.scan->from_texts && head.content != row_content::null)
        head.size = static_cast<std::uint32_t>(measure_signature(value, header));
    else if (head.content != row_content::null)
        head.size = static_cast<std::uint32_t>(measure_text(self, value, head.content));
    bulk::grow(*self.host, self.record, 0, sizeof(head) + sizeof(header));
    memcpy(self.record.values, &head, sizeof(head));
    memcpy(self.record.values + sizeof(head), header, sizeof(header));
    std::size_t bytes = sizeof(head) + (self.scan->from_texts ? 0 : sizeof(header));
    add_column(self, slot, 1, id, false, bytes);
    for (const int column : {self.scan->scope_column, self.scan->rank_column})
        if (column > 0) {
            bool null;
            const Datum other = slot_getattr(slot, column, &null);
            add_column(self, slot, column, other, null, bytes);
        }
    bulk::append(*self.rows, self.record.values, bytes);
}

void record_row(recorder& self, TupleTableSlot* slot, const ItemPointerData& at)
{
    bool no_id;
    bool no_value;
    const Datum id = slot_getattr(slot, 1, &no_id);
    const Datum value = slot_getattr(slot, 2, &no_value);
    if (no_id || (no_value && !self.scan->lone_ids)) {
        self.skipped++;
        return;
    }
    const BlockNumber block = ItemPointerGetBlockNumber(&at);
    const bool adjacent = block == self.last || block == self.last + 1;
    if (!adjacent || self.current.rows == most_rows_of_run)
        end_run(self);
    if (self.current.rows == 0)
        self.current = {self.rows->size, 0, 0, block};
    const row_head head = {location_at(self.scan->table, at), 0, no_value ? row_content::null : row_content::value};
    append_record(self, slot, head, convert_id(self.scan->short_id, id), value);
    self.current.rows++;
    self.last = block;
}

// Reads this process's part of the blocks.
void scan_part(bulk_host& host, shared_scan& scan, QueryDesc* running)
{
    host.begin_phase(host);
    bulk::memory_budget budget = bulk::make_budget(host, scan.allowance);
    recorder self = {};
    self.host = &host;
    self.scan = &scan;
    self.last = InvalidBlockNumber;
    if (scan.from_texts)
        self.signer = bulk::make_signer(host, scan.texts);
    const std::size_t chunk = bulk::chunk_for(budget, 2, 1024 * 1024);
    self.rows = bulk::open_shared_store(budget, chunk, bulk::reading::in_order);
    self.runs = bulk::open_shared_store(budget, std::min<std::size_t>(chunk, 64 * 1024), bulk::reading::in_order);

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
        record_row(self, slot, node->ss.ss_ScanTupleSlot->tts_tid);
    }
    MemoryContextSwitchTo(former);
    end_run(self);
    std::atomic_ref(scan.skipped).fetch_add(self.skipped, std::memory_order_relaxed);
    bulk::leave_store(self.rows, bulk::find_shared<bulk::store_note>(host, scan.rows)[host.member]);
    bulk::leave_store(self.runs, bulk::find_shared<bulk::store_note>(host, scan.runs)[host.member]);
    host.end_phase(host);
}

// What a process has left, to be merged.
struct left_rows {
    bulk::byte_store* rows;
    bulk::byte_store* runs;
    std::uint64_t next; // the next run's number
    run first;          // the next run
    bool ended;
};

void go_on(left_rows& left)
{
    left.ended = left.next * sizeof(run) == left.runs->size;
    if (!left.ended)
        left.first = bulk::fetch_value<run>(*left.runs, left.next++);
}

Datum restore(const char*& at, bool& null)
{
    char* from = const_cast<char*>(at); // not written to
    const Datum value = datumRestore(&from, &null);
    at = from;
    return value;
}

void take_run(bulk_call& call, const char* at, std::uint32_t rows)
{
    for (std::uint32_t i = 0; i < rows; i++) {
        bulk::pause(call);
        MemoryContextReset(call.row_memory);
        const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
        row_head head;
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        scanned_row row = {head.location, head.size, head.content, at, 0, 0, 0, true, true};
        if (!call.from_texts)
            at += header_bytes;
        bool no_id;
        row.id = restore(at, no_id);
        if (call.scope_column > 0)
            row.scope = restore(at, row.no_scope);
        if (call.rank_column > 0)
            row.rank = restore(at, row.no_rank);
        MemoryContextSwitchTo(former);
        take_scanned_row(call, row);
    }
}

// Passes the rows of all processes to the engine, in the order of their locations.
void merge_runs(bulk_call& call, const shared_scan& scan)
{
    const auto* const rows = bulk::find_shared<bulk::store_note>(call, scan.rows);
    const auto* const runs = bulk::find_shared<bulk::store_note>(call, scan.runs);
    bulk::memory_budget budget = bulk::make_budget(call, scan.allowance);
    left_rows parts[most_members];
    const std::span all(parts, static_cast<std::size_t>(call.processes));
    for (std::size_t i = 0; i < all.size(); i++) {
        all[i] = {bulk::open_view(budget, rows[i]), bulk::open_view(budget, runs[i]), 0, {}, false};
        go_on(all[i]);
    }
    bulk::growing<char> buffer = {};
    const auto is_before = [](const left_rows& a, const left_rows& b) {
        return a.ended != b.ended ? b.ended : a.first.first < b.first.first;
    };
    for (;;) {
        left_rows& next = *std::min_element(all.begin(), all.end(), is_before);
        if (next.ended)
            break;
        const run taken = next.first;
        if (!bulk::in_place(*next.rows, taken.offset, taken.bytes))
            bulk::grow(call, buffer, 0, taken.bytes);
        const void* const records = bulk::fetch(*next.rows, taken.offset, taken.bytes, buffer.values);
        take_run(call, static_cast<const char*>(records), taken.rows);
        go_on(next);
    }
    bulk::release(call, buffer.values);
    for (std::size_t i = 0; i < all.size(); i++) {
        bulk::close_view(all[i].rows);
        bulk::close_view(all[i].runs);
        bulk::free_noted(call, rows[i]);
        bulk::free_noted(call, runs[i]);
    }
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
    bulk::allocate_shared<bulk::store_note>(call, scan.runs, processes);
    scan.texts = call.wanted.texts;
    scan.allowance = (call.budget.limit - std::min(call.budget.limit, call.budget.used)) / 2 / processes;
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
    for (const bulk::shared_number part : {scan.plan, scan.query, scan.blocks, scan.rows, scan.runs, number})
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
    start_plan(running, part, query.text, call.is_internal);
    take_columns(call, running.query->tupDesc);
    start_rereading(call.again, *running.query, 2);
    call.far = call.again.far;
    Assert(call.again.scanned != nullptr);
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
    merge_runs(call, scan);
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
        plans[i] = SPI_plan_get_cached_plan(queries[i].plan);
        parts[i] = split_into_scans(linitial_node(PlannedStmt, plans[i]->stmt_list));
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
}

void scan_blocks(bulk_host& self, bulk::shared_number number)
{
    shared_scan& scan = *bulk::find_shared<shared_scan>(self, number);
    auto* const planned = static_cast<PlannedStmt*>(stringToNode(bulk::find_shared<char>(self, scan.plan)));
    running_plan running;
    start_plan(running, planned, bulk::find_shared<char>(self, scan.query), scan.is_internal);
    scan_part(self, scan, running.query);
    end_plan(running);
}

} // namespace minhash::pg
