#include "pg/index/dead_trees.h"
#include "pg/index/nodes.h"

#include <algorithm>

extern "C" {
#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
}

namespace minhash::pg::index {

namespace {

// A tree is freed from its last page on, so what is left of it shows how far that has got. A reader with an old copy of
// the meta page meets a page that is gone, and starts again.
struct last_pages {
    BlockNumber parent; // none: the root itself is all that is left
    BlockNumber children[MAX_GENERIC_XLOG_PAGES - 1];
    int count;
};

// The last pages without children, all of one parent.
last_pages find_last_pages(Relation index, const dead_tree& tree)
{
    const BlockNumber end = RelationGetNumberOfBlocks(index);
    last_pages found = {InvalidBlockNumber, {tree.root}, 1};
    BlockNumber block = tree.root;
    for (std::uint32_t level = tree.height; level > 0; level--) {
        check_block(index, block, end);
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE);
        inner_view view;
        if (!view_inner(index, buffer, tree.id, level, view))
            fail_damaged(index, block, "An inner page of a merged run is missing.");
        const int children = view.count();
        if (children > 0) {
            found.parent = block;
            found.count = level > 1 ? 1 : std::min<int>(children, std::size(found.children));
            for (int at = 0; at < found.count; at++)
                found.children[at] = view.blocks[children - 1 - at];
            block = found.children[0];
        }
        UnlockReleaseBuffer(buffer);
        if (children == 0)
            break;
    }
    return found;
}

// Frees these pages. With the root, the tree is removed from the meta page.
void free_last_pages(Relation index, const dead_tree& tree, const last_pages& last)
{
    Buffer buffers[MAX_GENERIC_XLOG_PAGES];
    int count = 0;
    GenericXLogState* const log = GenericXLogStart(index);
    const auto add = [&](BlockNumber block, int flags) {
        buffers[count] = read_page(index, block, BUFFER_LOCK_EXCLUSIVE);
        return GenericXLogRegisterBuffer(log, buffers[count++], flags);
    };
    const BlockNumber end = RelationGetNumberOfBlocks(index);
    for (int at = 0; at < last.count; at++) {
        check_block(index, last.children[at], end);
        const Page page = add(last.children[at], GENERIC_XLOG_FULL_IMAGE); // a short one
        if (trailer_of(page).id != tree.id || !(is_kind(page, page_kind::leaf) || is_kind(page, page_kind::inner)))
            fail_damaged(index, last.children[at], "A page of a merged run is missing.");
        init_page(page, page_kind::free, 0, 0);
    }
    if (last.parent != InvalidBlockNumber) {
        node_head& head = head_of(add(last.parent, 0));
        head.count = static_cast<std::uint16_t>(head.count - last.count);
    } else {
        meta& stored = meta_of(add(meta_block, 0));
        const std::span<dead_tree> all = dead_trees_of(stored);
        const auto mine = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.id == tree.id; });
        Assert(mine != all.end());
        *mine = all.back();
        stored.dead_tree_count--;
    }
    GenericXLogFinish(log);
    while (count > 0)
        UnlockReleaseBuffer(buffers[--count]);
    for (int at = 0; at < last.count; at++) {
        RecordFreeIndexPage(index, last.children[at]);
        FreeSpaceMapVacuumRange(index, last.children[at], last.children[at] + 1);
    }
}

} // namespace

void free_dead_pages(Relation index, const meta& now, int most)
{
    int freed = 0;
    // The latest trees first, which are smaller: no merge begins while many dead trees wait behind a large one.
    for (std::uint32_t at = now.dead_tree_count; at-- > 0;) {
        const dead_tree& tree = now.dead_trees[at];
        bool is_left = true;
        while (is_left) {
            CHECK_FOR_INTERRUPTS();
            if (freed >= most)
                return;
            const last_pages last = find_last_pages(index, tree);
            free_last_pages(index, tree, last);
            freed += last.count;
            is_left = last.parent != InvalidBlockNumber;
        }
    }
}

} // namespace minhash::pg::index
