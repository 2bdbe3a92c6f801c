#include "pg/index/write/merge.h"
#include "pg/index/write/run_writer.h"
#include "pg/index/write/tree_writer.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

// How much work is done at once.
struct pace {
    std::uint32_t run_pages; // the maximum number of pages of the tail that become one run
    int leaves;              // the maximum number of leaves that are written
    int frees;               // about how many pages are freed
    // A run is merged with all newer runs if it is no more than this many times as large as they are together. 0: no
    // merge is begun.
    std::uint64_t factor;
    // If the newest run needs no merge, VACUUM also looks for older runs to merge. VACUUM can be cancelled while it
    // makes a run from the tail; writers cannot.
    bool is_vacuum;
    BufferAccessStrategy strategy;
};

constexpr std::uint32_t most_leaves = 96;
constexpr std::uint32_t vacuum_pages = 256;
constexpr int vacuum_leaves = 16;
constexpr std::uint32_t entries_of_leaf = 1300; // approximate: keys and numbers vary in width

// About how many leaves are filled by the entries of one page of records.
std::uint32_t leaves_of_page(const layout& layout)
{
    const int entries = layout.records_per_page * lists_of(layout);
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(entries) / entries_of_leaf);
}

struct worker {
    bool is_vacuum;
    bool begins_merges;
    BufferAccessStrategy strategy; // VACUUM's

    pace pace_for(const layout& layout) const
    {
        if (is_vacuum)
            return {vacuum_pages, vacuum_leaves, 128, begins_merges ? 4u : 0u, true, strategy};
        const auto leaves = static_cast<int>(std::min(32 * leaves_of_page(layout), most_leaves));
        return {long_tail(layout), leaves, 64, 2, false, nullptr};
    }
};

// Makes a page of records link to another one.
void link(Relation index, BlockNumber block, BlockNumber next)
{
    check_block(index, block, RelationGetNumberOfBlocks(index));
    const Buffer buffer = read_page(index, block, BUFFER_LOCK_EXCLUSIVE);
    if (!is_kind(BufferGetPage(buffer), page_kind::records))
        fail_damaged(index, block, "The last page of a run is missing.");
    page_changes all(index);
    trailer_of(all.add(buffer)).next = next;
    all.finish();
}

// HOLD_INTERRUPTS() uses ++ on a volatile variable, which C++20 deprecates.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile"

// Makes a run from the first pages of the tail, but never from the open page. Only VACUUM can be cancelled here. If
// writers could be cancelled, a writer with a short timeout would start a run again and again, and never finish one.
void make_run_of_tail(Relation index, const layout& layout, const meta& current, const pace& how)
{
    const std::uint32_t most = how.run_pages;
    Assert(current.run_count < most_runs && current.tail_pages > 1);
    growing<BlockNumber> pages;
    pages.start(most);
    BlockNumber after = InvalidBlockNumber;
    std::size_t bare_pages = 0;
    const auto add = [&](Buffer buffer, Page page, int) {
        pages.add(BufferGetBlockNumber(buffer));
        if (is_bare(page))
            bare_pages = pages.count;
        after = trailer_of(page).next;
    };
    const std::uint32_t count = std::min(current.tail_pages - 1, most);
    if (!each_page(index, layout, current.tail_first, count, current.next_id, how.strategy, add))
        fail_damaged(index, current.tail_first, "A page of records behind this one is missing.");
    if (after == InvalidBlockNumber)
        fail_damaged(index, pages.at[pages.count - 1], "The tail ends before its open page.");
    if (!how.is_vacuum)
        HOLD_INTERRUPTS();
    // If writing fails, VACUUM will free the pages written so far.
    std::uint64_t id = 0;
    change_meta(index, [&](meta& stored) { stored.unswept = id = stored.next_id++; });
    run made = write_run({index, &layout, id, nullptr, how.strategy}, pages);
    made.bare_pages = static_cast<std::uint32_t>(bare_pages);
    change_meta(index, [&](meta& stored) {
        stored.runs[stored.run_count++] = made;
        stored.tail_first = after;
        stored.tail_pages -= count;
        stored.unswept = current.unswept;
        stored.next_id++; // so that readers can see that the meta page has changed
    });
    if (!how.is_vacuum)
        RESUME_INTERRUPTS();
}

#pragma GCC diagnostic pop

std::uint64_t record_pages_of(std::span<const run> runs)
{
    std::uint64_t pages = 0;
    for (const run& one : runs)
        pages += one.record_pages;
    return pages;
}

// Chooses a group of neighbouring runs to be merged, from the newest runs that are in no merge yet. Each run of the
// group, except the newest, is no more than `factor` times as large as all newer runs of the group together. If there
// are no runs to be merged, the group has fewer than 2 runs.
std::span<run> choose_runs(meta& current, const layout& layout, const pace& how)
{
    run* end = current.runs + current.run_count;
    run* first = end;
    for (; first > current.runs; first--) {
        const run& older = first[-1];
        if (older.into != 0 || older.id == current.rewritten)
            break;
        // The newer runs together count as at least long_tail() pages, so that small runs are merged in any case.
        const std::uint64_t pages = record_pages_of({first, end});
        if (pages > 0 && older.record_pages > std::max<std::uint64_t>(pages, long_tail(layout)) * how.factor) {
            if (end - first > 1 || !how.is_vacuum)
                break;
            end = first;
        }
    }
    return {first, end};
}

BlockNumber first_leaf(Relation index, const run& one)
{
    BlockNumber block = one.root;
    for (std::uint32_t level = one.height; level > 0; level--) {
        check_block(index, block, RelationGetNumberOfBlocks(index));
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE);
        inner_view view;
        if (!view_inner(index, buffer, one.id, level, view) || view.count() == 0)
            fail_damaged(index, block, "A page of a run is missing.");
        block = view.blocks[0];
        UnlockReleaseBuffer(buffer);
    }
    return block;
}

// Begins a merge if there are runs to be merged. Returns whether a merge was begun.
bool begin_merge(Relation index, const layout& layout, meta& current, const pace& how)
{
    // The list of dead trees must have space for each run, because each run's tree may become dead.
    if (how.factor == 0 || current.merge_count == most_merges || current.dead_tree_count > most_dead_trees - most_runs)
        return false;
    const std::span<run> chosen = choose_runs(current, layout, how);
    if (chosen.size() < 2)
        return false;
    for (run& one : chosen) {
        one.cursor_leaf = first_leaf(index, one);
        one.cursor_entry = 0;
    }
    merge made = {};
    made.last_leaf = InvalidBlockNumber;
    std::fill_n(made.open, most_levels, InvalidBlockNumber);
    change_meta(index, [&](meta& stored) {
        made.id = stored.next_id++;
        for (run& one : chosen)
            one.into = made.id;
        stored.merges[stored.merge_count++] = made;
        std::copy(chosen.begin(), chosen.end(), find_by_id(runs_of(stored), chosen.front().id));
    });
    read_meta(index, current, true);
    return true;
}

std::span<run> parts_of(meta& current, std::uint64_t merge_id)
{
    const auto is_part = [&](const run& one) { return one.into == merge_id; };
    const std::span<run> all = runs_of(current);
    const auto first = std::find_if(all.begin(), all.end(), is_part);
    return {first, std::find_if_not(first, all.end(), is_part)};
}

// Replaces the runs of a merge (`parts`) by the merged run. The trees of the old runs become dead trees.
void end_merge(Relation index, std::span<const run> parts, const merge& self)
{
    for (std::size_t at = 0; at + 1 < parts.size(); at++)
        link(index, parts[at].last, parts[at + 1].first);
    run made = {};
    made.id = self.id;
    made.height = self.height;
    made.root = self.height > 0 ? self.open[self.height - 1] : InvalidBlockNumber;
    made.first = parts.front().first;
    made.last = parts.back().last;
    made.record_pages = static_cast<std::uint32_t>(record_pages_of(parts));
    std::uint32_t before = 0;
    for (const run& one : parts) {
        made.records += one.records;
        if (one.bare_pages > 0)
            made.bare_pages = before + one.bare_pages;
        before += one.record_pages;
    }
    change_meta(index, [&](meta& stored) {
        for (const run& one : parts)
            bury(stored, one);
        run* const first = find_by_id(runs_of(stored), parts.front().id);
        *first = made;
        std::copy(first + parts.size(), stored.runs + stored.run_count, first + 1);
        stored.run_count -= static_cast<std::uint32_t>(parts.size()) - 1;
        *find_by_id(merges_of(stored), self.id) = merges_of(stored).back();
        stored.merge_count--;
        stored.next_id++; // so that readers can see that the meta page has changed
    });
}

// Writes no more than `most` leaves of a merge, and ends the merge when no entries are left. Returns the number of
// leaves written.
int continue_merge(
    Relation index, const layout& layout, meta& current, const merge& one, int most, BufferAccessStrategy strategy)
{
    const std::span<const run> parts = parts_of(current, one.id);
    if (parts.empty())
        fail_damaged(index, meta_block, "A merge has no runs.");
    growing<leaf_chain> chains;
    chains.start(parts.size());
    for (const run& one : parts)
        chains.add({one.id, one.cursor_leaf, one.cursor_entry});
    entry_stream stream = make_stream(index, chains, nullptr, strategy);
    const std::uint64_t pages = record_pages_of(parts);
    tree_writer out = {index, one, static_cast<std::uint32_t>(pages), &stream, InvalidBlockNumber};
    const std::uint64_t most_entries =
        pages * static_cast<std::uint64_t>(layout.records_per_page) * static_cast<std::uint64_t>(lists_of(layout));
    // Not between two leaves, because the page that has been chosen for the next leaf would be left over.
    CHECK_FOR_INTERRUPTS();
    int written = 0;
    while (written < most && has_entries(stream)) {
        written += append_leaves(out, most - written);
        if (out.merge.entries > most_entries)
            fail_damaged(index, meta_block, "Runs have more entries than records.");
    }
    if (!has_entries(stream))
        end_merge(index, parts, out.merge);
    return written;
}

// The merge whose runs have the fewest pages of records.
const merge& smallest_merge(meta& current)
{
    return *std::ranges::min_element(merges_of(current), {}, [&](const merge& one) {
        return record_pages_of(parts_of(current, one.id));
    });
}

// Frees the last leaves of a dead tree, or the last inner page if that page has no children left. Leaves that are freed
// together have the same parent. Freed pages are removed from their parent, so the tree itself shows which pages are
// left. When the root is freed, the tree is removed from the meta page. If a reader with an old copy of the meta page
// meets a freed page, the reader starts again. Returns how many pages were freed; `is_root` says whether the root was.
int free_last_pages(Relation index, const dead_tree& tree, bool& is_root, BufferAccessStrategy strategy)
{
    const BlockNumber end = RelationGetNumberOfBlocks(index);
    BlockNumber parent = InvalidBlockNumber;
    BlockNumber last[MAX_GENERIC_XLOG_PAGES - 1] = {tree.root};
    int count = 1;
    for (std::uint32_t level = tree.height; level > 0; level--) {
        const BlockNumber block = last[0];
        check_block(index, block, end);
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE);
        inner_view view;
        if (!view_inner(index, buffer, tree.id, level, view))
            fail_damaged(index, block, "An inner page of a merged run is missing.");
        const int children = view.count();
        if (children > 0) {
            parent = block;
            count = level > 1 ? 1 : std::min<int>(children, std::size(last));
            std::reverse_copy(view.blocks + children - count, view.blocks + children, last);
        }
        UnlockReleaseBuffer(buffer);
        if (children == 0)
            break;
    }
    page_changes all(index, strategy);
    for (int at = 0; at < count; at++) {
        check_block(index, last[at], end);
        const Page page = all.lock(last[at], GENERIC_XLOG_FULL_IMAGE); // the image is short: the page becomes empty
        if (trailer_of(page).id != tree.id || !(is_kind(page, page_kind::leaf) || is_kind(page, page_kind::inner)))
            fail_damaged(index, last[at], "A page of a merged run is missing.");
        init_page(page, page_kind::free, 0, 0);
    }
    is_root = parent == InvalidBlockNumber;
    if (is_root) {
        meta& stored = all.lock_meta();
        *find_by_id(dead_trees_of(stored), tree.id) = dead_trees_of(stored).back();
        stored.dead_tree_count--;
    } else {
        node_head& head = head_of(all.lock(parent));
        head.count = static_cast<std::uint16_t>(head.count - count);
    }
    all.finish();
    for (int at = 0; at < count; at++) {
        RecordFreeIndexPage(index, last[at]);
        FreeSpaceMapVacuumRange(index, last[at], last[at] + 1);
    }
    return count;
}

// Frees up to about `most` pages of dead trees.
void free_dead_pages(Relation index, const meta& current, int most, BufferAccessStrategy strategy)
{
    int freed = 0;
    // The latest trees come first, because they are smaller. Otherwise, many dead trees could wait behind a large one,
    // and no merge begins while there are too many dead trees.
    for (std::uint32_t at = current.dead_tree_count; at-- > 0;) {
        for (bool is_root = false; !is_root;) {
            CHECK_FOR_INTERRUPTS();
            if (freed >= most)
                return;
            freed += free_last_pages(index, current.dead_trees[at], is_root, strategy);
        }
    }
}

// If VACUUM was interrupted while it rewrote a run, lets that run take part in merges again.
void forget_rewriting(Relation index, meta& current)
{
    if (current.rewritten == 0 || !ConditionalLockPage(index, rewriting_lock, ExclusiveLock))
        return;
    change_meta(index, [](meta& stored) { stored.rewritten = 0; });
    current.rewritten = 0;
    UnlockPage(index, rewriting_lock, ExclusiveLock);
}

[[maybe_unused]] bool has_locked_runs(Relation index)
{
    LOCKTAG tag;
    SET_LOCKTAG_PAGE(tag, index->rd_lockInfo.lockRelId.dbId, index->rd_lockInfo.lockRelId.relId, runs_lock);
    return holds_lock(tag, ExclusiveLock);
}

// Does a limited part of the work. Returns whether there was any work. If `short_tail`, even a short tail becomes a
// run, except for its open page.
bool merge_some(Relation index, const worker& who, bool short_tail)
{
    Assert(has_locked_runs(index));
    meta current;
    read_meta(index, current, true);
    const layout layout = layout_of(index, current);
    if (layout.banding.bands == 0)
        return false;
    forget_rewriting(index, current);
    const pace how = who.pace_for(layout);
    if (current.tail_pages > (short_tail ? 1 : long_tail(layout)) && current.run_count < most_runs) {
        make_run_of_tail(index, layout, current, how);
        read_meta(index, current, true);
        begin_merge(index, layout, current, how);
        return true;
    }
    bool worked = current.dead_tree_count > 0;
    free_dead_pages(index, current, how.frees, how.strategy);
    for (int left = how.leaves; left > 0;) {
        read_meta(index, current, true);
        worked |= begin_merge(index, layout, current, how);
        if (current.merge_count == 0)
            break;
        left -= continue_merge(index, layout, current, smallest_merge(current), left, how.strategy);
        worked = true;
    }
    return worked;
}

// Calls merge_some() in a memory context of its own. The caller must hold the lock of the runs; this function releases
// it.
bool merge_and_unlock(Relation index, const worker& who, bool short_tail)
{
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh merge", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    const bool worked = merge_some(index, who, short_tail);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    UnlockPage(index, runs_lock, ExclusiveLock);
    return worked;
}

} // namespace

std::uint32_t long_tail(const layout& layout) { return std::max<std::uint32_t>(4, 34 / leaves_of_page(layout)); }

void bury(meta& stored, const run& old)
{
    if (old.root == InvalidBlockNumber)
        return;
    Assert(stored.dead_tree_count < most_dead_trees);
    stored.dead_trees[stored.dead_tree_count++] = {old.id, old.root, old.height};
}

void merge_a_little(Relation index)
{
    if (ConditionalLockPage(index, runs_lock, ExclusiveLock))
        merge_and_unlock(index, {}, false);
}

// Works in turns until nothing is left to do. The number of turns is limited, because writers may keep adding work.
// Unless `begins_merges`, all current pages of the tail except the open page become runs, even if they are few. Pages
// that are added later need not become runs.
void merge_all(Relation index, bool begins_merges, BufferAccessStrategy strategy)
{
    meta current;
    read_meta(index, current);
    const BlockNumber turns = RelationGetNumberOfBlocks(index) / vacuum_leaves + 1000;
    std::uint32_t taken = 1;
    bool worked = true;
    for (BlockNumber turn = 0; worked && turn < turns; turn++) {
        vacuum_delay();
        LockPage(index, runs_lock, ExclusiveLock);
        worked = merge_and_unlock(index, {true, begins_merges, strategy}, !begins_merges && taken < current.tail_pages);
        taken += vacuum_pages;
    }
}

} // namespace minhash::pg::index
