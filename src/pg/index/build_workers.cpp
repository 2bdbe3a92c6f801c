#include "pg/index/build_workers.h"
#include "pg/index/columns.h"
#include "pg/index/options.h"
#include "pg/index/records.h"

extern "C" {
#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lockdefs.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

[[gnu::visibility("default")]] void minhash_lsh_build(dsm_segment*, shm_toc* directory);
}

namespace minhash::pg::index {

namespace {

// The keys of the shared memory's table of contents.
enum : std::uint64_t {
    of_build = 1,
    of_scan,
    of_query,
};

struct reader {
    Relation index;
    shared_build* shared;
    columns which;
    layout shape;       // without bands while no signature has been read
    std::uint8_t* page; // records not written yet: holding a page instead would block cancel
    int count;
    MemoryContext for_row;
    bool null_rows; // rows whose signature is NULL were met
};

// Writes the collected records as a page. Only pages of records are appended in this step, so the next page's block is
// known.
void write_page(reader& state)
{
    Assert(state.count > 0 && state.count <= state.shape.records_per_page);
    const Buffer buffer = new_page(state.index, &state.shared->supply);
    write_records(state.index,
                  buffer,
                  pg_atomic_fetch_add_u64(&state.shared->next_id, 1),
                  {state.page, static_cast<std::size_t>(state.count) * state.shape.record_bytes},
                  BufferGetBlockNumber(buffer) + 1);
    const std::uint64_t records = pg_atomic_add_fetch_u64(&state.shared->records, state.count);
    state.count = 0;
    if (!IsParallelWorker())
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<std::int64_t>(records));
}

// Lets the first signature that any process reads decide the scheme of the index.
void agree_on_scheme(reader& state, const scheme& scheme)
{
    const banding shape = shape_for(state.index, scheme);
    SpinLockAcquire(&state.shared->lock);
    set_scheme(state.shared->made, scheme, shape);
    SpinLockRelease(&state.shared->lock);
    state.shape = layout_of(state.index, state.shared->made);
}

void add_row(Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    reader& state = *static_cast<reader*>(callback_state);
    if (nulls[state.which.signature]) {
        state.null_rows = true;
        return;
    }
    const MemoryContext old = MemoryContextSwitchTo(state.for_row);
    const signature value = indexable_signature(index, values[state.which.signature]);
    if (state.shape.shape.bands == 0)
        agree_on_scheme(state, value.scheme);
    check_scheme(index, state.shape, value);
    make_record(state.shape,
                value,
                hash_scope(index, state.which, values, nulls),
                *tid,
                state.page + state.count * state.shape.record_bytes);
    MemoryContextSwitchTo(old);
    MemoryContextReset(state.for_row);
    if (++state.count == state.shape.records_per_page)
        write_page(state);
}

void read_rows(build_crew& crew)
{
    shared_build& shared = *crew.shared;
    reader state = {};
    state.index = crew.index;
    state.shared = &shared;
    state.which = columns_of(crew.index);
    state.page = static_cast<std::uint8_t*>(palloc(BLCKSZ));
    state.for_row = AllocSetContextCreate(CurrentMemoryContext, "lsh row", ALLOCSET_DEFAULT_SIZES);
    const TableScanDesc scan = crew.scan != nullptr ? begin_parallel_scan(crew.table, crew.scan) : nullptr;
    const bool progress = !IsParallelWorker();
    const double rows =
        table_index_build_scan(crew.table, crew.index, crew.info, true, progress, add_row, &state, scan);
    if (state.count > 0)
        write_page(state);
    MemoryContextDelete(state.for_row);
    SpinLockAcquire(&shared.lock);
    shared.rows += rows;
    shared.broken_hot_chain |= crew.info->ii_BrokenHotChain;
    shared.made.null_rows |= state.null_rows;
    SpinLockRelease(&shared.lock);
}

void write_leaves(build_crew& crew)
{
    shared_build& shared = *crew.shared;
    Assert(shared.pages > 0);
    const layout shape = layout_of(crew.index, shared.made);
    growing<BlockNumber> pages;
    pages.start(shared.pages);
    for (std::uint32_t at = 0; at < shared.pages; at++)
        pages.add(shared.first + at);
    const new_run to = {crew.index, &shape, shared.run_id, &shared.supply};
    write_bands(to, pages, shared.next_band, shared.leaves);
    pfree(pages.at);
}

void do_part(build_crew& crew)
{
    switch (crew.shared->step) {
    case build_step::reading_table:
        read_rows(crew);
        break;
    case build_step::writing_leaves:
        write_leaves(crew);
        break;
    case build_step::nothing_more:
        break;
    }
}

// Waits until all have ended the step, or until the next one has been prepared.
void start_or_end_step(build_crew& crew)
{
    BarrierArriveAndWait(&crew.shared->phases, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
}

// Does a worker's part of all steps. A worker that starts late joins in then. One that fails never arrives at the
// barrier, but its error is sent to the processes that wait for it, which end, too.
void do_steps(build_crew& crew)
{
    bool in_step = BarrierAttach(&crew.shared->phases) % 2 != 0;
    while (true) {
        if (!in_step)
            start_or_end_step(crew);
        if (crew.shared->step == build_step::nothing_more)
            break;
        do_part(crew);
        start_or_end_step(crew);
        in_step = false;
    }
    BarrierDetach(&crew.shared->phases);
}

void init_shared_build(shared_build& shared, const build_crew& crew, const meta& fresh)
{
    memset(static_cast<void*>(&shared), 0, sizeof(shared));
    shared.table = RelationGetRelid(crew.table);
    shared.index = RelationGetRelid(crew.index);
    shared.concurrently = crew.info->ii_Concurrent;
    BarrierInit(&shared.phases, 0);
    pg_atomic_init_u32(&shared.supply.next, meta_block + 1);
    pg_atomic_init_u32(&shared.supply.end, 0);
    pg_atomic_init_u64(&shared.next_id, 1);
    pg_atomic_init_u64(&shared.records, 0);
    pg_atomic_init_u32(&shared.next_band, 0);
    SpinLockInit(&shared.lock);
    shared.made = fresh;
}

template <typename Value>
Value* look_up(shm_toc* directory, std::uint64_t number)
{
    return static_cast<Value*>(shm_toc_lookup(directory, number, true));
}

} // namespace

build_crew make_crew(Relation table, Relation index, IndexInfo* info, const meta& fresh)
{
    build_crew crew = {};
    crew.table = table;
    crew.index = index;
    crew.info = info;
    crew.processes = 1;
    const int workers = workers_of_build(*table, *index, *info);
    if (workers == 0) {
        crew.shared = static_cast<shared_build*>(palloc(sizeof(shared_build)));
        init_shared_build(*crew.shared, crew, fresh);
        return crew;
    }
    EnterParallelMode();
    crew.context = CreateParallelContext("minhash_lsh", "minhash_lsh_build", workers);
    // The same snapshot as in PostgreSQL's own index builds.
    if (info->ii_Concurrent)
        crew.snapshot = RegisterSnapshot(GetTransactionSnapshot());
    SnapshotData* const snapshot = info->ii_Concurrent ? crew.snapshot : SnapshotAny;
    const Size scan_bytes = table_parallelscan_estimate(table, snapshot);
    const Size query_bytes = debug_query_string != nullptr ? strlen(debug_query_string) + 1 : 0;
    shm_toc_estimator& sizes = crew.context->estimator;
    for (const Size bytes : {sizeof(shared_build), scan_bytes, query_bytes}) {
        shm_toc_estimate_chunk(&sizes, bytes);
        shm_toc_estimate_keys(&sizes, 1);
    }
    InitializeParallelDSM(crew.context);
    shm_toc* const directory = crew.context->toc;
    crew.shared = static_cast<shared_build*>(shm_toc_allocate(directory, sizeof(shared_build)));
    init_shared_build(*crew.shared, crew, fresh);
    shm_toc_insert(directory, of_build, crew.shared);
    crew.scan = static_cast<ParallelTableScanDesc>(shm_toc_allocate(directory, scan_bytes));
    table_parallelscan_initialize(table, crew.scan, snapshot);
    shm_toc_insert(directory, of_scan, crew.scan);
    if (query_bytes > 0) {
        void* const query = shm_toc_allocate(directory, query_bytes);
        memcpy(query, debug_query_string, query_bytes);
        shm_toc_insert(directory, of_query, query);
    }
    BarrierAttach(&crew.shared->phases);
    LaunchParallelWorkers(crew.context);
    crew.processes = crew.context->nworkers_launched + 1;
    return crew;
}

void do_together(build_crew& crew, build_step step)
{
    Assert(!IsParallelWorker() && step != build_step::nothing_more);
    crew.shared->step = step;
    if (crew.context != nullptr)
        start_or_end_step(crew);
    do_part(crew);
    if (crew.context != nullptr)
        start_or_end_step(crew);
}

void dismiss(build_crew& crew)
{
    if (crew.context == nullptr)
        return;
    crew.shared->step = build_step::nothing_more;
    start_or_end_step(crew);
    BarrierDetach(&crew.shared->phases);
    WaitForParallelWorkersToFinish(crew.context);
    DestroyParallelContext(crew.context);
    if (crew.snapshot != nullptr)
        UnregisterSnapshot(crew.snapshot);
    ExitParallelMode();
}

} // namespace minhash::pg::index

// What a worker of CREATE INDEX runs.
void minhash_lsh_build(dsm_segment*, shm_toc* directory)
{
    namespace pg = minhash::pg;
    pg::index::build_crew crew = {};
    crew.shared = pg::index::look_up<pg::index::shared_build>(directory, pg::index::of_build);
    crew.scan = pg::index::look_up<ParallelTableScanDescData>(directory, pg::index::of_scan);
    debug_query_string = pg::index::look_up<const char>(directory, pg::index::of_query);
    pgstat_report_activity(STATE_RUNNING, debug_query_string);
    Assert(IsParallelWorker() && crew.shared != nullptr && crew.scan != nullptr);
    const bool concurrently = crew.shared->concurrently;
    crew.table = table_open(crew.shared->table, concurrently ? ShareUpdateExclusiveLock : ShareLock);
    crew.index = index_open(crew.shared->index, concurrently ? RowExclusiveLock : AccessExclusiveLock);
    crew.info = BuildIndexInfo(crew.index);
    crew.info->ii_Concurrent = concurrently;
    pg::index::do_steps(crew);
    index_close(crew.index, NoLock);
    table_close(crew.table, NoLock);
}
