// CREATE INDEX: the table's rows become pages of records, and all these pages one run. Each page is logged by the
// process that fills it, so that processes share this work, too.
#include "pg/index/am.h"
#include "pg/index/build_workers.h"
#include "pg/index/columns.h"
#include "pg/index/options.h"
#include "pg/index/records.h"
#include "pg/index/run_writer.h"

#include <algorithm>

extern "C" {
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

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

// Makes the run of all pages of records, which follow the meta page.
run make_run(build_crew& crew, BlockNumber end, double records)
{
    shared_build& shared = *crew.shared;
    const layout shape = layout_of(crew.index, shared.made);
    growing<BlockNumber> pages;
    pages.start(end);
    for (BlockNumber block = meta_block + 1; block < end; block++)
        pages.add(block);
    shared.run_id = pg_atomic_fetch_add_u64(&shared.next_id, 1);
    const new_run to = {crew.index, &shape, shared.run_id, &shared.supply};
    const auto sort = [&](std::span<const BlockNumber> part) {
        sorted_leaves sorted;
        if (crew.context == nullptr) {
            sorted = write_sorted(to, part);
        } else {
            shared.first = part.front();
            shared.pages = static_cast<std::uint32_t>(part.size());
            pg_atomic_write_u32(&shared.next_band, 0);
            do_together(crew, build_step::writing_leaves);
            sorted = join_bands(to, shared.leaves);
        }
        report_tuples(records * part.back() / pages.count);
        if (part.back() + 1 == end && part.size() < pages.count)
            report(merging);
        return sorted;
    };
    return write_run(to, pages, maintenance_work_mem / crew.processes, sort);
}

meta make_meta(Relation index)
{
    meta fresh = {};
    fresh.magic = format_magic;
    fresh.version = format_version;
    fresh.next_id = 2;
    fresh.tail_first = fresh.tail_last = meta_block + 1; // with id 1
    fresh.tail_pages = 1;
    fresh.scope_bytes = columns_of(index).scope == 0 ? 0 : scope_hash_bytes;
    fresh.threshold = constraint_threshold(index);
    return fresh;
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
    build_crew crew = make_crew(heap, index, info, make_meta(index));
    shared_build& shared = *crew.shared;
    report(reading_table);
    do_together(crew, build_step::reading_table);
    info->ii_BrokenHotChain = shared.broken_hot_chain;
    const std::uint64_t open_id = pg_atomic_fetch_add_u64(&shared.next_id, 1);
    const Buffer buffer = new_page(index, &shared.supply);
    const BlockNumber open = BufferGetBlockNumber(buffer);
    write_records(index, buffer, open_id, {}, InvalidBlockNumber);
    meta& made = shared.made;
    made.tail_first = made.tail_last = open;
    const std::uint64_t records = pg_atomic_read_u64(&shared.records);
    if (records > 0) {
        report(sorting);
        report_tuples(0);
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, static_cast<std::int64_t>(records));
        made.runs[made.run_count++] = make_run(crew, open, static_cast<double>(records));
    }
    made.next_id = pg_atomic_read_u64(&shared.next_id);
    const Buffer first = ReadBufferExtended(index, MAIN_FORKNUM, meta_block, RBM_ZERO_AND_LOCK, nullptr);
    put_meta(BufferGetPage(first), made);
    finish_page(index, first);
    free_left_pages(index, shared.supply);
    IndexBuildResult* const result = static_cast<IndexBuildResult*>(palloc(sizeof(IndexBuildResult)));
    result->heap_tuples = shared.rows;
    result->index_tuples = static_cast<double>(records);
    dismiss(crew);
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
        finish_page(index, buffer, true);
    }
}

} // namespace minhash::pg::index
