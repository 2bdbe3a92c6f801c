#include "pg/index/nodes.h"
#include "pg/index/tree_writer.h"

#include <algorithm>

extern "C" {
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

namespace {

// Completes changes of the tree's pages, which nobody else can reach: also writes the state of the merge to the meta
// page, and logs all changes in one WAL record. If `with_leaf`, also writes the position of the next entry in each run.
void finish(const tree_writer& out, page_changes& all, bool with_leaf)
{
    meta& stored = meta_of(all.lock(meta_block));
    merge* const mine = find_by_id(merges_of(stored), out.state.id);
    Assert(mine != nullptr);
    *mine = out.state;
    const entry_stream::source* from = out.stream->sources;
    for (run& one : runs_of(stored)) {
        if (!with_leaf || one.into != out.state.id)
            continue;
        Assert(one.id == from->rest.id);
        one.cursor_leaf = from->rest.leaf;
        one.cursor_entry = from->rest.entry;
        from++;
    }
    Assert(!with_leaf || from == out.stream->sources + out.stream->source_count);
    all.finish();
}

// How many children the last page of a level has. Sets `first_key` to the first key below that page.
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
    const bool is_root = level > height; // the root is full, or there is none yet
    if (!is_root) {
        if (children_of(out, level, first_key) < room)
            return;
        make_room(out, level + 1, key);
    } else if (height > 0) {
        Assert(level == height + 1);
        if (height == most_levels)
            fail_damaged(out.index, out.state.open[height - 1], "A run has too many pages.");
        children_of(out, height, first_key);
    }
    page_changes all(out.index);
    const Buffer buffer = new_page(out.index, nullptr);
    const Page page = all.add(buffer, GENERIC_XLOG_FULL_IMAGE);
    init_inner(page, out.state.id, level, room);
    if (!is_root)
        append_child(all.lock(out.state.open[level]), key, BufferGetBlockNumber(buffer));
    else if (height++ > 0)
        append_child(page, first_key, out.state.open[level - 2]);
    out.state.open[level - 1] = BufferGetBlockNumber(buffer);
    finish(out, all, false);
}

} // namespace

void append_leaf(tree_writer& out, const leaf_entries& leaf)
{
    const std::uint64_t key = leaf.least_key();
    make_room(out, 1, key);
    page_changes all(out.index);
    const Buffer buffer = new_page(out.index, nullptr);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    const Page page = all.add(buffer, GENERIC_XLOG_FULL_IMAGE);
    init_page(page, page_kind::leaf, 0, out.state.id);
    pack_leaf(page, leaf);
    if (out.state.last_leaf != InvalidBlockNumber) {
        check_block(out.index, out.state.last_leaf, RelationGetNumberOfBlocks(out.index));
        const Page before = all.lock(out.state.last_leaf);
        if (!is_kind(before, page_kind::leaf) || trailer_of(before).id != out.state.id ||
            trailer_of(before).next != InvalidBlockNumber)
            fail_damaged(out.index, out.state.last_leaf, "The last leaf of a merge is missing.");
        trailer_of(before).next = block;
    }
    const Page parent = all.lock(out.state.open[0]);
    append_child(parent, key, block);
    for (int at = 0; at < leaf.count; at++)
        add_to_filter(parent, leaf.keys[at]);
    out.state.last_leaf = block;
    out.state.entries += static_cast<std::uint64_t>(leaf.count);
    finish(out, all, true);
}

} // namespace minhash::pg::index
