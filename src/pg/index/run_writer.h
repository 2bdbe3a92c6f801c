// Writes runs: the entries of records are sorted, band by band, into leaves, and inner pages are added above.
#pragma once

#include "pg/growing.h"
#include "pg/index/nodes.h"

#include <algorithm>

extern "C" {
#include "port/atomics.h"
}

namespace minhash::pg::index {

// A run to be written. Nobody can reach its pages until the meta page names it. No page is locked for long, so writing
// can be cancelled.
struct new_run {
    Relation index;
    const layout* shape;
    std::uint64_t id;
    new_pages* supply; // a build's, or null
};

// Some leaves of a run, without a tree above: a chain that begins at `first`.
struct sorted_leaves {
    BlockNumber first; // none: no record was alive
    BlockNumber last;
    std::uint64_t records;
};

// Writes the leaves of the records on `pages`, of which there may be no more than sortable_pages().
sorted_leaves write_sorted(const new_run& to, std::span<const BlockNumber> pages);

// The same, shared by the processes of a build: each takes whole bands until there are no more. Then one process joins
// them.
void write_bands(const new_run& to,
                 std::span<const BlockNumber> pages,
                 pg_atomic_uint32& next_band,
                 sorted_leaves* made);
sorted_leaves join_bands(const new_run& to, const sorted_leaves* made);

// How many pages of records can be sorted at once, within `memory` kB and the range of record numbers in the sort.
std::size_t sortable_pages(const layout& shape, int memory);

// Merges chains of leaves into one, whose first leaf it returns. Their pages are reused or freed. It keeps a page of
// each chain in memory; if maintenance memory has no room for all of them, some chains are first merged into one.
BlockNumber merge_chains(const new_run& to, std::span<BlockNumber> chains);

// Writes the tree above a run's leaves.
void add_tree(const new_run& to, BlockNumber first_leaf, run& made);

// Writes the run of the records on `pages`. If `memory` is too small to sort their entries at once, parts are sorted,
// by sort(pages), and merged.
template <typename Sort>
run write_run(const new_run& to, std::span<const BlockNumber> pages, int memory, Sort sort)
{
    Assert(to.id != 0 && !pages.empty());
    run made = {};
    made.id = to.id;
    made.root = made.cursor_leaf = InvalidBlockNumber;
    made.first = pages.front();
    made.last = pages.back();
    made.record_pages = static_cast<std::uint32_t>(pages.size());
    const std::size_t part = sortable_pages(*to.shape, memory);
    growing<BlockNumber> chains;
    chains.start(pages.size() / part + 1);
    for (std::size_t first = 0; first < pages.size(); first += part) {
        const sorted_leaves sorted = sort(pages.subspan(first, std::min(part, pages.size() - first)));
        made.records += sorted.records;
        chains.add(sorted.first);
    }
    add_tree(to, chains.count == 1 ? chains.at[0] : merge_chains(to, chains), made);
    pfree(chains.at);
    return made;
}

// The same, done by one process within VACUUM's memory.
run write_run(const new_run& to, std::span<const BlockNumber> pages);

} // namespace minhash::pg::index
