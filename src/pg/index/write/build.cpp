// CREATE INDEX: the table's rows become pages of records, and all these pages become one run. One process does
// everything, or several processes share the work. If several share it, their common state is in the shared memory of a
// parallel context. The processes first read the table's rows into pages of records, and then write the leaves of
// bands. The process that fills a page also logs it, so that logging is shared, too.
#include "pg/crew.h"
#include "pg/index/am.h"
#include "pg/index/format/columns.h"
#include "pg/index/format/records.h"
#include "pg/index/options.h"
#include "pg/index/write/run_writer.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/lockdefs.h"
#include "storage/spin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

[[gnu::visibility("default")]] void minhash_lsh_build_worker(dsm_segment*, shm_toc* directory);
}

namespace minhash::pg::index {

namespace {

enum class build_step {
    // Each process appends pages of records for the rows that it gets. The pages of all processes follow the meta page
    // without a gap, and each page links to the block after it.
    reading_table,
    writing_leaves,
};

struct shared_build {
    Oid table;
    Oid index;
    bool concurrently;
    build_step step;

    new_pages supply;
    pg_atomic_uint64 next_id;
    pg_atomic_uint64 records;
    pg_atomic_uint32 bare_end; // the block after the last bare page; 0: there is none

    // The run that is being made. The processes write its leaves for one part of its records at a time. This part is on
    // `pages` consecutive pages, the first of which is block `first`.
    std::uint64_t run_id;
    bool logs_once; // see new_run
    BlockNumber first;
    std::uint32_t pages;
    pg_atomic_uint32 next_band;

    slock_t lock; // protects all members below, except `leaves`
    meta made;    // the future meta page; the first signature that is read determines its scheme
    double rows;  // how many rows of the table have been read
    bool broken_hot_chain;
    sorted_leaves leaves[max_num_hashes + 1]; // the leaves of each list; only one process writes each element
};

struct index_build {
    Relation table;
    Relation index;
    IndexInfo* info;
    shared_build* shared;
    pg::crew crew;                   // without a context if there are no workers
    ParallelTableScanDescData* scan; // null: this process reads all rows
    SnapshotData* snapshot;          // the snapshot registered for the scan, or null
    int processes;                   // how many processes do the steps
};

// The shared memory consists of a shared_build, and of PostgreSQL's state of the scan.
constexpr std::size_t scan_offset = MAXALIGN(sizeof(shared_build));

ParallelTableScanDescData* scan_of(shared_build* shared)
{
    return reinterpret_cast<ParallelTableScanDescData*>(reinterpret_cast<char*>(shared) + scan_offset);
}

struct reader {
    Relation index;
    shared_build* shared;
    index::columns columns;
    index::layout layout; // has no bands until this process has read a signature: records are bare
    std::uint8_t* page;   // records not yet written; collecting them in a locked page would block cancel
    int count;
    MemoryContext for_row;
};

meta make_meta(Relation index)
{
    meta fresh = {};
    fresh.magic = format_magic;
    fresh.version = format_version;
    fresh.next_id = 2;
    fresh.tail_first = fresh.tail_last = meta_block + 1; // the first page of the tail has the id 1
    fresh.tail_pages = 1;
    const columns columns = columns_of(index);
    require_hashes(index, columns);
    fresh.scope_bytes = columns.scope == 0 ? 0 : scope_hash_bytes;
    fresh.threshold = constraint_threshold(index);
    return fresh;
}

void note_bare_page(shared_build& shared, BlockNumber block)
{
    std::uint32_t end = pg_atomic_read_u32(&shared.bare_end);
    while (end <= block && !pg_atomic_compare_exchange_u32(&shared.bare_end, &end, block + 1)) {
    }
}

// Writes the collected records as a page. In this step, only pages of records are appended, so the page after this one
// is in the next block.
void write_page(reader& self)
{
    Assert(self.count > 0 && self.count <= self.layout.records_per_page);
    const Buffer buffer = new_page(self.index, &self.shared->supply);
    if (self.layout.banding.bands == 0)
        note_bare_page(*self.shared, BufferGetBlockNumber(buffer));
    write_records(self.index,
                  buffer,
                  self.layout.banding.bands == 0 ? bare_level : 0,
                  pg_atomic_fetch_add_u64(&self.shared->next_id, 1),
                  {self.page, static_cast<std::size_t>(self.count) * self.layout.record_bytes},
                  BufferGetBlockNumber(buffer) + 1);
    const std::uint64_t records = pg_atomic_add_fetch_u64(&self.shared->records, self.count);
    self.count = 0;
    if (!IsParallelWorker())
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<std::int64_t>(records));
}

// Sets the scheme of the index from the first signature that this process reads, unless another process has already set
// it. Records collected before have no room for slots, so they get a page of their own.
void agree_on_scheme(reader& self, const scheme& scheme)
{
    const banding banding = banding_for(self.index, scheme);
    if (self.count > 0)
        write_page(self);
    SpinLockAcquire(&self.shared->lock);
    set_scheme(self.shared->made, scheme, banding);
    SpinLockRelease(&self.shared->lock);
    self.layout = layout_of(self.index, self.shared->made);
}

// If another process has read a signature, the next page of this process need not be bare.
void take_scheme(reader& self)
{
    SpinLockAcquire(&self.shared->lock);
    const bool known = self.shared->made.bands != 0;
    SpinLockRelease(&self.shared->lock);
    if (known)
        self.layout = layout_of(self.index, self.shared->made);
}

void add_row(Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    reader& self = *static_cast<reader*>(callback_state);
    const MemoryContext old = MemoryContextSwitchTo(self.for_row);
    const bool null = nulls[self.columns.signature];
    signature value;
    if (self.layout.banding.bands == 0 && self.count == 0)
        take_scheme(self);
    if (!null) {
        value = indexable_signature(index, values[self.columns.signature]);
        if (self.layout.banding.bands == 0)
            agree_on_scheme(self, value.scheme);
        check_scheme(index, self.layout, value);
    }
    make_record(self.layout,
                null ? nullptr : &value,
                hash_scope(index, self.columns, values, nulls),
                *tid,
                self.page + self.count * self.layout.record_bytes);
    MemoryContextSwitchTo(old);
    MemoryContextReset(self.for_row);
    if (++self.count == self.layout.records_per_page)
        write_page(self);
}

void read_rows(index_build& from)
{
    shared_build& shared = *from.shared;
    reader self = {};
    self.index = from.index;
    self.shared = &shared;
    self.columns = columns_of(from.index);
    self.layout = layout_of(from.index, make_meta(from.index));
    self.page = static_cast<std::uint8_t*>(palloc(BLCKSZ));
    self.for_row = AllocSetContextCreate(CurrentMemoryContext, "lsh row", ALLOCSET_DEFAULT_SIZES);
    const TableScanDesc scan = from.scan != nullptr ? begin_parallel_scan(from.table, from.scan) : nullptr;
    const bool progress = !IsParallelWorker();
    const double rows = table_index_build_scan(from.table, from.index, from.info, true, progress, add_row, &self, scan);
    if (self.count > 0)
        write_page(self);
    MemoryContextDelete(self.for_row);
    SpinLockAcquire(&shared.lock);
    shared.rows += rows;
    shared.broken_hot_chain |= from.info->ii_BrokenHotChain;
    SpinLockRelease(&shared.lock);
}

new_run target_of(const index_build& self, const layout& layout, std::size_t pages)
{
    shared_build& shared = *self.shared;
    return {self.index, &layout, shared.run_id, &shared.supply, ring_for(self.index, pages), shared.logs_once};
}

void write_leaves(index_build& self)
{
    shared_build& shared = *self.shared;
    Assert(shared.pages > 0);
    const layout layout = layout_of(self.index, shared.made);
    growing<BlockNumber> pages;
    pages.start(shared.pages);
    for (std::uint32_t at = 0; at < shared.pages; at++)
        pages.add(shared.first + at);
    const new_run to = target_of(self, layout, pages.count);
    write_bands(to, pages, shared.next_band, shared.leaves);
    pfree(pages.at);
}

void do_build_part(index_build& self)
{
    switch (self.shared->step) {
    case build_step::reading_table:
        read_rows(self);
        break;
    case build_step::writing_leaves:
        write_leaves(self);
        break;
    }
}

void init_shared_build(shared_build& shared, const index_build& self, const meta& fresh)
{
    memset(static_cast<void*>(&shared), 0, sizeof(shared));
    shared.table = RelationGetRelid(self.table);
    shared.index = RelationGetRelid(self.index);
    shared.concurrently = self.info->ii_Concurrent;
    pg_atomic_init_u32(&shared.supply.next, meta_block + 1);
    pg_atomic_init_u32(&shared.supply.end, 0);
    pg_atomic_init_u64(&shared.next_id, 1);
    pg_atomic_init_u64(&shared.records, 0);
    pg_atomic_init_u32(&shared.bare_end, 0);
    pg_atomic_init_u32(&shared.next_band, 0);
    SpinLockInit(&shared.lock);
    shared.made = fresh;
}

// Starts as many workers as PostgreSQL plans for the index. `fresh` is the meta page of the empty index.
index_build start_build(Relation table, Relation index, IndexInfo* info, const meta& fresh)
{
    index_build self = {};
    self.table = table;
    self.index = index;
    self.info = info;
    self.processes = 1;
    const int workers = workers_of_build(*table, *index, *info);
    if (workers == 0) {
        self.shared = static_cast<shared_build*>(palloc(sizeof(shared_build)));
        init_shared_build(*self.shared, self, fresh);
        return self;
    }
    // The same snapshot that PostgreSQL uses in its own index builds.
    if (info->ii_Concurrent)
        self.snapshot = RegisterSnapshot(GetTransactionSnapshot());
    SnapshotData* const snapshot = info->ii_Concurrent ? self.snapshot : SnapshotAny;
    const Size bytes = scan_offset + table_parallelscan_estimate(table, snapshot);
    void* const memory =
        gather(self.crew, "minhash_lsh_build_worker", workers, bytes, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
    self.shared = static_cast<shared_build*>(memory);
    init_shared_build(*self.shared, self, fresh);
    self.scan = scan_of(self.shared);
    table_parallelscan_initialize(table, self.scan, snapshot);
    self.processes = launch(self.crew) + 1;
    return self;
}

// Makes all processes do a step, and waits until the step is done. If a worker has failed, its error is raised here.
void do_together(index_build& self, build_step step)
{
    Assert(!IsParallelWorker());
    const bool workers = self.crew.context != nullptr;
    self.shared->step = step;
    if (workers)
        meet(self.crew);
    do_build_part(self);
    if (workers)
        meet(self.crew);
}

// Ends the workers, and frees the shared memory.
void end_build(index_build& self)
{
    if (self.crew.context == nullptr)
        return;
    dismiss(self.crew);
    if (self.snapshot != nullptr)
        UnregisterSnapshot(self.snapshot);
}

enum phase : std::int64_t {
    reading_table = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1,
    sorting,
    merging,
};

void report(phase now) { pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, now); }

void report_tuples(double done)
{
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<std::int64_t>(done));
}

// Makes one run from all pages of records, which are the pages between the meta page and block `end`.
run make_run(index_build& self, BlockNumber end, double records)
{
    shared_build& shared = *self.shared;
    const layout layout = layout_of(self.index, shared.made);
    growing<BlockNumber> pages;
    pages.start(end);
    for (BlockNumber block = meta_block + 1; block < end; block++)
        pages.add(block);
    shared.run_id = pg_atomic_fetch_add_u64(&shared.next_id, 1);
    const int memory = maintenance_work_mem / self.processes;
    shared.logs_once = pages.count > sortable_pages(layout, memory);
    const new_run to = target_of(self, layout, pages.count);
    const auto sort = [&](std::span<const BlockNumber> part) {
        sorted_leaves sorted;
        if (self.crew.context == nullptr) {
            sorted = write_sorted(to, part);
        } else {
            shared.first = part.front();
            shared.pages = static_cast<std::uint32_t>(part.size());
            pg_atomic_write_u32(&shared.next_band, 0);
            do_together(self, build_step::writing_leaves);
            sorted = join_bands(to, shared.leaves);
        }
        report_tuples(records * part.back() / pages.count);
        if (part.back() + 1 == end && part.size() < pages.count)
            report(merging);
        return sorted;
    };
    run made = write_run(to, pages, memory, sort);
    const BlockNumber bare_end = pg_atomic_read_u32(&shared.bare_end);
    made.bare_pages = bare_end > 0 ? bare_end - (meta_block + 1) : 0;
    return made;
}

void put_meta(Page page, const meta& made)
{
    init_page(page, page_kind::meta, 0, 0);
    meta_of(page) = made;
    set_used_bytes(page, sizeof(meta));
}

} // namespace

char* name_phase(int64 now)
{
    switch (now) {
    case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
        return const_cast<char*>("initializing");
    case reading_table:
        return const_cast<char*>("scanning table");
    case sorting:
        return const_cast<char*>("sorting keys");
    case merging:
        return const_cast<char*>("merging sorted keys");
    }
    return nullptr;
}

IndexBuildResult* build(Relation heap, Relation index, IndexInfo* info)
{
    if (RelationGetNumberOfBlocks(index) != 0)
        elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
    notice_unique_scope(heap, index, columns_of(index));
    index_build self = start_build(heap, index, info, make_meta(index));
    shared_build& shared = *self.shared;
    report(reading_table);
    do_together(self, build_step::reading_table);
    info->ii_BrokenHotChain = shared.broken_hot_chain;
    const std::uint64_t open_id = pg_atomic_fetch_add_u64(&shared.next_id, 1);
    const Buffer buffer = new_page(index, &shared.supply);
    const BlockNumber open = BufferGetBlockNumber(buffer);
    meta& made = shared.made;
    write_records(index, buffer, 0, open_id, {}, InvalidBlockNumber);
    made.tail_first = made.tail_last = open;
    const std::uint64_t records = pg_atomic_read_u64(&shared.records);
    if (made.bands == 0) { // without a signature there is no run
        made.tail_first = meta_block + 1;
        made.tail_pages = open - meta_block;
    } else if (records > 0) {
        report(sorting);
        report_tuples(0);
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, static_cast<std::int64_t>(records));
        made.runs[made.run_count++] = make_run(self, open, static_cast<double>(records));
    }
    made.next_id = pg_atomic_read_u64(&shared.next_id);
    const Buffer first = ReadBufferExtended(index, MAIN_FORKNUM, meta_block, RBM_ZERO_AND_LOCK, nullptr);
    put_meta(BufferGetPage(first), made);
    finish_page(index, first);
    free_left_pages(index, shared.supply);
    IndexBuildResult* const result = static_cast<IndexBuildResult*>(palloc(sizeof(IndexBuildResult)));
    result->heap_tuples = shared.rows;
    result->index_tuples = static_cast<double>(records);
    end_build(self);
    return result;
}

// Makes the init fork: the empty index that an unlogged table has after a crash.
void build_empty(Relation index)
{
    const meta fresh = make_meta(index);
    for (const page_kind kind : {page_kind::meta, page_kind::records}) {
        const Buffer buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, nullptr);
        LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
        if (kind == page_kind::meta)
            put_meta(BufferGetPage(buffer), fresh);
        else
            init_page(BufferGetPage(buffer), kind, 0, 1);
        finish_page(index, buffer, logging::always);
    }
}

} // namespace minhash::pg::index

// The main function of a worker of CREATE INDEX.
void minhash_lsh_build_worker(dsm_segment*, shm_toc* directory)
{
    namespace pg = minhash::pg;
    pg::index::index_build self = {};
    void* const memory = pg::join(self.crew, directory, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
    if (memory == nullptr)
        return;
    self.shared = static_cast<pg::index::shared_build*>(memory);
    self.scan = pg::index::scan_of(self.shared);
    const bool concurrently = self.shared->concurrently;
    self.table = table_open(self.shared->table, concurrently ? ShareUpdateExclusiveLock : ShareLock);
    self.index = index_open(self.shared->index, concurrently ? RowExclusiveLock : AccessExclusiveLock);
    self.info = BuildIndexInfo(self.index);
    self.info->ii_Concurrent = concurrently;
    while (pg::next_step(self.crew)) {
        pg::index::do_build_part(self);
        pg::meet(self.crew);
    }
    index_close(self.index, NoLock);
    table_close(self.table, NoLock);
}
