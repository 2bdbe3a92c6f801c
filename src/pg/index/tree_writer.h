// Writes the tree of a merge from its first leaf to its last, one page at a time, so that the writer can stop after any
// page and another process can continue.
#pragma once

#include "pg/index/entry_stream.h"

namespace minhash::pg::index {

// Each WAL record has one new page, the links to that page and, in the meta page, the new state of the merge. If the
// page is a leaf, the record also has the new position of the stream in each run.
struct tree_writer {
    Relation index;
    merge state;
    std::uint32_t record_pages; // how many pages of records the merged run will have
    const entry_stream* stream;
};

// Appends a leaf to the tree. It must have entries.
void append_leaf(tree_writer& out, const leaf_entries& leaf);

} // namespace minhash::pg::index
