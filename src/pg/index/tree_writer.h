// Writes the tree of a run from its first leaf to its last, one page at a time, so that the writer can stop after any
// page and another process can continue.
#pragma once

#include "pg/index/entry_stream.h"

namespace minhash::pg::index {

struct tree_writer {
    Relation index;
    merge state;
    std::uint32_t record_pages; // of the run
    // The source of entries, if the merge is in the meta page: then one WAL record has each page and the new state of
    // merge and stream in the meta page. Null: nobody else knows of this tree yet.
    const entry_stream* stored;
    // Where pages come from, besides the free space map: a build's supply, and leaves that have been read to the end.
    // Either may be null.
    new_pages* supply;
    growing<BlockNumber>* spare;
    bool leaves_only; // only a chain from `first_leaf` on
    BlockNumber first_leaf;
};

merge start_merge(std::uint64_t id);

// Appends a leaf, which must have entries.
void append_leaf(tree_writer& out, const leaf_entries& leaf);

// Enters the tree that was written into a run.
void end_tree(const merge& state, run& made);

// Merges chains of leaves, all with the run's id, into the tree of a run that nobody else knows of yet. Their pages are
// reused for the tree, or freed. It keeps a page of each chain in memory; if maintenance memory has no room for all,
// some chains are first merged into one.
void merge_chains(Relation index, std::span<const BlockNumber> chains, std::uint64_t id, new_pages* supply, run& made);

} // namespace minhash::pg::index
