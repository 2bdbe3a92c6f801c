// CREATE INDEX: the table's rows become pages of records, and all these pages one run. Each page is logged by the
// process that fills it, so that processes share this work, too.
#include "pg/growing.h"
#include "pg/index/am.h"
#include "pg/index/build_workers.h"
#include "pg/index/columns.h"
#include "pg/index/constraint.h"
#include "pg/index/options.h"
#include "pg/index/pages.h"
#include "pg/index/records.h"
#include "pg/index/run_writer.h"
#include "pg/index/tree_writer.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "access/tableam.h"
#include "access/xloginsert.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/backend_progress.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

enum phase : std::int64_t {
    reading_table = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1,
    sorting,
    merging,
};

void report(phase now)
{
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, now);
}

void report_tuples(double done)
{
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<std::int64_t>(done));
}

// Lets all processes make the sorted leaves of some pages of records.
sorted_leaves sort_pages(build_crew& crew, const layout& shape, std::span<const BlockNumber> pages)
{
    shared_build& shared = *crew.shared;
    if (crew.context == nullptr)
        return write_sorted(crew.index, shape, pages, shared.run_id, &shared.supply);
    shared.first = pages.front();
    shared.pages = static_cast<std::uint32_t>(pages.size());
    pg_atomic_write_u32(&shared.bands_left, static_cast<std::uint32_t>(shape.shape.bands));
    do_together(crew, build_step::writing_leaves);
    return join_bands(crew.index, shape, shared.leaves);
}

// Makes the run of all pages of records, which follow the meta page. If memory is too small to sort their entries at
// once, they are sorted in parts, which are merged.
run make_run(build_crew& crew, BlockNumber end, double records)
{
    shared_build& shared = *crew.shared;
    const layout shape = layout_of(crew.index, shared);
    growing<BlockNumber> pages;
    pages.start(end);
    for (BlockNumber block = meta_block + 1; block < end; block++)
        pages.add(block);
    const std::size_t all = pages.count;
    const std::size_t part = sortable_pages(shape, maintenance_work_mem / crew.processes);
    shared.run_id = pg_atomic_fetch_add_u64(&shared.next_id, 1);
    run made = run_of({pages.at, all}, shared.run_id);
    growing<BlockNumber> chains;
    chains.start(all / part + 1);
    for (std::size_t first = 0; first < all; first += part) {
        const std::size_t count = std::min(part, all - first);
        const sorted_leaves sorted = sort_pages(crew, shape, {pages.at + first, count});
        report_tuples(records * static_cast<double>(first + count) / static_cast<double>(all));
        if (all <= part) {
            add_tree(crew.index, sorted, &shared.supply, made);
        } else {
            made.records += sorted.records;
            chains.add(sorted.first);
        }
    }
    if (chains.count > 0) {
        report(merging);
        merge_chains(crew.index, {chains.at, chains.count}, shared.run_id, &shared.supply, made);
    }
    return made;
}

// Appends a page without contents to an index that no other session sees yet.
BlockNumber write_empty_page(Relation index, new_pages& supply, page_kind kind, std::uint64_t id)
{
    const Buffer buffer = new_page(index, &supply);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    if (kind == page_kind::meta)
        init_meta(BufferGetPage(buffer), scope_bytes_of(columns_of(index)), constraint_threshold(index));
    else
        init_page(BufferGetPage(buffer), kind, 0, id);
    finish_page(index, buffer);
    return block;
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
    build_crew crew = make_crew(heap, index, info);
    shared_build& shared = *crew.shared;
    write_empty_page(index, shared.supply, page_kind::meta, 0);
    report(reading_table);
    do_together(crew, build_step::reading_table);
    info->ii_BrokenHotChain = shared.broken_hot_chain;
    const std::uint64_t open_id = pg_atomic_fetch_add_u64(&shared.next_id, 1);
    const BlockNumber open = write_empty_page(index, shared.supply, page_kind::records, open_id);
    const std::uint64_t records = pg_atomic_read_u64(&shared.records);
    run made = {};
    if (records > 0) {
        report(sorting);
        report_tuples(0);
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, static_cast<std::int64_t>(records));
        made = make_run(crew, open, static_cast<double>(records));
    }

    const Buffer first = read_page(index, meta_block, BUFFER_LOCK_EXCLUSIVE);
    meta& stored = meta_of(BufferGetPage(first));
    stored.next_id = pg_atomic_read_u64(&shared.next_id);
    stored.tail_first = stored.tail_last = open;
    stored.tail_pages = 1;
    stored.null_rows = shared.null_rows ? 1 : 0;
    if (records > 0) {
        const layout shape = layout_of(index, shared);
        memcpy(stored.scheme, shape.header, header_bytes);
        stored.bands = static_cast<std::uint16_t>(shape.shape.bands);
        stored.rows = static_cast<std::uint16_t>(shape.shape.rows);
        stored.runs[stored.run_count++] = made;
    }
    finish_page(index, first);
    free_left_pages(index, shared.supply);
    IndexBuildResult* const result = static_cast<IndexBuildResult*>(palloc(sizeof(IndexBuildResult)));
    result->heap_tuples = shared.rows;
    result->index_tuples = static_cast<double>(records);
    dismiss(crew);
    return result;
}

// PostgreSQL counts critical sections by ++ of a volatile variable, which C++20 deprecates.
#pragma GCC diagnostic ignored "-Wvolatile"

// Makes the init fork: the empty index that an unlogged table has after a crash.
void build_empty(Relation index)
{
    const int scope_bytes = scope_bytes_of(columns_of(index));
    const std::optional<double> threshold = constraint_threshold(index);
    for (const page_kind kind : {page_kind::meta, page_kind::records}) {
        const Buffer buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, nullptr);
        LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
        START_CRIT_SECTION();
        if (kind == page_kind::meta)
            init_meta(BufferGetPage(buffer), scope_bytes, threshold);
        else
            init_page(BufferGetPage(buffer), kind, 0, 1);
        MarkBufferDirty(buffer);
        log_newpage_buffer(buffer, true);
        END_CRIT_SECTION();
        UnlockReleaseBuffer(buffer);
    }
}

} // namespace minhash::pg::index
