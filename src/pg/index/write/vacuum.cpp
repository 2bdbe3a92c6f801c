// VACUUM: marks records of dead rows, merges or rewrites runs, and frees pages that nothing points to.
#include "pg/index/am.h"
#include "pg/index/format/records.h"
#include "pg/index/write/merge.h"
#include "pg/index/write/run_writer.h"
#include "pg/index/write/sweep.h"

#include <algorithm>

extern "C" {
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

// Reads all pages in the order of their blocks. Pages that are added after bulk_delete() has started have no records of
// rows to be removed, because only clean_up() moves records.
IndexBulkDeleteResult*
bulk_delete(IndexVacuumInfo* info, IndexBulkDeleteResult* stats, IndexBulkDeleteCallback is_dead_row, void* state)
{
    const Relation index = info->index;
    if (stats == nullptr)
        stats = static_cast<IndexBulkDeleteResult*>(palloc0(sizeof(IndexBulkDeleteResult)));
    stats->estimated_count = false;
    stats->num_index_tuples = 0;
    stats->pages_free = 0;
    meta current;
    read_meta(index, current);
    const layout layout = layout_of(index, current);
    std::uint64_t dead = 0;
    const BlockNumber blocks = count_blocks(index);
    for (BlockNumber block = meta_block + 1; block < blocks; block++) {
        vacuum_delay();
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_EXCLUSIVE, info->strategy);
        Page page = BufferGetPage(buffer);
        const int records = is_kind(page, page_kind::records) ? records_on(index, buffer, layout) : 0;
        const index::layout mine = layout_on(page, layout);
        GenericXLogState* log = nullptr;
        for (int ordinal = 0; ordinal < records; ordinal++) {
            ItemPointerData tid = tid_of(record_at(page, mine, ordinal), mine);
            if (is_dead(tid)) {
                dead++;
                continue;
            }
            tid = row_of(tid);
            if (!is_dead_row(&tid, state)) {
                stats->num_index_tuples++;
                continue;
            }
            if (log == nullptr) {
                log = GenericXLogStart(index);
                page = GenericXLogRegisterBuffer(log, buffer, 0);
            }
            tid.ip_posid = 0;
            set_tid(record_at(page, mine, ordinal), mine, tid);
            stats->tuples_removed++;
            dead++;
        }
        if (log != nullptr)
            GenericXLogFinish(log);
        // Do not use `page` here: it may be generic WAL's copy, which has been freed.
        const bool free = is_free(BufferGetPage(buffer));
        UnlockReleaseBuffer(buffer);
        if (free) { // the free space map is not logged
            RecordFreeIndexPage(index, block);
            stats->pages_free++;
        }
    }
    if (dead != current.dead)
        change_meta(index, [&](meta& stored) { stored.dead = dead; });
    return stats;
}

namespace {

// A run is rewritten if at least one in `dead_share` of its records is dead.
constexpr std::uint64_t dead_share = 5;

// Keeps other processes from merging a run until it is replaced, and reserves ids for the new run and its pages of
// records. Returns the first of these ids, or 0 if the run is gone or being merged, or if there are too many dead
// trees.
std::uint64_t claim(Relation index, const run& one)
{
    std::uint64_t first_id = 0;
    LockPage(index, runs_lock, ExclusiveLock);
    change_meta(index, [&](meta& stored) {
        const run* const there = find_by_id(runs_of(stored), one.id);
        if (there == nullptr || there->into != 0 || stored.dead_tree_count > most_dead_trees - most_runs)
            return;
        first_id = stored.next_id;
        stored.next_id += std::uint64_t{1} + one.record_pages;
        stored.rewritten = one.id;
        stored.unswept = first_id;
    });
    UnlockPage(index, runs_lock, ExclusiveLock);
    return first_id;
}

// Copies live records to new pages, from the last record to the first, so that a page's link to the next page is always
// known. The last page links to the meta page, because only the open page of the tail may have no link.
growing<BlockNumber> copy_records(Relation index,
                                  const layout& layout,
                                  std::span<const BlockNumber> blocks,
                                  std::uint64_t first_id,
                                  BufferAccessStrategy strategy)
{
    growing<BlockNumber> made;
    made.start(blocks.size());
    auto* const records = static_cast<std::uint8_t*>(palloc(BLCKSZ));
    const auto bytes = static_cast<std::size_t>(layout.record_bytes);
    int count = 0;
    BlockNumber next = meta_block;
    const auto room_in_page = [&] {
        return records + static_cast<std::size_t>(layout.records_per_page - count) * bytes;
    };
    const auto write = [&] {
        const Buffer buffer = new_page(index, nullptr, strategy);
        const BlockNumber block = BufferGetBlockNumber(buffer);
        write_records(index,
                      buffer,
                      0,
                      first_id + made.count,
                      {room_in_page(), static_cast<std::size_t>(count) * bytes},
                      next);
        next = block;
        made.add(next);
        count = 0;
    };
    for (std::size_t at = blocks.size(); at-- > 0;) {
        vacuum_delay();
        // A copy, so that two pages are not locked at once.
        PGAlignedBlock copy;
        const Buffer buffer = read_page(index, blocks[at], BUFFER_LOCK_SHARE, strategy);
        const int there = records_on(index, buffer, layout);
        memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
        UnlockReleaseBuffer(buffer);
        const index::layout mine = layout_on(copy.data, layout);
        for (int ordinal = there; ordinal-- > 0;) {
            const std::uint8_t* const record = record_at(copy.data, mine, ordinal);
            if (is_dead(tid_of(record, mine)))
                continue;
            count++;
            memset(room_in_page(), 0, bytes);
            memcpy(room_in_page() + bytes - mine.record_bytes, record, static_cast<std::size_t>(mine.record_bytes));
            if (count == layout.records_per_page)
                write();
        }
    }
    if (count > 0)
        write();
    std::ranges::reverse(made);
    return made;
}

// Replaces a run by the new run; `made` is null if none of the old run's records was alive. `left_out` dead records are
// not in the new run.
void replace(Relation index, const run& old, const run* made, std::uint64_t left_out)
{
    LockPage(index, runs_lock, ExclusiveLock);
    change_meta(index, [&](meta& stored) {
        run* const there = find_by_id(runs_of(stored), old.id);
        Assert(there != nullptr && there->into == 0 && stored.rewritten == old.id);
        bury(stored, old);
        if (made != nullptr) {
            *there = *made;
        } else {
            std::copy(there + 1, stored.runs + stored.run_count, there);
            stored.run_count--;
        }
        stored.rewritten = 0;
        stored.dead -= std::min(stored.dead, left_out);
        stored.next_id++; // so that readers can see that the meta page has changed
    });
    UnlockPage(index, runs_lock, ExclusiveLock);
}

// Rewrites a run if many of its records are dead, unless the run is being merged. Readers and writers are not locked
// out. A sweep frees the old pages of records later.
void rewrite(Relation index, const layout& layout, const meta& current, const run& one, BufferAccessStrategy strategy)
{
    growing<BlockNumber> blocks;
    blocks.start(64);
    std::uint64_t all = 0;
    std::uint64_t dead = 0;
    const auto count = [&](Buffer buffer, Page page, int records) {
        blocks.add(BufferGetBlockNumber(buffer));
        const index::layout mine = layout_on(page, layout);
        for (int ordinal = 0; ordinal < records; ordinal++)
            dead += is_dead(tid_of(record_at(page, mine, ordinal), mine));
        all += static_cast<std::uint64_t>(records);
    };
    if (!each_page(index, layout, one.first, one.record_pages, current.next_id, strategy, count))
        fail_damaged(index, one.first, "A page of records of a run is missing.");
    if (dead == 0 || dead * dead_share < all)
        return;
    LockPage(index, rewriting_lock, ExclusiveLock);
    const std::uint64_t first_id = claim(index, one);
    if (first_id != 0) {
        const growing<BlockNumber> pages = copy_records(index, layout, blocks, first_id + 1, strategy);
        run made = {};
        if (pages.count > 0)
            made = write_run({index, &layout, first_id, nullptr, strategy}, pages);
        replace(index, one, pages.count > 0 ? &made : nullptr, dead);
    }
    UnlockPage(index, rewriting_lock, ExclusiveLock);
}

void rewrite_runs(Relation index, BufferAccessStrategy strategy)
{
    meta current;
    read_meta(index, current);
    const layout layout = layout_of(index, current);
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh rewrite", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    for (const run& one : runs_of(current)) {
        // There may not even be enough dead records in the whole index, so that the run need not be read.
        if (current.dead * dead_share < one.records)
            continue;
        rewrite(index, layout, current, one, strategy);
        MemoryContextReset(context);
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

} // namespace

IndexBulkDeleteResult* clean_up(IndexVacuumInfo* info, IndexBulkDeleteResult* stats)
{
    if (info->analyze_only)
        return stats;
    const Relation index = info->index;
    const bool deleted = stats != nullptr;
    if (stats == nullptr) {
        stats = static_cast<IndexBulkDeleteResult*>(palloc0(sizeof(IndexBulkDeleteResult)));
        stats->estimated_count = true;
        stats->num_index_tuples = info->num_heap_tuples;
    }
    // Sweep first: otherwise lost pages would pile up if VACUUM is cancelled time and again.
    sweep(*info, *stats, deleted);
    merge_all(index, false, info->strategy);
    if (deleted)
        rewrite_runs(index, info->strategy);
    sweep(*info, *stats, true); // frees pages that merge_all() can then use
    merge_all(index, true, info->strategy);
    stats->num_pages = RelationGetNumberOfBlocks(index);
    return stats;
}

} // namespace minhash::pg::index
