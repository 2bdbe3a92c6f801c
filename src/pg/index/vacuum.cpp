// VACUUM: marks records of dead rows, merges or rewrites runs, and frees pages that nothing leads to any more.
#include "pg/index/am.h"
#include "pg/index/merge.h"
#include "pg/index/pages.h"
#include "pg/index/rewrite.h"
#include "pg/index/sweep.h"

extern "C" {
#include "access/genam.h"
#include "access/generic_xlog.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/indexfsm.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

Buffer read_for_vacuum(const IndexVacuumInfo& info, BlockNumber block)
{
    vacuum_delay();
    return read_page(info.index, block, BUFFER_LOCK_EXCLUSIVE, info.strategy);
}

IndexBulkDeleteResult* make_stats()
{
    return static_cast<IndexBulkDeleteResult*>(palloc0(sizeof(IndexBulkDeleteResult)));
}

} // namespace

// Reads all pages in their order on disk. Pages that are written meanwhile have no records of rows to be removed, as
// records move only in clean_up.
IndexBulkDeleteResult*
bulk_delete(IndexVacuumInfo* info, IndexBulkDeleteResult* stats, IndexBulkDeleteCallback is_dead_row, void* state)
{
    const Relation index = info->index;
    if (stats == nullptr)
        stats = make_stats();
    stats->estimated_count = false;
    stats->num_index_tuples = 0;
    stats->pages_free = 0;
    meta now;
    read_meta(index, now);
    const layout shape = layout_of(index, now);
    if (shape.shape.bands == 0)
        return stats;
    const BlockNumber blocks = count_blocks(index);
    for (BlockNumber block = meta_block + 1; block < blocks; block++) {
        const Buffer buffer = read_for_vacuum(*info, block);
        Page page = BufferGetPage(buffer);
        const int records = is_kind(page, page_kind::records) ? records_on(index, buffer, shape) : 0;
        GenericXLogState* log = nullptr;
        for (int place = 0; place < records; place++) {
            ItemPointerData tid = tid_of(record_at(page, shape, place), shape);
            if (is_dead(tid))
                continue;
            tid.ip_posid &= static_cast<OffsetNumber>(~empty_set);
            if (!is_dead_row(&tid, state)) {
                stats->num_index_tuples++;
                continue;
            }
            if (log == nullptr) {
                log = GenericXLogStart(index);
                page = GenericXLogRegisterBuffer(log, buffer, 0);
            }
            tid.ip_posid = 0;
            set_tid(record_at(page, shape, place), shape, tid);
            stats->tuples_removed++;
        }
        if (log != nullptr)
            GenericXLogFinish(log);
        // Not `page`: that may be generic WAL's copy, which is freed by now.
        const bool free = is_free(BufferGetPage(buffer));
        UnlockReleaseBuffer(buffer);
        if (free) { // the free space map is not logged
            RecordFreeIndexPage(index, block);
            stats->pages_free++;
        }
    }
    return stats;
}

IndexBulkDeleteResult* clean_up(IndexVacuumInfo* info, IndexBulkDeleteResult* stats)
{
    if (info->analyze_only)
        return stats;
    const Relation index = info->index;
    const bool deleted = stats != nullptr;
    if (stats == nullptr) {
        stats = make_stats();
        stats->estimated_count = true;
        stats->num_index_tuples = info->num_heap_tuples;
    }
    // Sweep first, so that lost pages do not pile up if VACUUM is cancelled time and again.
    sweep(*info, *stats, deleted);
    end_merges(index);
    if (deleted)
        rewrite_runs(index);
    sweep(*info, *stats, true); // frees pages before merging needs some
    merge_all(index);
    stats->num_pages = RelationGetNumberOfBlocks(index);
    return stats;
}

} // namespace minhash::pg::index
