#include "pg/growing.h"
#include "pg/index/merge.h"
#include "pg/index/pages.h"
#include "pg/index/run_writer.h"

#include <algorithm>

extern "C" {
#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::lsh {

namespace {

// An older run is merged with what is newer if it is at most this many times as large.
constexpr std::size_t foreground_factor = 1;
constexpr std::size_t vacuum_factor = 4;

// A merge of more records would let a writer wait too long.
constexpr std::size_t foreground_records = 262144;

// A run is written anew if one in `dead_share` of its records is dead.
constexpr std::uint64_t dead_share = 5;

// Runs from..to (not included) and perhaps the tail but for its open page.
struct group {
    std::uint32_t from;
    std::uint32_t to;
    bool with_tail;
    bool repack; // its records go to new pages, without the dead ones
};

std::uint64_t take_ids(Relation index, std::uint64_t count)
{
    const Buffer buffer = read_page(index, meta_block, BUFFER_LOCK_EXCLUSIVE);
    GenericXLogState* const log = GenericXLogStart(index);
    meta& stored = meta_of(GenericXLogRegisterBuffer(log, buffer, 0));
    const std::uint64_t first = stored.next_id;
    stored.next_id += count;
    GenericXLogFinish(log);
    UnlockReleaseBuffer(buffer);
    return first;
}

// Lets a page of records lead to another one.
void link(Relation index, BlockNumber block, BlockNumber next)
{
    check_block(index, block, RelationGetNumberOfBlocks(index));
    const Buffer buffer = read_page(index, block, BUFFER_LOCK_EXCLUSIVE);
    if (!is_kind(BufferGetPage(buffer), page_kind::records))
        fail_damaged(index, block, "The last page of a run is missing.");
    if (trailer_of(BufferGetPage(buffer)).next != next) {
        GenericXLogState* const log = GenericXLogStart(index);
        trailer_of(GenericXLogRegisterBuffer(log, buffer, 0)).next = next;
        GenericXLogFinish(log);
    }
    UnlockReleaseBuffer(buffer);
}

// Appends the blocks of pages of records. Nothing moves them under the lock of the runs.
void collect_pages(Relation index,
                   const layout& shape,
                   const meta& now,
                   BlockNumber first,
                   std::uint32_t pages,
                   growing<BlockNumber>& blocks)
{
    const auto add = [&](Buffer buffer, Page, int) { blocks.add(BufferGetBlockNumber(buffer)); };
    if (!each_page(index, shape, first, pages, now.next_id, add))
        fail_damaged(index, first, "A page of records behind this one is missing.");
}

// Copies living records to new pages, from the last to the first, so that the next page is always
// known. The last one leads to `following`: only the open page leads nowhere.
void repack(Relation index,
            const layout& shape,
            BlockNumber following,
            std::uint64_t first_id,
            growing<BlockNumber>& blocks)
{
    growing<BlockNumber> made;
    made.start(blocks.count);
    char* const records = static_cast<char*>(palloc(BLCKSZ));
    const auto bytes = static_cast<std::size_t>(shape.record_bytes);
    int count = 0;
    BlockNumber next = following;
    const auto write = [&] {
        const Buffer buffer = new_page(index, nullptr);
        const Page page = BufferGetPage(buffer);
        init_page(page, page_kind::records, 0, first_id + made.count);
        trailer_of(page).next = next;
        memcpy(contents_of(page),
               records + static_cast<std::size_t>(shape.records_per_page - count) * bytes,
               static_cast<std::size_t>(count) * bytes);
        set_used_bytes(page, count * shape.record_bytes);
        next = BufferGetBlockNumber(buffer);
        finish_page(index, buffer);
        made.add(next);
        count = 0;
    };
    for (std::size_t at = blocks.count; at-- > 0;) {
        vacuum_delay();
        // A copy, as a page cannot be written while another is held.
        PGAlignedBlock copy;
        const Buffer buffer = read_page(index, blocks.at[at], BUFFER_LOCK_SHARE);
        const int there = records_on(index, buffer, shape);
        memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
        UnlockReleaseBuffer(buffer);
        for (int place = there; place-- > 0;) {
            const std::uint8_t* const record = record_at(copy.data, shape, place);
            if (is_dead(tid_of(record, shape)))
                continue;
            count++;
            memcpy(records + static_cast<std::size_t>(shape.records_per_page - count) * bytes,
                   record,
                   bytes);
            if (count == shape.records_per_page)
                write();
        }
    }
    if (count > 0)
        write();
    std::reverse(made.at, made.at + made.count);
    blocks = made;
}

// Puts runs into the meta page, in the place of those of the group.
void switch_runs(Relation index, const group& old, const meta& before, std::span<const run> made)
{
    const Buffer buffer = read_page(index, meta_block, BUFFER_LOCK_EXCLUSIVE);
    GenericXLogState* const log = GenericXLogStart(index);
    meta& stored = meta_of(GenericXLogRegisterBuffer(log, buffer, 0));
    const std::size_t behind = stored.run_count - old.to;
    memmove(stored.runs + old.from + made.size(), stored.runs + old.to, behind * sizeof(run));
    std::copy(made.begin(), made.end(), stored.runs + old.from);
    stored.run_count = static_cast<std::uint32_t>(old.from + made.size() + behind);
    if (old.with_tail) {
        stored.tail_first = before.tail_last;
        stored.tail_pages -= before.tail_pages - 1;
    }
    stored.unswept = 1;
    stored.next_id++; // so that every reader sees that something has changed
    GenericXLogFinish(log);
    UnlockReleaseBuffer(buffer);
}

// Frees the pages of a run that the meta page does not name any more. VACUUM finds those that are
// left if this is interrupted.
void free_tree(Relation index, const run& which)
{
    if (which.root == InvalidBlockNumber)
        return;
    const BlockNumber end = RelationGetNumberOfBlocks(index);
    growing<BlockNumber> blocks;
    blocks.start(256);
    blocks.add(which.root);
    std::size_t level_end = 1;
    std::uint32_t level = which.height;
    for (std::size_t at = 0; at < blocks.count; at++) {
        vacuum_delay();
        if (at == level_end) {
            level--;
            level_end = blocks.count;
        }
        const BlockNumber block = blocks.at[at];
        check_block(index, block, end);
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_EXCLUSIVE);
        const std::uint64_t* keys = nullptr;
        const char* below = nullptr;
        int count = 0;
        leaf_view leaf;
        const bool known = level > 0
                               ? view_inner(index, buffer, which.id, level, keys, below, count)
                               : view_leaf(index, buffer, which.id, leaf);
        if (!known)
            fail_damaged(index, block, "A page of a run is missing.");
        for (int child = 0; child < count; child++)
            blocks.add(block_at(below, child));
        free_page(index, buffer);
    }
    pfree(blocks.at);
}

// Makes one run of a group; several if one would take more memory (in kB).
void rewrite(
    Relation index, const layout& shape, const meta& before, const group& which, int memory)
{
    const MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "lsh merge", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    growing<BlockNumber> blocks;
    blocks.start(256);
    for (std::uint32_t at = which.from; at < which.to; at++)
        collect_pages(index,
                      shape,
                      before,
                      before.runs[at].first,
                      before.runs[at].record_pages,
                      blocks);
    if (which.with_tail)
        collect_pages(index, shape, before, before.tail_first, before.tail_pages - 1, blocks);

    if (which.repack) {
        const BlockNumber following = which.with_tail               ? before.tail_last
                                      : which.to < before.run_count ? before.runs[which.to].first
                                                                    : before.tail_first;
        repack(index, shape, following, take_ids(index, blocks.count), blocks);
    } else {
        for (std::uint32_t at = which.from; at < which.to; at++) {
            if (at + 1 < which.to)
                link(index, before.runs[at].last, before.runs[at + 1].first);
            else if (which.with_tail)
                link(index, before.runs[at].last, before.tail_first);
        }
    }

    const std::size_t others = before.run_count - (which.to - which.from);
    std::size_t piece = pages_of_a_run(shape, memory);
    if (blocks.count > piece * (most_runs - others))
        piece = std::min((blocks.count + most_runs - others - 1) / (most_runs - others),
                         pages_of_a_run(shape, MAX_KILOBYTES));
    const std::size_t pieces = (blocks.count + piece - 1) / piece;
    if (pieces + others > most_runs)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("index \"%s\" has too many rows", RelationGetRelationName(index)),
                errhint("Partition the table."));
    run made[most_runs];
    const std::uint64_t first_id = take_ids(index, pieces);
    for (std::size_t at = 0; at < pieces; at++) {
        const std::size_t first = at * piece;
        made[at] = write_run(index,
                             shape,
                             {blocks.at + first, std::min(piece, blocks.count - first)},
                             first_id + at,
                             nullptr);
    }
    switch_runs(index, which, before, {made, pieces});
    for (std::uint32_t at = which.from; at < which.to; at++)
        free_tree(index, before.runs[at]);
    if (which.from < which.to)
        IndexFreeSpaceMapVacuum(index);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

// The newest runs that are to be merged with the tail, or with each other.
group choose_group(const meta& now, std::size_t factor, std::size_t most_pages)
{
    group chosen = {now.run_count, now.run_count, now.tail_pages > 1, false};
    std::size_t pages = now.tail_pages - 1;
    if (!chosen.with_tail && chosen.from > 0)
        pages = now.runs[--chosen.from].record_pages;
    while (chosen.from > 0) {
        const std::size_t older = now.runs[chosen.from - 1].record_pages;
        const bool full = chosen.from == most_runs; // there must be room for the new one
        if (!full && (older > pages * factor || pages + older > most_pages))
            break;
        pages += older;
        chosen.from--;
    }
    return chosen;
}

struct tally {
    std::uint64_t records;
    std::uint64_t dead;
};

tally count_dead(Relation index, const layout& shape, const meta& now, const run& which)
{
    tally counted = {0, 0};
    const bool valid = each_page(index,
                                 shape,
                                 which.first,
                                 which.record_pages,
                                 now.next_id,
                                 [&](Buffer, Page page, int records) {
                                     for (int place = 0; place < records; place++)
                                         counted.dead +=
                                             is_dead(tid_of(record_at(page, shape, place), shape));
                                     counted.records += static_cast<std::uint64_t>(records);
                                 });
    if (!valid)
        fail_damaged(index, which.first, "A page of records of a run is missing.");
    return counted;
}

} // namespace

void lock_runs(Relation index, LOCKMODE mode)
{
    LockPage(index, meta_block, mode);
}

void unlock_runs(Relation index, LOCKMODE mode)
{
    UnlockPage(index, meta_block, mode);
}

void merge_long_tail(Relation index)
{
    if (!ConditionalLockPage(index, meta_block, ExclusiveLock))
        return;
    meta now;
    read_meta(index, now);
    if (now.tail_pages > long_tail) {
        const layout shape = layout_of(index, now);
        const std::size_t most =
            foreground_records / static_cast<std::size_t>(shape.records_per_page);
        const group chosen = choose_group(now, foreground_factor, most);
        rewrite(index, shape, now, chosen, maintenance_work_mem);
    }
    unlock_runs(index, ExclusiveLock);
}

void merge_all(Relation index, bool deleted)
{
    meta now;
    read_meta(index, now);
    const layout shape = layout_of(index, now);
    if (shape.shape.bands == 0)
        return;
    group newest = choose_group(now, vacuum_factor, pages_of_a_run(shape, maintenance_work_mem));
    tally dead[most_runs] = {};
    if (deleted)
        for (std::uint32_t at = 0; at < now.run_count; at++)
            dead[at] = count_dead(index, shape, now, now.runs[at]);
    tally together = {0, 0};
    for (std::uint32_t at = newest.from; at < newest.to; at++) {
        together.records += dead[at].records;
        together.dead += dead[at].dead;
    }
    newest.repack = together.dead > 0 && together.dead * dead_share >= together.records;
    if (newest.with_tail || newest.to - newest.from > 1 || newest.repack)
        rewrite(index, shape, now, newest, maintenance_work_mem);
    // From the newest to the oldest, so that places in the list of the others stay.
    for (std::uint32_t at = newest.from; at-- > 0;)
        if (dead[at].dead > 0 && dead[at].dead * dead_share >= dead[at].records)
            rewrite(index, shape, now, {at, at + 1, false, true}, maintenance_work_mem);
}

} // namespace minhash::pg::lsh
