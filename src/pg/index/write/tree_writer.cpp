#include "pg/index/format/nodes.h"
#include "pg/index/write/tree_writer.h"

#include <algorithm>

extern "C" {
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

namespace {

// A WAL record also has the page above the leaves and the meta page.
constexpr int leaves_of_record = MAX_GENERIC_XLOG_PAGES - 2;

// The leaves of a WAL record. They are static because malloc() would get memory of this size from the operating system
// for each merge, and return it.
leaf_entries leaves[leaves_of_record];

// Completes changes of the tree's pages, which nobody else can reach: also writes the state of the merge to the meta
// page, and logs all changes in one WAL record. If `with_leaf`, also writes the position of the next entry in each run.
void finish(const tree_writer& out, page_changes& all, bool with_leaf)
{
    meta& stored = all.lock_meta();
    merge* const mine = find_by_id(merges_of(stored), out.merge.id);
    Assert(mine != nullptr);
    *mine = out.merge;
    auto from = out.stream->sources.begin();
    for (run& one : runs_of(stored)) {
        if (!with_leaf || one.into != out.merge.id)
            continue;
        Assert(one.id == from->rest.id);
        one.cursor_leaf = from->rest.leaf;
        one.cursor_entry = from->rest.entry;
        from++;
    }
    Assert(!with_leaf || from == out.stream->sources.end());
    all.finish();
}

// How many children the last page of a level has. Sets `first_key` to the first key below that page.
int children_of(const tree_writer& out, std::uint32_t level, std::uint64_t& first_key)
{
    const int room = children_room(out.record_pages, level);
    const BlockNumber block = out.merge.open[level - 1];
    check_block(out.index, block, RelationGetNumberOfBlocks(out.index));
    const Buffer buffer = read_page(out.index, block, BUFFER_LOCK_SHARE);
    inner_view view;
    if (!view_inner(out.index, buffer, out.merge.id, level, view))
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

// Makes sure that the last page of a level has room for a child that begins with this key. Returns for how many
// children it has room.
int make_room(tree_writer& out, std::uint32_t level, std::uint64_t key)
{
    std::uint32_t& height = out.merge.height;
    const int room = children_room(out.record_pages, level);
    std::uint64_t first_key = 0;
    const bool is_root = level > height; // the root is full, or there is none yet
    if (!is_root) {
        const int used = children_of(out, level, first_key);
        if (used < room)
            return room - used;
        make_room(out, level + 1, key);
    } else if (height > 0) {
        Assert(level == height + 1);
        if (height == most_levels)
            fail_damaged(out.index, out.merge.open[height - 1], "A run has too many pages.");
        children_of(out, height, first_key);
    }
    page_changes all(out.index);
    const Buffer buffer = new_page(out.index, nullptr, out.stream->strategy);
    const Page page = all.add(buffer, GENERIC_XLOG_FULL_IMAGE);
    init_inner(page, out.merge.id, level, room);
    if (!is_root)
        append_child(all.lock(out.merge.open[level]), key, BufferGetBlockNumber(buffer));
    else if (height++ > 0)
        append_child(page, first_key, out.merge.open[level - 2]);
    out.merge.open[level - 1] = BufferGetBlockNumber(buffer);
    const int left = room - head_of(page).count;
    finish(out, all, false);
    return left;
}

// Makes the last leaf link to `block`, a locked page on which the next leaf will be written.
void link_last_leaf(const tree_writer& out, BlockNumber block)
{
    const BlockNumber last = out.merge.last_leaf;
    check_block(out.index, last, RelationGetNumberOfBlocks(out.index));
    if (last == block)
        fail_damaged(out.index, last, "The last leaf of a merge is free.");
    page_changes all(out.index);
    const Page page = all.lock(last);
    if (!is_kind(page, page_kind::leaf) || trailer_of(page).id != out.merge.id)
        fail_damaged(out.index, last, "The last leaf of a merge is missing.");
    trailer_of(page).next = block;
    all.finish();
}

// Returns a locked page for the next leaf. The last leaf links to it.
Buffer open_next_leaf(const tree_writer& out)
{
    if (out.next != InvalidBlockNumber) {
        const Buffer buffer = read_page(out.index, out.next, BUFFER_LOCK_EXCLUSIVE, out.stream->strategy);
        if (is_free(BufferGetPage(buffer)))
            return buffer;
        UnlockReleaseBuffer(buffer); // VACUUM has found the page, and an insertion uses it
    }
    const Buffer buffer = new_page(out.index, nullptr, out.stream->strategy);
    if (out.merge.last_leaf != InvalidBlockNumber)
        link_last_leaf(out, BufferGetBlockNumber(buffer));
    return buffer;
}

// Chooses a free page to which a leaf can link before the next leaf is written.
BlockNumber choose_page(const tree_writer& out)
{
    const Buffer buffer = new_page(out.index, nullptr, out.stream->strategy);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    UnlockReleaseBuffer(buffer);
    return block;
}

} // namespace

int append_leaves(tree_writer& out, int most)
{
    Assert(most > 0 && has_entries(*out.stream));
    // All entries are read before any page is locked, so that no damaged link can lead to a page that is locked.
    read_leafful(*out.stream, leaves[0]);
    const int room = std::min({most, leaves_of_record, make_room(out, 1, leaves[0].least_key())});
    int count = 1;
    for (; count < room && has_entries(*out.stream); count++)
        read_leafful(*out.stream, leaves[count]);

    Buffer buffers[leaves_of_record] = {open_next_leaf(out)};
    for (int at = 1; at < count; at++)
        buffers[at] = new_page(out.index, nullptr, out.stream->strategy);
    out.next = count < most && has_entries(*out.stream) ? choose_page(out) : InvalidBlockNumber;
    page_changes all(out.index);
    const Page parent = all.lock(out.merge.open[0]);
    for (int at = 0; at < count; at++) {
        const leaf_entries& leaf = leaves[at];
        const Page page = all.add(buffers[at], GENERIC_XLOG_FULL_IMAGE);
        init_page(page, page_kind::leaf, 0, out.merge.id);
        pack_leaf(page, leaf);
        trailer_of(page).next = at + 1 < count ? BufferGetBlockNumber(buffers[at + 1]) : out.next;
        out.merge.last_leaf = BufferGetBlockNumber(buffers[at]);
        append_child(parent, leaf.least_key(), out.merge.last_leaf);
        for (int entry = 0; entry < leaf.count; entry++)
            add_to_filter(parent, leaf.keys[entry]);
        out.merge.entries += static_cast<std::uint64_t>(leaf.count);
    }
    finish(out, all, true);
    return count;
}

} // namespace minhash::pg::index
