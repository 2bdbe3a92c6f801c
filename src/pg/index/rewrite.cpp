#include "pg/growing.h"
#include "pg/index/merge.h"
#include "pg/index/pages.h"
#include "pg/index/rewrite.h"
#include "pg/index/run_writer.h"
#include "pg/index/tree_writer.h"

#include <algorithm>

extern "C" {
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/memutils.h"
}

namespace minhash::pg::index {

namespace {

// A run is rewritten if at least one in `dead_share` of its records is dead.
constexpr std::uint64_t dead_share = 5;

bool has_many_dead(Relation index, const layout& shape, const meta& now, const run& which)
{
    std::uint64_t all = 0;
    std::uint64_t dead = 0;
    const auto count = [&](Buffer, Page page, int records) {
        for (int place = 0; place < records; place++)
            dead += is_dead(tid_of(record_at(page, shape, place), shape));
        all += static_cast<std::uint64_t>(records);
    };
    if (!each_page(index, shape, which.first, which.record_pages, now.next_id, count))
        fail_damaged(index, which.first, "A page of records of a run is missing.");
    return dead > 0 && dead * dead_share >= all;
}

run* find_run(meta& now, std::uint64_t id)
{
    const std::span<run> all = runs_of(now);
    const auto found = std::find_if(all.begin(), all.end(), [&](const run& one) { return one.id == id; });
    return found == all.end() ? nullptr : &*found;
}

// Keeps others from merging a run until it is replaced, and reserves ids for it. Returns the first of these, or 0 if
// the run is gone or being merged, or if there are too many dead trees.
std::uint64_t claim(Relation index, const run& which)
{
    std::uint64_t first_id = 0;
    lock_runs(index, ExclusiveLock);
    change_meta(index, [&](meta& stored) {
        const run* const there = find_run(stored, which.id);
        if (there == nullptr || there->into != 0 || stored.dead_tree_count > most_dead_trees - most_runs)
            return;
        first_id = stored.next_id;
        stored.next_id += std::uint64_t{1} + which.record_pages;
        stored.rewritten = which.id;
        stored.unswept = first_id;
    });
    unlock_runs(index, ExclusiveLock);
    return first_id;
}

// Copies living records to new pages, from the last to the first, so that the next page is always known. The last one
// leads to the meta page, as only the open page of the tail leads nowhere.
growing<BlockNumber>
copy_records(Relation index, const layout& shape, std::span<const BlockNumber> blocks, std::uint64_t first_id)
{
    growing<BlockNumber> made;
    made.start(blocks.size());
    char* const records = static_cast<char*>(palloc(BLCKSZ));
    const auto bytes = static_cast<std::size_t>(shape.record_bytes);
    int count = 0;
    BlockNumber next = meta_block;
    const auto place_of = [&] { return records + static_cast<std::size_t>(shape.records_per_page - count) * bytes; };
    const auto write = [&] {
        const Buffer buffer = new_page(index, nullptr);
        const Page page = BufferGetPage(buffer);
        init_page(page, page_kind::records, 0, first_id + made.count);
        trailer_of(page).next = next;
        memcpy(contents_of(page), place_of(), static_cast<std::size_t>(count) * bytes);
        set_used_bytes(page, count * shape.record_bytes);
        next = BufferGetBlockNumber(buffer);
        finish_page(index, buffer);
        made.add(next);
        count = 0;
    };
    for (std::size_t at = blocks.size(); at-- > 0;) {
        vacuum_delay();
        // A copy, so that two pages are not locked at once.
        PGAlignedBlock copy;
        const Buffer buffer = read_page(index, blocks[at], BUFFER_LOCK_SHARE);
        const int there = records_on(index, buffer, shape);
        memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
        UnlockReleaseBuffer(buffer);
        for (int place = there; place-- > 0;) {
            const std::uint8_t* const record = record_at(copy.data, shape, place);
            if (is_dead(tid_of(record, shape)))
                continue;
            count++;
            memcpy(place_of(), record, bytes);
            if (count == shape.records_per_page)
                write();
        }
    }
    if (count > 0)
        write();
    std::reverse(made.at, made.at + made.count);
    return made;
}

// The run of pages of records, sorted in parts if memory is too small for all.
run make_run(Relation index, const layout& shape, std::span<const BlockNumber> pages, std::uint64_t id)
{
    const std::size_t part = sortable_pages(shape, vacuum_memory());
    if (pages.size() <= part)
        return write_run(index, shape, pages, id, nullptr);
    run made = run_of(pages, id);
    growing<BlockNumber> chains;
    chains.start(pages.size() / part + 1);
    for (std::size_t first = 0; first < pages.size(); first += part) {
        const sorted_leaves sorted =
            write_sorted(index, shape, pages.subspan(first, std::min(part, pages.size() - first)), id, nullptr);
        made.records += sorted.records;
        chains.add(sorted.first);
    }
    merge_chains(index, {chains.at, chains.count}, id, nullptr, made);
    return made;
}

// Replaces a run by the new one; null if none of its records was alive.
void replace(Relation index, const run& old, const run* made)
{
    lock_runs(index, ExclusiveLock);
    change_meta(index, [&](meta& stored) {
        run* const there = find_run(stored, old.id);
        Assert(there != nullptr && there->into == 0 && stored.rewritten == old.id);
        if (old.root != InvalidBlockNumber) {
            Assert(stored.dead_tree_count < most_dead_trees);
            stored.dead_trees[stored.dead_tree_count++] = {old.id, old.root, old.height};
        }
        if (made != nullptr) {
            *there = *made;
        } else {
            std::copy(there + 1, stored.runs + stored.run_count, there);
            stored.run_count--;
        }
        stored.rewritten = 0;
        stored.next_id++; // so that every reader sees that something has changed
    });
    unlock_runs(index, ExclusiveLock);
}

void rewrite(Relation index, const layout& shape, const meta& now, const run& which)
{
    lock_rewriting(index);
    const std::uint64_t first_id = claim(index, which);
    if (first_id == 0) {
        unlock_rewriting(index);
        return;
    }
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh rewrite", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    growing<BlockNumber> blocks;
    blocks.start(which.record_pages);
    const auto add = [&](Buffer buffer, Page, int) { blocks.add(BufferGetBlockNumber(buffer)); };
    if (!each_page(index, shape, which.first, which.record_pages, now.next_id, add))
        fail_damaged(index, which.first, "A page of records behind this one is missing.");
    const growing<BlockNumber> pages = copy_records(index, shape, {blocks.at, blocks.count}, first_id + 1);
    if (pages.count > 0) {
        const run made = make_run(index, shape, {pages.at, pages.count}, first_id);
        replace(index, which, &made);
    } else {
        replace(index, which, nullptr);
    }
    unlock_rewriting(index);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

} // namespace

void rewrite_runs(Relation index)
{
    meta now;
    read_meta(index, now);
    const layout shape = layout_of(index, now);
    for (const run& which : runs_of(now))
        if (has_many_dead(index, shape, now, which))
            rewrite(index, shape, now, which);
}

} // namespace minhash::pg::index
