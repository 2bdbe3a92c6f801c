// VACUUM: records of dead rows are marked, runs are merged or written again, and pages that nothing
// leads to any more are free again.
#include "pg/growing.h"
#include "pg/index/am.h"
#include "pg/index/merge.h"
#include "pg/index/pages.h"
#include "pg/index/rewrite.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "access/generic_xlog.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
}

namespace minhash::pg::lsh {

namespace {

Buffer read_for_vacuum(const IndexVacuumInfo& info, BlockNumber block)
{
    vacuum_delay();
    return read_page(info.index, block, BUFFER_LOCK_EXCLUSIVE, info.strategy);
}

BlockNumber count_blocks(Relation index)
{
    // Who extends the index has locked the new page before giving this lock back.
    const bool shared = !RELATION_IS_LOCAL(index);
    if (shared)
        LockRelationForExtension(index, ExclusiveLock);
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    if (shared)
        UnlockRelationForExtension(index, ExclusiveLock);
    return blocks;
}

// One bit for each block: whether it is a page of records that a run or the tail has.
struct block_set {
    std::uint8_t* bits;
    BlockNumber blocks;

    bool has(BlockNumber block) const
    {
        return (bits[block / 8] >> block % 8 & 1) != 0;
    }
};

block_set find_record_pages(Relation index, const layout& shape, const meta& now)
{
    block_set found;
    found.blocks = RelationGetNumberOfBlocks(index);
    found.bits =
        static_cast<std::uint8_t*>(MemoryContextAllocExtended(CurrentMemoryContext,
                                                              found.blocks / 8 + 1,
                                                              MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    const auto add = [&](Buffer buffer, Page, int) {
        const BlockNumber block = BufferGetBlockNumber(buffer);
        if (block < found.blocks)
            found.bits[block / 8] |= static_cast<std::uint8_t>(1 << block % 8);
    };
    bool valid = each_page(index, shape, now.tail_first, now.tail_pages, now.next_id, add);
    for (std::uint32_t at = 0; valid && at < now.run_count; at++)
        valid = each_page(index,
                          shape,
                          now.runs[at].first,
                          now.runs[at].record_pages,
                          now.next_id,
                          add);
    if (!valid)
        fail_damaged(index, meta_block, "A page of records is missing.");
    return found;
}

// Whether nothing leads to a page any more. Pages whose numbers were drawn later may be those of
// work that has not come to its end.
bool is_unreachable(Page page, BlockNumber block, const meta& now, const block_set& records)
{
    const page_trailer& trailer = trailer_of(page);
    if (trailer.id >= now.next_id)
        return false;
    const auto is_its = [&](const auto& one) { return one.id == trailer.id; };
    switch (trailer.kind) {
    case page_kind::records:
        return block < records.blocks && !records.has(block);
    case page_kind::leaf:
    case page_kind::inner:
        return std::none_of(now.runs, now.runs + now.run_count, is_its) &&
               std::none_of(now.merges, now.merges + now.merge_count, is_its) &&
               std::none_of(now.dead_trees, now.dead_trees + now.dead_tree_count, is_its);
    case page_kind::meta:
    case page_kind::free:
        break;
    }
    return false;
}

bool is_free(Page page)
{
    return PageIsNew(page) || is_kind(page, page_kind::free);
}

// Gives pages that nothing leads to back to the index. Under the lock of the runs nobody has one in
// hand that is not reachable yet. So the lock is needed only to read the meta page: what is written
// later has other numbers, and records move in VACUUM only.
void sweep(const IndexVacuumInfo& info, IndexBulkDeleteResult& stats)
{
    const Relation index = info.index;
    meta now;
    lock_runs(index, ExclusiveLock);
    read_whole_meta(index, now);
    unlock_runs(index, ExclusiveLock);
    const layout shape = layout_of(index, now);
    IndexFreeSpaceMapVacuum(index); // what bulk_delete found
    if (now.unswept == 0 || shape.shape.bands == 0)
        return;
    const block_set records = find_record_pages(index, shape, now);
    const BlockNumber blocks = count_blocks(index);
    stats.pages_free = 0;
    for (BlockNumber block = meta_block + 1; block < blocks; block++) {
        const Buffer buffer = read_for_vacuum(info, block);
        const Page page = BufferGetPage(buffer);
        // Not `page`, which may have been the copy that generic WAL changes and frees.
        const bool free = is_free(BufferGetPage(buffer));
        if (!free && is_kind(page, trailer_of(page).kind) &&
            is_unreachable(page, block, now, records)) {
            free_page(index, buffer);
            stats.pages_newly_deleted++;
            stats.pages_deleted++;
            stats.pages_free++;
            continue;
        }
        UnlockReleaseBuffer(buffer);
        if (free) {
            RecordFreeIndexPage(index, block);
            stats.pages_free++;
        }
    }
    IndexFreeSpaceMapVacuum(index);
    lock_runs(index, ExclusiveLock);
    change_meta(index, [&](meta& stored) {
        if (stored.unswept == now.unswept)
            stored.unswept = 0;
    });
    unlock_runs(index, ExclusiveLock);
}

IndexBulkDeleteResult* make_stats()
{
    return static_cast<IndexBulkDeleteResult*>(palloc0(sizeof(IndexBulkDeleteResult)));
}

} // namespace

// Goes through all pages in their order on disk. Pages that are written meanwhile hold no rows that
// are dead: records move only in clean_up.
IndexBulkDeleteResult* bulk_delete(IndexVacuumInfo* info,
                                   IndexBulkDeleteResult* stats,
                                   IndexBulkDeleteCallback is_dead_row,
                                   void* state)
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
        const int records =
            is_kind(page, page_kind::records) ? records_on(index, buffer, shape) : 0;
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
        // Not `page`, which may have been the copy that generic WAL changes and frees.
        const bool free = is_free(BufferGetPage(buffer));
        UnlockReleaseBuffer(buffer);
        if (free) { // the map of free space is not logged
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
    // First, so that a VACUUM that is cancelled time and again leaves no more than once.
    sweep(*info, *stats);
    end_merges(index);
    if (deleted)
        rewrite_runs(index);
    sweep(*info, *stats); // before more pages are needed
    merge_all(index);
    stats->num_pages = RelationGetNumberOfBlocks(index);
    return stats;
}

} // namespace minhash::pg::lsh
