#include "pg/index/build_workers.h"

extern "C" {
#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
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

void do_part(build_crew& crew)
{
    switch (crew.shared->step) {
    case build_step::reading_table:
        read_rows(crew.table, crew.index, crew.info, *crew.shared, crew.scan);
        break;
    case build_step::writing_leaves:
        write_leaves(crew.index, *crew.shared);
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

template <typename Value>
Value* look_up(shm_toc* directory, std::uint64_t number)
{
    return static_cast<Value*>(shm_toc_lookup(directory, number, true));
}

} // namespace

build_crew make_crew(Relation table, Relation index, IndexInfo* info)
{
    build_crew crew = {};
    crew.table = table;
    crew.index = index;
    crew.info = info;
    crew.processes = 1;
    const int workers = workers_of_build(*table, *index, *info);
    if (workers == 0) {
        crew.shared = static_cast<shared_build*>(palloc(sizeof(shared_build)));
        init_shared_build(*crew.shared, table, index, info->ii_Concurrent);
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
    init_shared_build(*crew.shared, table, index, info->ii_Concurrent);
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
    if (crew.context == nullptr) {
        do_part(crew);
        return;
    }
    start_or_end_step(crew);
    do_part(crew);
    start_or_end_step(crew);
}

void dismiss(build_crew& crew)
{
    if (crew.context != nullptr) {
        crew.shared->step = build_step::nothing_more;
        start_or_end_step(crew);
        BarrierDetach(&crew.shared->phases);
        WaitForParallelWorkersToFinish(crew.context);
        DestroyParallelContext(crew.context);
        if (crew.snapshot != nullptr)
            UnregisterSnapshot(crew.snapshot);
        ExitParallelMode();
    }
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
