// Writes the tree of a merge from its first leaf to its last, a few pages at a time, so that the writer can stop after
// any WAL record and another process can continue.
#pragma once

#include "pg/index/write/entry_stream.h"

namespace minhash::pg::index {

// Each WAL record has new pages, the links to these pages and, in the meta page, the new state of the merge. If the
// pages are leaves, the record also has the new position of the stream in each run.
struct tree_writer {
    Relation index;
    index::merge merge;
    std::uint32_t record_pages; // how many pages of records the merged run will have
    entry_stream* stream;
    BlockNumber next; // the free page to which the last leaf links already; none: it links to none
};

// Appends to the tree one leaf, or as many leaves as fit in one WAL record, but no more than `most`. The stream must
// have entries. Returns the number of leaves.
int append_leaves(tree_writer& out, int most);

} // namespace minhash::pg::index
