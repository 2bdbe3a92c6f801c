#include "pg/index/format/pages.h"
#include "pg/index/write/merge.h"
#include "pg/index/write/sweep.h"

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

// One bit for each block: whether the block is a page of records that belongs to a run or to the tail.
struct block_set {
    std::uint8_t* bits;
    BlockNumber blocks;

    bool has(BlockNumber block) const { return (bits[block / 8] >> block % 8 & 1) != 0; }
};

block_set find_record_pages(Relation index, const layout& layout, const meta& current, BufferAccessStrategy strategy)
{
    block_set found;
    found.blocks = RelationGetNumberOfBlocks(index);
    found.bits = static_cast<std::uint8_t*>(
        MemoryContextAllocExtended(CurrentMemoryContext, found.blocks / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    const auto add = [&](Buffer buffer, Page, int) {
        const BlockNumber block = BufferGetBlockNumber(buffer);
        if (block < found.blocks)
            found.bits[block / 8] |= static_cast<std::uint8_t>(1 << block % 8);
    };
    bool valid = each_page(index, layout, current.tail_first, current.tail_pages, current.next_id, strategy, add);
    for (std::uint32_t at = 0; valid && at < current.run_count; at++)
        valid = each_page(index,
                          layout,
                          current.runs[at].first,
                          current.runs[at].record_pages,
                          current.next_id,
                          strategy,
                          add);
    if (!valid)
        fail_damaged(index, meta_block, "A page of records is missing.");
    return found;
}

// Whether a page belongs to a tree that no longer exists.
bool is_of_no_tree(const page_trailer& trailer, const meta& current)
{
    return (trailer.kind == page_kind::leaf || trailer.kind == page_kind::inner) &&
           find_by_id(runs_of(current), trailer.id) == nullptr &&
           find_by_id(merges_of(current), trailer.id) == nullptr &&
           find_by_id(dead_trees_of(current), trailer.id) == nullptr;
}

// Whether a page's id was assigned before the meta page was read. Pages with later ids may belong to work in progress.
bool is_older(Page page, const meta& current)
{
    return is_kind(page, trailer_of(page).kind) && trailer_of(page).id < current.next_id;
}

// A sweep pays off if more than one page in `forgotten_share` is free, but missing from the free space map. The map is
// not logged, so it may be out of date after a crash or after a standby is promoted. The check looks at no more than
// `most_sampled_pages` pages, at equal distances.
constexpr BlockNumber forgotten_share = 100;
constexpr BlockNumber most_sampled_pages = 300;

bool has_forgotten_pages(const IndexVacuumInfo& info)
{
    const BlockNumber blocks = RelationGetNumberOfBlocks(info.index);
    const BlockNumber step = blocks / most_sampled_pages + 1;
    BlockNumber forgotten = 0;
    for (BlockNumber block = meta_block + 1; block < blocks; block += step) {
        vacuum_delay();
        const Buffer buffer = read_page(info.index, block, BUFFER_LOCK_SHARE, info.strategy);
        const bool free = is_free(BufferGetPage(buffer));
        UnlockReleaseBuffer(buffer);
        forgotten += free && GetRecordedFreeSpace(info.index, block) == 0 ? step : 0;
    }
    return forgotten > blocks / forgotten_share;
}

// Reads the meta page while the runs are locked. At that time, only a VACUUM that rewrites a run has new pages that
// nothing points to yet. The lock need not be held longer: pages written later have later ids, and only VACUUM moves
// records.
void read_settled_meta(Relation index, meta& current, LOCKMODE mode)
{
    LockPage(index, runs_lock, mode);
    read_meta(index, current, true);
    UnlockPage(index, runs_lock, mode);
}

} // namespace

void sweep(const IndexVacuumInfo& info, IndexBulkDeleteResult& stats, bool has_seen_all)
{
    const Relation index = info.index;
    meta current;
    read_settled_meta(index, current, ExclusiveLock);
    const layout layout = layout_of(index, current);
    IndexFreeSpaceMapVacuum(index); // publishes the free pages that bulk_delete found
    if (layout.banding.bands == 0 || (current.unswept == 0 && (has_seen_all || !has_forgotten_pages(info))))
        return;
    const block_set records = find_record_pages(index, layout, current, info.strategy);
    const BlockNumber blocks = count_blocks(index);
    stats.pages_free = 0;
    for (BlockNumber block = meta_block + 1; block < blocks; block++) {
        vacuum_delay();
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_EXCLUSIVE, info.strategy);
        const Page page = BufferGetPage(buffer);
        const bool free = is_free(page);
        const page_trailer& trailer = trailer_of(page);
        if (!free && is_older(page, current) &&
            (is_of_no_tree(trailer, current) ||
             (trailer.kind == page_kind::records && block < records.blocks && !records.has(block)))) {
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
    LockPage(index, runs_lock, ExclusiveLock);
    change_meta(index, [&](meta& stored) {
        if (stored.unswept == current.unswept)
            stored.unswept = 0;
    });
    UnlockPage(index, runs_lock, ExclusiveLock);
}

std::uint64_t count_lost_pages(Relation index)
{
    meta current;
    read_settled_meta(index, current, ShareLock);
    std::uint64_t lost = 0;
    std::uint64_t records = 0;
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    const BufferAccessStrategy ring = ring_for(index, blocks);
    for (BlockNumber block = meta_block + 1; block < blocks; block++) {
        CHECK_FOR_INTERRUPTS();
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE, ring);
        const Page page = BufferGetPage(buffer);
        if (!is_free(page) && is_older(page, current)) {
            lost += is_of_no_tree(trailer_of(page), current);
            records += trailer_of(page).kind == page_kind::records;
        }
        UnlockReleaseBuffer(buffer);
    }
    std::uint64_t wanted = current.tail_pages;
    for (const run& one : runs_of(current))
        wanted += one.record_pages;
    return lost + (records > wanted ? records - wanted : 0);
}

} // namespace minhash::pg::index
