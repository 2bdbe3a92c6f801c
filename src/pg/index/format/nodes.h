// The pages of a tree: leaves, and the pages above them.
//
// In a small run, each page just above the leaves has few children, and a filter of each child's keys. So a lookup
// reads only leaves that probably have the key. This helps because most runs are small and do not have the key.
// (Filters: Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970. Here, both bits of a key are in
// one word: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007. With four bits per key, a
// filter passes one in six of the keys that its leaf does not have.)
#pragma once

#include "pg/index/format/pages.h"

#include <algorithm>
#include <bit>

namespace minhash::pg::index {

// get_bits() reads a number that is `width` bits wide; `width` may be up to most_width. The function loads 8 bytes, so
// it may also load some of the data that follows on the page.
constexpr int most_width = 57;

inline std::uint64_t get_bits(const char* from, std::uint32_t bit, std::uint32_t width)
{
    std::uint64_t word;
    memcpy(&word, from + bit / 8, sizeof(word));
    return word >> bit % 8 & ((std::uint64_t{1} << width) - 1);
}

// A leaf page whose counts and widths have been checked.
struct leaf_view {
    const node_head* head;
    const char* entries;

    std::uint64_t key(int at) const
    {
        const std::uint32_t width = head->key_width;
        return head->key_base + get_bits(entries, static_cast<std::uint32_t>(at) * width, width);
    }

    std::uint64_t number(int at) const
    {
        const std::uint32_t width = head->number_width;
        const std::uint32_t keys = std::uint32_t{head->count} * head->key_width;
        return head->number_base + get_bits(entries, keys + static_cast<std::uint32_t>(at) * width, width);
    }

    // Copies the numbers of `count` entries. (This is faster than number(), because a store into `to` might change what
    // `head` points to.)
    void copy_numbers(int from, int count, std::uint64_t* to) const
    {
        const std::uint64_t base = head->number_base;
        const std::uint32_t width = head->number_width;
        const char* const first = entries;
        std::uint32_t bit = std::uint32_t{head->count} * head->key_width + static_cast<std::uint32_t>(from) * width;
        for (int at = 0; at < count; at++, bit += width)
            to[at] = base + get_bits(first, bit, width);
    }

    // The first entry whose key is not less than `least`.
    int lower_bound(std::uint64_t least) const
    {
        int first = 0;
        for (int count = head->count; count > 0;) {
            const int half = count / 2;
            if (key(first + half) < least) {
                first += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        return first;
    }
};

// Sets `view`, and returns true, if the page is a leaf of the run. An ERROR if the leaf is damaged.
bool view_leaf(Relation index, Buffer buffer, std::uint64_t run_id, leaf_view& view);

// The entries of one leaf. They are collected in ascending or in descending key order, until no more fit, and then
// packed.
struct leaf_entries {
    int count;
    int key_width;
    int number_width;
    std::uint64_t least_number;
    std::uint64_t most_number;

    // The maximum number of entries of a leaf, even if its page has space for more.
    static constexpr int most = node_room / 2;
    std::uint64_t keys[most];
    std::uint64_t numbers[most];

    std::uint64_t least_key() const { return keys[0] < keys[count - 1] ? keys[0] : keys[count - 1]; }
};

// Adds an entry. Returns false if there is no room for it.
inline bool add_entry(leaf_entries& leaf, std::uint64_t key, std::uint64_t number)
{
    if (leaf.count == 0) {
        leaf.key_width = leaf.number_width = 1;
        leaf.least_number = leaf.most_number = number;
    } else {
        const std::uint64_t least = number < leaf.least_number ? number : leaf.least_number;
        const std::uint64_t most = number > leaf.most_number ? number : leaf.most_number;
        const std::uint64_t first = leaf.keys[0];
        const int key_width = std::bit_width((key < first ? first - key : key - first) | 1);
        const int number_width = std::bit_width((most - least) | 1);
        if (leaf.count == leaf_entries::most || (leaf.count + 1) * (key_width + number_width) > node_room * 8)
            return false;
        leaf.key_width = key_width;
        leaf.number_width = number_width;
        leaf.least_number = least;
        leaf.most_number = most;
    }
    leaf.keys[leaf.count] = key;
    leaf.numbers[leaf.count++] = number;
    return true;
}

// Writes the entries to an initialised page. There must be at least one.
void pack_leaf(Page page, const leaf_entries& leaf);

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

    int count() const { return head->count; }

    bool has_filters() const { return head->room == filtered_room; }

    // Whether the filter of a child says that the child may have entries with the key. The page must have filters.
    bool may_have(int child, std::uint64_t key) const;
};

// Sets `view`, and returns true, if the page is an inner page of the run. An ERROR if the page is damaged, or if it is
// on another level. A page that is about to be freed has no children.
bool view_inner(Relation index, Buffer buffer, std::uint64_t run_id, std::uint32_t level, inner_view& view);
inner_view inner_view_of(Page page); // the page must have been checked

// Initialises an inner page without children; the page may be a private copy, or in a buffer.
void init_inner(Page page, std::uint64_t run_id, std::uint32_t level, int room);

// Adds a child. The page must have room for it.
void append_child(Page page, std::uint64_t first_key, BlockNumber block);

// Enters a key in the filter of the last child, if the page has filters.
void add_to_filter(Page page, std::uint64_t key);

} // namespace minhash::pg::index
