#include "pg/index/nodes.h"
#include "pg/index/tree_writer.h"

#include <algorithm>

extern "C" {
#include "access/generic_xlog.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
}

namespace minhash::pg::index {

namespace {

// Takes a page that nothing leads to, exclusively locked.
Buffer take_page(tree_writer& out)
{
    if (out.spare != nullptr && out.spare->count > 0)
        return read_page(out.index, out.spare->at[--out.spare->count], BUFFER_LOCK_EXCLUSIVE);
    return new_page(out.index, out.supply);
}

// Pages changed in one WAL record. Only the meta page is reachable by others; it is locked last.
struct change {
    tree_writer& out;
    GenericXLogState* log;
    Buffer buffers[MAX_GENERIC_XLOG_PAGES];
    int count;

    Page add(Buffer buffer, int flags)
    {
        buffers[count++] = buffer;
        return GenericXLogRegisterBuffer(log, buffer, flags);
    }

    Page add(BlockNumber block)
    {
        return add(read_page(out.index, block, BUFFER_LOCK_EXCLUSIVE), 0);
    }
};

change start_change(tree_writer& out)
{
    return {out, GenericXLogStart(out.index), {}, 0};
}

// Ends a change: puts the merge into the meta page; with a leaf, also which entries come next.
void finish(change& all, bool with_leaf)
{
    const tree_writer& out = all.out;
    if (out.stored != nullptr) {
        meta& stored = meta_of(all.add(meta_block));
        merge* const mine = std::find_if(stored.merges, stored.merges + stored.merge_count, [&](const merge& one) {
            return one.id == out.state.id;
        });
        Assert(mine != stored.merges + stored.merge_count);
        *mine = out.state;
        const entry_stream::source* from = out.stored->sources;
        for (run& one : runs_of(stored)) {
            if (!with_leaf || one.into != out.state.id)
                continue;
            Assert(one.id == from->rest.id);
            one.cursor_leaf = from->rest.leaf;
            one.cursor_entry = from->rest.entry;
            from++;
        }
        Assert(!with_leaf || from == out.stored->sources + out.stored->source_count);
    }
    GenericXLogFinish(all.log);
    for (int at = all.count; at-- > 0;)
        UnlockReleaseBuffer(all.buffers[at]);
}

// The number of children of a level's last page; sets `first_key` to the first key below it.
int children_of(const tree_writer& out, std::uint32_t level, std::uint64_t& first_key)
{
    const int room = children_room(out.record_pages, level);
    const BlockNumber block = out.state.open[level - 1];
    check_block(out.index, block, RelationGetNumberOfBlocks(out.index));
    const Buffer buffer = read_page(out.index, block, BUFFER_LOCK_SHARE);
    inner_view view;
    if (!view_inner(out.index, buffer, out.state.id, level, view))
        fail_damaged(out.index, block, "An inner page of a merge is missing.");
    const int count = view.count();
    const int filters = view.has_filters() ? count * filter_words * 8 : 0;
    if (view.head->room != static_cast<std::uint32_t>(room) ||
        used_bytes(BufferGetPage(buffer)) != static_cast<int>(sizeof(node_head)) + room * inner_width + filters)
        fail_damaged(out.index, block, "An inner page of a merge has no room for more.");
    first_key = view.keys[0];
    UnlockReleaseBuffer(buffer);
    return count;
}

// Makes sure that the last page of a level has room for a child that begins with this key.
void make_room(tree_writer& out, std::uint32_t level, std::uint64_t key)
{
    std::uint32_t& height = out.state.height;
    const int room = children_room(out.record_pages, level);
    std::uint64_t first_key = 0;
    if (level <= height && children_of(out, level, first_key) < room)
        return;
    if (level > height) {
        // The root is full, or there is none yet.
        Assert(level == height + 1);
        if (height == most_levels)
            fail_damaged(out.index, out.state.open[height - 1], "A run has too many pages.");
        if (height > 0)
            children_of(out, height, first_key);
        change all = start_change(out);
        const Buffer buffer = take_page(out);
        const Page page = all.add(buffer, GENERIC_XLOG_FULL_IMAGE);
        init_inner(page, out.state.id, level, room);
        if (height > 0)
            append_child(page, first_key, out.state.open[height - 1]);
        out.state.open[height++] = BufferGetBlockNumber(buffer);
        finish(all, false);
        return;
    }
    make_room(out, level + 1, key);
    change all = start_change(out);
    const Buffer buffer = take_page(out);
    init_inner(all.add(buffer, GENERIC_XLOG_FULL_IMAGE), out.state.id, level, room);
    append_child(all.add(out.state.open[level]), key, BufferGetBlockNumber(buffer));
    out.state.open[level - 1] = BufferGetBlockNumber(buffer);
    finish(all, false);
}

} // namespace

merge start_merge(std::uint64_t id)
{
    merge made = {};
    made.id = id;
    made.last_leaf = InvalidBlockNumber;
    std::fill_n(made.open, most_levels, InvalidBlockNumber);
    return made;
}

void append_leaf(tree_writer& out, const leaf_entries& leaf)
{
    const std::uint64_t key = leaf.least_key();
    if (!out.leaves_only)
        make_room(out, 1, key);
    change all = start_change(out);
    const Buffer buffer = take_page(out);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    const Page page = all.add(buffer, GENERIC_XLOG_FULL_IMAGE);
    init_page(page, page_kind::leaf, 0, out.state.id);
    pack_leaf(page, leaf);
    if (out.state.last_leaf != InvalidBlockNumber) {
        check_block(out.index, out.state.last_leaf, RelationGetNumberOfBlocks(out.index));
        const Page before = all.add(out.state.last_leaf);
        if (!is_kind(before, page_kind::leaf) || trailer_of(before).id != out.state.id ||
            trailer_of(before).next != InvalidBlockNumber)
            fail_damaged(out.index, out.state.last_leaf, "The last leaf of a merge is missing.");
        trailer_of(before).next = block;
    } else {
        out.first_leaf = block;
    }
    if (!out.leaves_only) {
        const Page parent = all.add(out.state.open[0]);
        append_child(parent, key, block);
        for (int at = 0; at < leaf.count; at++)
            add_to_filter(parent, leaf.keys[at]);
    }
    out.state.last_leaf = block;
    out.state.entries += static_cast<std::uint64_t>(leaf.count);
    finish(all, true);
}

namespace {

// Merges chains, few enough to have a page of each in memory.
void merge_some(tree_writer& out, std::span<const BlockNumber> chains)
{
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh merge", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    growing<leaf_chain> parts;
    parts.start(chains.size());
    for (const BlockNumber first : chains)
        parts.add({out.state.id, first, 0});
    entry_stream stream = make_stream(out.index, {parts.at, parts.count}, out.spare);
    leaf_entries& leaf = *static_cast<leaf_entries*>(palloc(sizeof(leaf_entries)));
    for (read_leafful(stream, leaf); leaf.count > 0; read_leafful(stream, leaf)) {
        vacuum_delay();
        append_leaf(out, leaf);
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
}

} // namespace

void merge_chains(Relation index, std::span<const BlockNumber> chains, std::uint64_t id, new_pages* supply, run& made)
{
    const std::size_t most =
        std::max<std::size_t>(2, static_cast<std::size_t>(vacuum_memory()) * 1024 / sizeof(entry_stream::source));
    growing<BlockNumber> spare;
    spare.start(2 * chains.size());
    growing<BlockNumber> left;
    left.start(chains.size());
    for (const BlockNumber first : chains)
        left.add(first);
    while (left.count > most) {
        std::size_t count = 0;
        for (std::size_t first = 0; first < left.count; first += most) {
            tree_writer out =
                {index, start_merge(id), made.record_pages, nullptr, supply, &spare, true, InvalidBlockNumber};
            merge_some(out, {left.at + first, std::min(most, left.count - first)});
            left.at[count++] = out.first_leaf;
        }
        left.count = count;
    }
    tree_writer out = {index, start_merge(id), made.record_pages, nullptr, supply, &spare, false, InvalidBlockNumber};
    merge_some(out, {left.at, left.count});
    end_tree(out.state, made);
    while (spare.count > 0)
        free_page(index, read_page(index, spare.at[--spare.count], BUFFER_LOCK_EXCLUSIVE));
}

void end_tree(const merge& state, run& made)
{
    made.id = state.id;
    made.height = state.height;
    made.root = state.height > 0 ? state.open[state.height - 1] : InvalidBlockNumber;
}

} // namespace minhash::pg::index
