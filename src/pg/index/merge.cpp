#include "pg/growing.h"
#include "pg/index/dead_trees.h"
#include "pg/index/merge.h"
#include "pg/index/nodes.h"
#include "pg/index/pages.h"
#include "pg/index/run_writer.h"
#include "pg/index/tree_writer.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

// How much work is done in one go.
struct pace {
    std::uint32_t tail_pages; // a longer tail becomes a run
    std::uint32_t run_pages;  // of at most this many pages of the tail
    int leaves;               // at most so many are written
    int frees;                // about so many pages are freed
    std::uint64_t factor;     // a run up to so many times as large as all newer ones is merged;
                              // 0: no merge is begun
    bool with_small_ones;     // also merges small runs that are older than large ones
    bool answers_cancel;      // while it writes a run of the tail
};

constexpr std::uint32_t most_leaves = 96;
constexpr std::uint32_t vacuum_pages = 256;
constexpr int vacuum_leaves = 16;
constexpr std::uint32_t entries_of_leaf = 1300; // about

// How many leaves the entries of one page of records fill.
std::uint32_t leaves_of_page(const layout& shape)
{
    const int entries = shape.records_per_page * shape.shape.bands;
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(entries) / entries_of_leaf);
}

enum class worker { writer, vacuum_at_first, vacuum };

pace pace_of(worker who, const layout& shape)
{
    const std::uint32_t tail = long_tail(shape);
    if (who == worker::writer)
        return {tail, tail, static_cast<int>(std::min(32 * leaves_of_page(shape), most_leaves)), 64, 2, false, false};
    return {tail, vacuum_pages, vacuum_leaves, 128, who == worker::vacuum ? 4u : 0u, true, true};
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

// PostgreSQL counts what holds interrupts by ++ of a volatile variable, which C++20 deprecates.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile"

// Makes a run of the first pages of the tail, never of the open one. A short one cannot be cancelled: else writers with
// a short timeout would start it again and again in vain.
void make_run_of_tail(Relation index, const layout& shape, const meta& now, const pace& how)
{
    const std::uint32_t most = how.run_pages;
    Assert(now.run_count < most_runs && now.tail_pages > 1);
    growing<BlockNumber> pages;
    pages.start(most);
    BlockNumber after = InvalidBlockNumber;
    const auto add = [&](Buffer buffer, Page page, int) {
        pages.add(BufferGetBlockNumber(buffer));
        after = trailer_of(page).next;
    };
    const std::uint32_t count = std::min(now.tail_pages - 1, most);
    if (!each_page(index, shape, now.tail_first, count, now.next_id, add))
        fail_damaged(index, now.tail_first, "A page of records behind this one is missing.");
    if (after == InvalidBlockNumber)
        fail_damaged(index, pages.at[pages.count - 1], "The tail ends before its open page.");
    if (!how.answers_cancel)
        HOLD_INTERRUPTS();
    // If writing fails, VACUUM frees what was written.
    std::uint64_t id = 0;
    change_meta(index, [&](meta& stored) { stored.unswept = id = stored.next_id++; });
    const run made = write_run(index, shape, {pages.at, pages.count}, id, nullptr);
    change_meta(index, [&](meta& stored) {
        stored.runs[stored.run_count++] = made;
        stored.tail_first = after;
        stored.tail_pages -= count;
        stored.unswept = now.unswept;
        stored.next_id++; // so that every reader sees that something has changed
    });
    if (!how.answers_cancel)
        RESUME_INTERRUPTS();
}

#pragma GCC diagnostic pop

// The runs from `from` up to, but not including, `to`.
struct group {
    std::uint32_t from;
    std::uint32_t to;
};

bool is_idle(const meta& now, std::uint32_t at)
{
    return now.runs[at].into == 0 && now.runs[at].id != now.rewritten;
}

// The newest runs to be merged, of those that are in no merge: each is at most `factor` times as large as all newer
// runs of the group together. Empty if there are none.
group choose_group(const meta& now, const layout& shape, const pace& how)
{
    group chosen = {now.run_count, now.run_count};
    std::uint64_t pages = 0;
    while (chosen.from > 0 && is_idle(now, chosen.from - 1)) {
        const std::uint64_t older = now.runs[chosen.from - 1].record_pages;
        // All runs smaller than a tail's count as equally large.
        if (pages > 0 && older > std::max<std::uint64_t>(pages, long_tail(shape)) * how.factor) {
            if (chosen.to - chosen.from > 1 || !how.with_small_ones)
                break;
            chosen.to = chosen.from;
            pages = 0;
        }
        pages += older;
        chosen.from--;
    }
    return chosen;
}

// The leaves of a run, from the first one on.
leaf_chain leaves_of(Relation index, const run& which)
{
    BlockNumber block = which.root;
    for (std::uint32_t level = which.height; level > 0; level--) {
        check_block(index, block, RelationGetNumberOfBlocks(index));
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE);
        inner_view view;
        if (!view_inner(index, buffer, which.id, level, view) || view.count() == 0)
            fail_damaged(index, block, "A page of a run is missing.");
        block = view.blocks[0];
        UnlockReleaseBuffer(buffer);
    }
    return {which.id, block, 0};
}

// Begins a merge if there are runs to be merged. Returns whether there were.
bool begin_merge(Relation index, const layout& shape, meta& now, const pace& how)
{
    // Each run may become a dead tree.
    if (how.factor == 0 || now.merge_count == most_merges || now.dead_tree_count > most_dead_trees - most_runs)
        return false;
    const group chosen = choose_group(now, shape, how);
    if (chosen.to - chosen.from < 2)
        return false;
    leaf_chain starts[most_runs];
    for (std::uint32_t at = chosen.from; at < chosen.to; at++)
        starts[at] = leaves_of(index, now.runs[at]);
    change_meta(index, [&](meta& stored) {
        const std::uint64_t id = stored.next_id++;
        stored.merges[stored.merge_count++] = start_merge(id);
        for (std::uint32_t at = chosen.from; at < chosen.to; at++) {
            run& one = stored.runs[at];
            Assert(one.id == now.runs[at].id && one.into == 0);
            one.into = id;
            one.cursor_leaf = starts[at].leaf;
            one.cursor_entry = 0;
        }
    });
    read_whole_meta(index, now);
    return true;
}

group group_of(const meta& now, std::uint64_t id)
{
    const auto is_mine = [&](const run& one) { return one.into == id; };
    const run* const end = now.runs + now.run_count;
    const run* const from = std::find_if(now.runs, end, is_mine);
    const run* const to = std::find_if_not(from, end, is_mine);
    return {static_cast<std::uint32_t>(from - now.runs), static_cast<std::uint32_t>(to - now.runs)};
}

std::uint64_t record_pages_of(const meta& now, const group& which)
{
    std::uint64_t pages = 0;
    for (std::uint32_t at = which.from; at < which.to; at++)
        pages += now.runs[at].record_pages;
    return pages;
}

// Replaces the parts by the merged run. Their trees are dead from then on.
void end_merge(Relation index, const meta& now, const merge& state)
{
    const group parts = group_of(now, state.id);
    const run* const runs = now.runs;
    for (std::uint32_t at = parts.from; at + 1 < parts.to; at++)
        link(index, runs[at].last, runs[at + 1].first);
    run made = {};
    end_tree(state, made);
    made.first = runs[parts.from].first;
    made.last = runs[parts.to - 1].last;
    made.record_pages = static_cast<std::uint32_t>(record_pages_of(now, parts));
    for (std::uint32_t at = parts.from; at < parts.to; at++)
        made.records += runs[at].records;
    change_meta(index, [&](meta& stored) {
        for (std::uint32_t at = parts.from; at < parts.to; at++) {
            if (runs[at].root == InvalidBlockNumber)
                continue;
            Assert(stored.dead_tree_count < most_dead_trees);
            stored.dead_trees[stored.dead_tree_count++] = {runs[at].id, runs[at].root, runs[at].height};
        }
        stored.runs[parts.from] = made;
        std::copy(stored.runs + parts.to, stored.runs + stored.run_count, stored.runs + parts.from + 1);
        stored.run_count -= parts.to - parts.from - 1;
        const std::span<merge> all = merges_of(stored);
        *std::find_if(all.begin(), all.end(), [&](const merge& one) { return one.id == state.id; }) = all.back();
        stored.merge_count--;
        stored.next_id++; // so that every reader sees that something has changed
    });
}

// Writes at most `most` leaves of a merge, and ends it when none is left. Returns how many.
int continue_merge(Relation index, const layout& shape, const meta& now, const merge& which, int most)
{
    const group parts = group_of(now, which.id);
    if (parts.from == parts.to)
        fail_damaged(index, meta_block, "A merge has no runs.");
    leaf_chain chains[most_runs];
    std::size_t count = 0;
    for (std::uint32_t at = parts.from; at < parts.to; at++)
        chains[count++] = {now.runs[at].id, now.runs[at].cursor_leaf, now.runs[at].cursor_entry};
    entry_stream stream = make_stream(index, {chains, count}, nullptr);
    tree_writer out = {index,
                       which,
                       static_cast<std::uint32_t>(record_pages_of(now, parts)),
                       &stream,
                       nullptr,
                       nullptr,
                       false,
                       InvalidBlockNumber};
    leaf_entries& leaf = *static_cast<leaf_entries*>(palloc(sizeof(leaf_entries)));
    const std::uint64_t most_entries = record_pages_of(now, parts) *
                                       static_cast<std::uint64_t>(shape.records_per_page) *
                                       static_cast<std::uint64_t>(shape.shape.bands);
    int written = 0;
    for (; written < most; written++) {
        CHECK_FOR_INTERRUPTS();
        read_leafful(stream, leaf);
        if (leaf.count == 0) {
            end_merge(index, now, out.state);
            break;
        }
        append_leaf(out, leaf);
        if (out.state.entries > most_entries)
            fail_damaged(index, meta_block, "Runs have more entries than records.");
    }
    return written;
}

// The merge that has the fewest records.
const merge& smallest_merge(const meta& now)
{
    const auto size = [&](const merge& one) { return record_pages_of(now, group_of(now, one.id)); };
    return *std::min_element(now.merges, now.merges + now.merge_count, [&](const merge& a, const merge& b) {
        return size(a) < size(b);
    });
}

// The page locks that stand for the two locks below, by block number.
constexpr BlockNumber runs_lock = meta_block;
constexpr BlockNumber rewriting_lock = meta_block + 1;

// If VACUUM was interrupted while it rewrote a run, lets that run take part in merges again.
void forget_rewriting(Relation index, meta& now)
{
    if (now.rewritten == 0 || !ConditionalLockPage(index, rewriting_lock, ExclusiveLock))
        return;
    change_meta(index, [](meta& stored) { stored.rewritten = 0; });
    now.rewritten = 0;
    unlock_rewriting(index);
}

// Does a bounded part of the work. Returns whether there was any. A tail of any length becomes a run if `short_tail`.
bool merge_some(Relation index, worker who, bool short_tail)
{
    Assert(has_locked_runs(index));
    meta now;
    read_whole_meta(index, now);
    const layout shape = layout_of(index, now);
    if (shape.shape.bands == 0)
        return false;
    forget_rewriting(index, now);
    pace how = pace_of(who, shape);
    if (short_tail)
        how.tail_pages = 1;
    if (now.tail_pages > how.tail_pages && now.run_count < most_runs) {
        make_run_of_tail(index, shape, now, how);
        read_whole_meta(index, now);
        begin_merge(index, shape, now, how);
        return true;
    }
    bool worked = now.dead_tree_count > 0;
    free_dead_pages(index, now, how.frees);
    for (int left = how.leaves; left > 0;) {
        read_whole_meta(index, now);
        worked |= begin_merge(index, shape, now, how);
        if (now.merge_count == 0)
            break;
        left -= continue_merge(index, shape, now, smallest_merge(now), left);
        worked = true;
    }
    return worked;
}

// Calls merge_some() under the lock, which it then releases, in a memory context of its own.
bool merge_and_unlock(Relation index, worker who, bool short_tail)
{
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh merge", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    const bool worked = merge_some(index, who, short_tail);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    unlock_runs(index, ExclusiveLock);
    return worked;
}

// Does VACUUM's turns until nothing is left, or, as writers add work meanwhile, until a limit. The `tail_pages` pages
// that the tail had at the start become runs, however few are left; later pages need not.
void take_turns(Relation index, worker who, std::uint32_t tail_pages)
{
    const BlockNumber turns = RelationGetNumberOfBlocks(index) / vacuum_leaves + 1000;
    std::uint32_t taken = 1;
    bool worked = true;
    for (BlockNumber turn = 0; worked && turn < turns; turn++) {
        vacuum_delay();
        lock_runs(index, ExclusiveLock);
        worked = merge_and_unlock(index, who, taken < tail_pages);
        taken += vacuum_pages;
    }
}

} // namespace

std::uint32_t long_tail(const layout& shape)
{
    return std::max<std::uint32_t>(4, 34 / leaves_of_page(shape));
}

void lock_runs(Relation index, LOCKMODE mode)
{
    LockPage(index, runs_lock, mode);
}

void unlock_runs(Relation index, LOCKMODE mode)
{
    UnlockPage(index, runs_lock, mode);
}

void lock_rewriting(Relation index)
{
    LockPage(index, rewriting_lock, ExclusiveLock);
}

void unlock_rewriting(Relation index)
{
    UnlockPage(index, rewriting_lock, ExclusiveLock);
}

void merge_a_little(Relation index)
{
    if (ConditionalLockPage(index, runs_lock, ExclusiveLock))
        merge_and_unlock(index, worker::writer, false);
}

void end_merges(Relation index)
{
    meta now;
    read_meta(index, now);
    take_turns(index, worker::vacuum_at_first, now.tail_pages);
}

void merge_all(Relation index)
{
    take_turns(index, worker::vacuum, 0);
}

bool has_locked_runs(Relation index)
{
    LOCKTAG tag;
    SET_LOCKTAG_PAGE(tag, index->rd_lockInfo.lockRelId.dbId, index->rd_lockInfo.lockRelId.relId, runs_lock);
    return holds_lock(tag, ExclusiveLock);
}

} // namespace minhash::pg::index
