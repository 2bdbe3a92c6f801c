// Writes runs: sorts the entries of records, band by band, into leaves, and adds inner pages above the leaves.
#pragma once

#include "pg/growing.h"
#include "pg/index/format/nodes.h"

#include <algorithm>

extern "C" {
#include "port/atomics.h"
}

namespace minhash::pg::index {

// A run that will be written. Nobody can reach its pages until the meta page names the run. No page is locked for long,
// so writing can be cancelled.
struct new_run {
    Relation index;
    const index::layout* layout;
    std::uint64_t id;
    new_pages* supply; // the supply of new pages in a build; null: not a build
    BufferAccessStrategy strategy;
    bool logs_once = false; // a build: sorted leaves are not logged, because their merge will log all leaves
};

// A chain of leaves of a run. No inner pages have been written above these leaves yet.
struct sorted_leaves {
    BlockNumber first; // none: no record has entries
    BlockNumber last;
    std::uint64_t records; // how many records have entries, in the first list
};

// Writes the leaves for the records on `pages`. There may be no more than sortable_pages() pages.
sorted_leaves write_sorted(const new_run& to, std::span<const BlockNumber> pages);

// Together, these functions do the work of write_sorted() in the processes of a build. Each process calls
// write_bands(), which writes one list after another until no lists are left. Then one process calls join_bands(),
// which links the leaves of all lists.
void write_bands(const new_run& to,
                 std::span<const BlockNumber> pages,
                 pg_atomic_uint32& next_list,
                 sorted_leaves* made);
sorted_leaves join_bands(const new_run& to, const sorted_leaves* made);

// The maximum number of pages of records that can be sorted at once. It is limited by `memory`, in kB, and by the
// number of records that the sort can distinguish.
std::size_t sortable_pages(const layout& layout, int memory);

// Merges chains of leaves into one chain, and returns the first leaf of that chain. The pages of the old chains are
// reused or freed. All leaves of the new chain are logged. A merge keeps one page of each chain in memory. If VACUUM's
// memory is too small for that, the chains are merged in several rounds.
BlockNumber merge_chains(const new_run& to, std::span<BlockNumber> chains);

// Writes the tree above a run's leaves.
void add_tree(const new_run& to, BlockNumber first_leaf, run& made);

// Writes a run for the records on `pages`. sort(part) must write the leaves for a part of these pages. If `memory`, in
// kB, is too small to sort all pages at once, there are several parts, and their leaves are merged.
template <typename Sort>
run write_run(const new_run& to, std::span<const BlockNumber> pages, int memory, Sort sort)
{
    Assert(to.id != 0 && !pages.empty() && (!to.logs_once || to.supply != nullptr));
    run made = {};
    made.id = to.id;
    made.root = made.cursor_leaf = InvalidBlockNumber;
    made.first = pages.front();
    made.last = pages.back();
    made.record_pages = static_cast<std::uint32_t>(pages.size());
    const std::size_t part = sortable_pages(*to.layout, memory);
    growing<BlockNumber> chains;
    chains.start(pages.size() / part + 1);
    for (std::size_t first = 0; first < pages.size(); first += part) {
        const sorted_leaves sorted = sort(pages.subspan(first, std::min(part, pages.size() - first)));
        made.records += sorted.records;
        if (sorted.first != InvalidBlockNumber)
            chains.add(sorted.first);
    }
    if (chains.count > 0)
        add_tree(to, chains.count == 1 && !to.logs_once ? chains.at[0] : merge_chains(to, chains), made);
    pfree(chains.at);
    return made;
}

// Like write_run() above, but one process does the work within VACUUM's memory.
run write_run(const new_run& to, std::span<const BlockNumber> pages);

} // namespace minhash::pg::index
