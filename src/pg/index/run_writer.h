// Runs written: the entries of records are sorted, band by band, as leaves; above these come inner
// pages.
#pragma once

#include "pg/growing.h"
#include "pg/index/entry_stream.h"

extern "C" {
#include "port/atomics.h"
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// How many pages of records can be sorted at once, so that it keeps to the memory (in kB) and to
// what the sort can number.
std::size_t sortable_pages(const layout& shape, int memory);

// Writes the run of the records on the pages, of which there must be no more. Its pages are
// reachable by nobody until the meta page names the run. Nothing is locked meanwhile, so it answers
// to cancel. `supply` is that of a build, and null otherwise.
run write_run(Relation index,
              const layout& shape,
              std::span<const BlockNumber> pages,
              std::uint64_t id,
              new_pages* supply);

// A run but for its tree: `first` is all of a chain of leaves.
struct sorted_leaves {
    BlockNumber first; // none: no record was alive
    BlockNumber last;
    std::uint64_t records;
};

// The same without a tree above the leaves.
sorted_leaves write_sorted(Relation index,
                           const layout& shape,
                           std::span<const BlockNumber> pages,
                           std::uint64_t id,
                           new_pages* supply);

// The same by several processes of a build: each writes the leaves of whole bands, until none of
// bands_left is left. Then one joins them.
void write_bands(Relation index,
                 const layout& shape,
                 std::span<const BlockNumber> pages,
                 std::uint64_t id,
                 new_pages& supply,
                 pg_atomic_uint32& bands_left,
                 sorted_leaves* made);
sorted_leaves join_bands(Relation index, const layout& shape, const sorted_leaves* made);

// Writes the tree above leaves, which are those of a run.
void add_tree(Relation index, const sorted_leaves& leaves, new_pages* supply, run& made);

// A run of these pages of records, without records and a tree so far.
run run_of(std::span<const BlockNumber> pages, std::uint64_t id);

} // namespace minhash::pg::index
