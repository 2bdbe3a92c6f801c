// The pages above leaves.
//
// In a small run, the pages just above the leaves have few children and, for each child, a filter of its keys: so a
// lookup reads only leaves that probably have the key. Most runs are small and have no entries for it. (Filters: Bloom,
// "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970; both bits in one word: Putze, Sanders, Singler,
// "Cache-, Hash- and Space-Efficient Bloom Filters", 2007. With four bits a key, one in six absent keys passes.)
#pragma once

#include "pg/index/pages.h"

namespace minhash::pg::index {

// How many children a page of this level has room for, in a run of `record_pages` pages of records.
inline int children_room(std::uint32_t record_pages, std::uint32_t level)
{
    return level == 1 && record_pages <= filtered_pages ? filtered_room : inner_room;
}

// An inner page whose counts have been checked.
struct inner_view {
    const node_head* head;
    const std::uint64_t* keys;
    const BlockNumber* blocks;

    int count() const
    {
        return head->count;
    }

    bool has_filters() const
    {
        return head->room == filtered_room;
    }

    // Whether a child with a filter may have entries with the key.
    bool may_have(int child, std::uint64_t key) const;
};

// Whether the page is an inner page of the run; an ERROR if it is one, but damaged. A page that is about to be freed
// has no child.
bool view_inner(Relation index, Buffer buffer, std::uint64_t run_id, std::uint32_t level, inner_view& view);
inner_view inner_view_of(Page page); // of a page that has been checked

// Makes an inner page without children, as a copy or in place.
void init_inner(Page page, std::uint64_t run_id, std::uint32_t level, int room);

// Adds a child; there must be room.
void append_child(Page page, std::uint64_t first_key, BlockNumber block);

// Adds a key of the child that was added last to its filter, if the page has filters.
void add_to_filter(Page page, std::uint64_t key);

} // namespace minhash::pg::index
