// The tree of a run written from its first leaf to its last, one page at a time, so that who writes
// it can stop after any page and another process can go on.
#pragma once

#include "pg/index/entry_stream.h"

namespace minhash::pg::index {

struct tree_writer {
    Relation index;
    merge state;
    std::uint32_t record_pages; // of the run
    // Where the entries come from, if the merge is one of the meta page: then each page is written
    // together with the new state of merge and stream there, in one record of the log. Null: nobody
    // else knows of this tree yet.
    const entry_stream* stored;
    // Where pages come from, besides the map of free space: a build's supply; pages that are no
    // longer needed. Or null.
    new_pages* supply;
    growing<BlockNumber>* spare;
    bool leaves_only; // a chain, which `first_leaf` begins
    BlockNumber first_leaf;
};

merge start_merge(std::uint64_t id);

// Appends a leaf, which must have entries.
void append_leaf(tree_writer& out, const leaf_entries& leaf);

// Names the tree that was written.
void end_tree(const merge& state, run& made);

// Merges chains of leaves, all with the id, into one tree of a run, which nobody else knows of yet.
// They are used up: their pages become those of the tree, or free. Memory: a page of each chain, as
// far as that of VACUUM or a build allows; with more chains some are merged into one before.
void merge_chains(Relation index,
                  std::span<const BlockNumber> chains,
                  std::uint64_t id,
                  new_pages* supply,
                  run& made);

} // namespace minhash::pg::index
