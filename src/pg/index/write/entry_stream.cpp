#include "pg/index/write/entry_stream.h"

#include <bit>

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

namespace {

// Reads one key ahead, so that the next match of the source need not wait for its key.
void next_key(entry_stream::source& from)
{
    from.key = from.later_key;
    from.later_key = from.later_keys.value();
    from.later_keys.bit += from.later_keys.width;
}

// Loads the leaf at which the source continues. The leaf is copied, because a process that holds a page lock cannot be
// cancelled.
void load_leaf(entry_stream& stream, entry_stream::source& from)
{
    const BlockNumber block = from.rest.leaf;
    check_block(stream.index, block, RelationGetNumberOfBlocks(stream.index));
    const Buffer buffer = read_page(stream.index, block, BUFFER_LOCK_SHARE, stream.strategy);
    leaf_view view;
    if (!view_leaf(stream.index, buffer, from.rest.id, view))
        fail_damaged(stream.index, block, "A leaf of a run is missing.");
    if (from.rest.entry >= view.head->count)
        fail_damaged(stream.index, block, "A leaf has fewer entries than were merged.");
    if (view.head->key_base > entry_stream::no_key / 2)
        fail_damaged(stream.index, block, "A leaf has impossible keys.");
    memcpy(from.page.data, BufferGetPage(buffer), BLCKSZ);
    UnlockReleaseBuffer(buffer);
    const node_head& head = head_of(from.page.data);
    const char* const entries = contents_of(from.page.data) + sizeof(node_head);
    const std::uint32_t keys = std::uint32_t{head.count} * head.key_width;
    from.count = head.count;
    from.later_keys = {entries, from.rest.entry * head.key_width, head.key_width, head.key_base};
    from.numbers = {entries, keys + from.rest.entry * head.number_width, head.number_width, head.number_base};
    next_key(from);
    next_key(from);
}

// Moves a source past its next entry.
void skip_entry(entry_stream& stream, entry_stream::source& from)
{
    if (++from.rest.entry < from.count) {
        next_key(from);
        from.numbers.bit += from.numbers.width;
        return;
    }
    if (stream.used_up != nullptr)
        stream.used_up->add(from.rest.leaf);
    from.rest.leaf = trailer_of(from.page.data).next;
    from.rest.entry = 0;
    const std::uint64_t before = from.key;
    from.key = entry_stream::no_key;
    if (from.rest.leaf != InvalidBlockNumber)
        load_leaf(stream, from);
    if (from.key < before)
        fail_damaged(stream.index, from.rest.leaf, "Keys are out of order.");
}

// Plays the matches below a node of the tournament, and returns the winner.
entry_stream::player play(entry_stream& stream, std::size_t node)
{
    if (node >= stream.leaves) {
        const std::size_t source = node - stream.leaves;
        return {source < stream.sources.size() ? stream.sources[source].key : entry_stream::no_key, source};
    }
    entry_stream::player left = play(stream, 2 * node);
    entry_stream::player right = play(stream, 2 * node + 1);
    if (right.key < left.key)
        std::swap(left, right);
    stream.tournament[node] = right;
    return left;
}

// Plays the matches of the last winner again, with its next key. No branch depends on a key, because half of such
// branches would be mispredicted.
entry_stream::player replay(const entry_stream& stream, entry_stream::player winner)
{
    for (std::size_t node = (stream.leaves + winner.source) / 2; node > 0; node /= 2) {
        entry_stream::player& other = stream.tournament[node];
        const std::uint64_t loses = -std::uint64_t{other.key < winner.key};
        const std::uint64_t keys = (other.key ^ winner.key) & loses;
        const std::size_t sources = (other.source ^ winner.source) & loses;
        other = {other.key ^ keys, other.source ^ sources};
        winner = {winner.key ^ keys, winner.source ^ sources};
    }
    return winner;
}

} // namespace

entry_stream make_stream(Relation index,
                         std::span<const leaf_chain> chains,
                         growing<BlockNumber>* used_up,
                         BufferAccessStrategy strategy)
{
    Assert(!chains.empty());
    entry_stream made = {};
    made.index = index;
    made.used_up = used_up;
    made.strategy = strategy;
    made.sources = {static_cast<entry_stream::source*>(
                        MemoryContextAllocHuge(CurrentMemoryContext, chains.size() * sizeof(entry_stream::source))),
                    chains.size()};
    for (std::size_t at = 0; at < chains.size(); at++) {
        entry_stream::source& from = made.sources[at];
        from.rest = chains[at];
        from.key = from.later_key = entry_stream::no_key;
        if (from.rest.leaf != InvalidBlockNumber)
            load_leaf(made, from);
    }
    made.leaves = std::bit_ceil(chains.size());
    made.tournament = static_cast<entry_stream::player*>(palloc(made.leaves * sizeof(entry_stream::player)));
    made.tournament[0] = play(made, 1);
    return made;
}

void read_leafful(entry_stream& stream, leaf_entries& leaf)
{
    leaf.count = 0;
    while (has_entries(stream)) {
        const std::size_t first = stream.tournament[0].source;
        entry_stream::source& from = stream.sources[first];
        if (!add_entry(leaf, from.key, from.numbers.value()))
            return;
        skip_entry(stream, from);
        stream.tournament[0] = replay(stream, {from.key, first});
    }
}

} // namespace minhash::pg::index
