// Writes runs: the entries of records are sorted, band by band, into leaves, and inner pages are added above.
#pragma once

#include "pg/growing.h"
#include "pg/index/entry_stream.h"

extern "C" {
#include "port/atomics.h"
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// How many pages of records can be sorted at once, within `memory` kB and the record numbers that the sort has room
// for.
std::size_t sortable_pages(const layout& shape, int memory);

// Writes the run of the records on `pages`, of which there may be no more than that. Nobody can reach the new pages
// until the meta page names the run. No page is locked for long, so it can be cancelled. `supply` is a build's, or
// null.
run write_run(
    Relation index, const layout& shape, std::span<const BlockNumber> pages, std::uint64_t id, new_pages* supply);

// The leaves of a run, without a tree above: a chain that begins at `first`.
struct sorted_leaves {
    BlockNumber first; // none: no record was alive
    BlockNumber last;
    std::uint64_t records;
};

// Writes only the sorted leaves of such a run.
sorted_leaves write_sorted(
    Relation index, const layout& shape, std::span<const BlockNumber> pages, std::uint64_t id, new_pages* supply);

// The same, shared by the processes of a build: each writes the leaves of whole bands until bands_left is 0. Then one
// process joins them.
void write_bands(Relation index,
                 const layout& shape,
                 std::span<const BlockNumber> pages,
                 std::uint64_t id,
                 new_pages& supply,
                 pg_atomic_uint32& bands_left,
                 sorted_leaves* made);
sorted_leaves join_bands(Relation index, const layout& shape, const sorted_leaves* made);

// Writes the tree above a run's leaves.
void add_tree(Relation index, const sorted_leaves& leaves, new_pages* supply, run& made);

// A run of these pages of records, with its records not counted and no tree yet.
run run_of(std::span<const BlockNumber> pages, std::uint64_t id);

} // namespace minhash::pg::index
