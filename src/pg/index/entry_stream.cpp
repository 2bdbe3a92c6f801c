#include "pg/index/entry_stream.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

namespace {

// Loads the leaf at which the source continues. The leaf is copied, because a process that holds a page lock cannot be
// cancelled.
void load_leaf(entry_stream& stream, entry_stream::source& from)
{
    const BlockNumber block = from.rest.leaf;
    check_block(stream.index, block, RelationGetNumberOfBlocks(stream.index));
    const Buffer buffer = read_page(stream.index, block, BUFFER_LOCK_SHARE);
    leaf_view view;
    if (!view_leaf(stream.index, buffer, from.rest.id, view))
        fail_damaged(stream.index, block, "A leaf of a run is missing.");
    if (from.rest.entry >= view.head->count)
        fail_damaged(stream.index, block, "A leaf has fewer entries than were merged.");
    memcpy(from.page.data, BufferGetPage(buffer), BLCKSZ);
    UnlockReleaseBuffer(buffer);
    from.view = {&head_of(from.page.data), contents_of(from.page.data) + sizeof(node_head)};
    from.key = from.view.key(static_cast<int>(from.rest.entry));
}

// Moves a source past its next entry.
void skip_entry(entry_stream& stream, entry_stream::source& from)
{
    if (++from.rest.entry < from.view.head->count) {
        from.key = from.view.key(static_cast<int>(from.rest.entry));
        return;
    }
    if (stream.used_up != nullptr)
        stream.used_up->add(from.rest.leaf);
    from.rest.leaf = trailer_of(from.page.data).next;
    from.rest.entry = 0;
    if (from.rest.leaf == InvalidBlockNumber)
        return;
    const std::uint64_t before = from.key;
    load_leaf(stream, from);
    if (from.key < before)
        fail_damaged(stream.index, from.rest.leaf, "Keys are out of order.");
}

// Moves the first source of the heap down to its place.
void sink_first(entry_stream& stream)
{
    int* const heap = stream.heap;
    const int first = heap[0];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= stream.heap_size)
            break;
        if (child + 1 < stream.heap_size && stream.sources[heap[child + 1]].key < stream.sources[heap[child]].key)
            child++;
        if (stream.sources[first].key <= stream.sources[heap[child]].key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = first;
}

} // namespace

entry_stream make_stream(Relation index, std::size_t chains, growing<BlockNumber>* used_up)
{
    entry_stream made = {};
    made.index = index;
    made.used_up = used_up;
    made.sources = static_cast<entry_stream::source*>(
        MemoryContextAllocHuge(CurrentMemoryContext, chains * sizeof(entry_stream::source)));
    made.heap = static_cast<int*>(palloc(chains * sizeof(int)));
    return made;
}

void add_source(entry_stream& stream, const leaf_chain& chain)
{
    entry_stream::source& added = stream.sources[stream.source_count++];
    added.rest = chain;
    if (chain.leaf == InvalidBlockNumber)
        return;
    load_leaf(stream, added);
    stream.heap[stream.heap_size++] = stream.source_count - 1;
    std::push_heap(stream.heap, stream.heap + stream.heap_size, [&](int left, int right) {
        return stream.sources[left].key > stream.sources[right].key;
    });
}

void read_leafful(entry_stream& stream, leaf_entries& leaf)
{
    leaf.count = 0;
    while (stream.heap_size > 0) {
        entry_stream::source& from = stream.sources[stream.heap[0]];
        if (!add_entry(leaf, from.key, from.view.number(static_cast<int>(from.rest.entry))))
            return;
        skip_entry(stream, from);
        if (from.rest.leaf == InvalidBlockNumber)
            stream.heap[0] = stream.heap[--stream.heap_size];
        sink_first(stream);
    }
}

} // namespace minhash::pg::index
