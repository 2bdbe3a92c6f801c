// Merges the entries of several chains of leaves into one stream in key order. Entries are read from the stream one
// leafful at a time. One page of each chain is in memory.
#pragma once

#include "pg/growing.h"
#include "pg/index/nodes.h"

namespace minhash::pg::index {

// The unread rest of a chain of leaves. It begins at an entry of a leaf.
struct leaf_chain {
    std::uint64_t id;
    BlockNumber leaf; // none: the chain has no more entries
    std::uint32_t entry;
};

struct entry_stream {
    struct source {
        leaf_chain rest;
        std::uint64_t key; // the key of the next entry
        leaf_view view;
        PGAlignedBlock page;
    };

    Relation index;
    source* sources;
    int source_count;
    int* heap; // positions of the sources that have entries left, as a heap with the least key first
    int heap_size;
    growing<BlockNumber>* used_up; // collects leaves that have been read to the end; null: they are not collected
};

// make_stream() makes a stream for up to `chains` chains, and each call of add_source() adds one chain.
entry_stream make_stream(Relation index, std::size_t chains, growing<BlockNumber>* used_up);
void add_source(entry_stream& stream, const leaf_chain& chain);

// Reads entries into `leaf` until it is full or no entries are left, and moves the chains past these entries.
void read_leafful(entry_stream& stream, leaf_entries& leaf);

} // namespace minhash::pg::index
