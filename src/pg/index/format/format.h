// The pages of an index USING lsh, as they are stored. Anyone who changes the format must also increase format_version,
// and must keep older indexes readable.
//
// Each row has one record in the index: a copy of the row's signature, compressed to 8 bits per slot
// (core/compress.h), and the row's TID. Records are appended, and never change, except that they are marked dead. A run
// has a tree of entries (band, first bits of the band's slots, number of the record), which makes some of the records
// searchable. If the index has a scope (columns.h), the tree also has an entry for each record under the hash of its
// scope alone; such entries follow those of all bands, as if they were of one more band. The tree never changes. The
// records that are in no run yet are the tail; searches compare them one by one. Trees hold no information of their
// own, so they can be rebuilt from the records at any time.
//
// A row whose signature is NULL or an empty set has a record without slots, which has no entries of bands. Rows with
// NULL may come before the first signature, when nobody knows yet how many slots records will have. The records of
// these rows are on pages of their own, bare pages, and have no room for slots. They have no entries at all; a search
// reads the first pages of a run, as many as the run's bare_pages, one by one. VACUUM makes no runs before the first
// signature. When it rewrites a run, bare records get room for slots.
//
//     meta ──► run 0: root ──► inner ──► leaf ──► leaf ...     first ──► records ──► records ...
//          ├─► run 1: root ──► leaf                            first ──► records
//          ├─► tail:                                           first ──► records ──► (open)
//          ├─► merge: the new tree of runs that are being merged, as far as it has been written
//          └─► dead tree: the old tree of a run that has been replaced, as far as it has not been freed
//
// The promise: every later version of minhash_lsh reads indexes of format version 5. An index of an unknown version is
// refused by the first statement that reads it (read_meta).
//
// All pages are standard pages of BLCKSZ bytes with a trailer (the special space) of 16:
//
//     0         24                                            BLCKSZ - 16              BLCKSZ
//     header    contents, up to pd_lower                      id 8, next 4, kind 2, level 2
//
//     meta      block 0: what all records have in common, runs, the tail (struct meta)
//     records   records without gaps: num_hashes bytes (rounded up to even; none if level is
//               bare_level), hash of the scope 4 (if the index has a scope, see columns.h), TID 6.
//               id: the page's own. next: the next page of the run or the tail; none: this is
//               the open page, to which insertions append.
//               Just before the trailer, a bit for each record: whether a scan found the record's
//               row dead. These bits are not logged and may get lost
//     leaf      node_head, `count` keys of key_width bits each, then `count` record numbers of
//               number_width bits each, packed without gaps, the first in the lowest bits. Keys
//               are stored as differences from key_base, and numbers as differences from number_base.
//               id: the run's. next: the next leaf
//     inner     node_head, an array of head.room keys of 8 bytes (the first key of each page
//               below), an array of head.room block numbers of 4. Each array has `count` elements in
//               use. id: the run's. A page without keys is about to be freed. If head.room is
//               filtered_room, the pages below are leaves, and a filter of each leaf's keys follows
//               (see nodes.h)
//     free      nothing; the page can be used again
//
// Readers need not lock runs, because no id is used twice. After a reader has copied the meta page, pages may be freed
// and reused. The reader notices this when it meets a free page, a page with another run's id, or a page of records
// whose id is not below the next_id of the copied meta page. Then the reader starts again from the meta page.
#pragma once

#include "pg/arguments.h"

extern "C" {
#include "storage/bufpage.h"
#include "storage/itemptr.h"
}

namespace minhash::pg::index {

constexpr std::uint32_t format_magic = 0x58534C4D;
constexpr std::uint32_t format_version = 5;
constexpr BlockNumber meta_block = 0;

// These values are stored on disk.
enum class page_kind : std::uint16_t {
    meta = 1,
    records = 2,
    leaf = 3,
    inner = 4,
    free = 5,
};

struct page_trailer {
    std::uint64_t id;
    BlockNumber next;
    page_kind kind;
    std::uint16_t level; // the level of an inner page: 1 just above the leaves. Of a page of records: 0 or bare_level
};

constexpr int bare_level = 1;

constexpr int contents_offset = MAXALIGN(SizeOfPageHeaderData);
constexpr int trailer_offset = BLCKSZ - static_cast<int>(sizeof(page_trailer));
constexpr int page_room = trailer_offset - contents_offset;

constexpr int most_levels = 8;

// A run. Its pages of records are a chain of `record_pages` pages, which starts at `first` and follows the trailers'
// `next`. The `next` of the last page means nothing.
struct run {
    std::uint64_t id;
    std::uint64_t records; // how many records have entries
    std::uint64_t into;    // the id of the merge that this run is part of; 0: none
    BlockNumber root;      // none: no record has entries
    std::uint32_t height;  // levels of inner pages
    BlockNumber first;
    BlockNumber last;
    std::uint32_t record_pages;
    BlockNumber cursor_leaf; // in a merge: the leaf with the next entry to be read; none: all entries have been read
    std::uint32_t cursor_entry;
    std::uint32_t bare_pages; // all bare pages are among this many pages at the start of the chain
};

// A merge of neighbouring runs, and how much of its new tree has been written.
struct merge {
    std::uint64_t id;              // the id that the merged run will have
    std::uint64_t entries;         // how many entries have been written
    BlockNumber last_leaf;         // none: nothing has been written. Its `next` means nothing if more leaves follow
    std::uint32_t height;          // levels of inner pages
    BlockNumber open[most_levels]; // the last page of each level, from level 1 on
};

// The old tree of a run that has been merged or rewritten, as far as it has not been freed yet.
struct dead_tree {
    std::uint64_t id;
    BlockNumber root;
    std::uint32_t height;
};

constexpr std::uint32_t most_runs = 64;
constexpr std::uint32_t most_merges = 8;
constexpr std::uint32_t most_dead_trees = 2 * most_runs;

constexpr double no_threshold = -1;

struct meta {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint8_t scheme[header_bytes]; // zeros before the first signature
    std::uint16_t bands;               // 0 before the first signature
    std::uint16_t rows;
    std::uint32_t run_count;
    std::uint64_t next_id;   // the id that the next run or page of records gets
    std::uint64_t unswept;   // 0: no pages are lost; otherwise the id of the new run whose writer may have lost pages
    std::uint64_t rewritten; // 0, or the id of the run that VACUUM is rewriting to leave out dead records
    std::uint32_t merge_count;
    std::uint32_t dead_tree_count;
    BlockNumber tail_first;    // the first page of the tail
    BlockNumber tail_last;     // the last page of the tail, which is the open page
    std::uint32_t tail_pages;  // the number of pages of the tail, including the open page
    std::uint32_t scope_bytes; // bytes of the scope's hash in a record: 0 or 4
    double threshold;          // the threshold of an exclusion constraint, or no_threshold
    std::uint64_t dead;        // how many records were dead when VACUUM last counted them
    run runs[most_runs];       // oldest first
    merge merges[most_merges];
    dead_tree dead_trees[most_dead_trees];
};

// How many pages of records the runs and the tail have.
inline std::uint64_t record_pages_of(const meta& value)
{
    std::uint64_t pages = value.tail_pages;
    for (std::uint32_t at = 0; at < value.run_count; at++)
        pages += value.runs[at].record_pages;
    return pages;
}

// The start of leaf and inner pages.
struct node_head {
    std::uint64_t key_base;
    std::uint64_t number_base;
    std::uint16_t count;
    std::uint8_t key_width;
    std::uint8_t number_width;
    std::uint32_t room; // how many children fit on an inner page
};

constexpr int node_room = page_room - static_cast<int>(sizeof(node_head));
constexpr int inner_width = sizeof(std::uint64_t) + sizeof(BlockNumber);
constexpr int inner_room = node_room / inner_width;
constexpr int filtered_room = 12;
constexpr int filter_words = (node_room / filtered_room - inner_width) / 8;
constexpr std::uint32_t filtered_pages = 8192; // runs with more pages of records have no filters

static_assert(sizeof(page_trailer) == 16 && sizeof(node_head) == 24 && sizeof(run) == 56);
static_assert(sizeof(merge) == 56 && sizeof(dead_tree) == 16);
static_assert(sizeof(meta) <= page_room && offsetof(meta, next_id) == 32);

// The TID of a dead record has the offset 0. If a record is without slots, because the row's signature is an empty set
// or NULL, the offset of its TID has one of these bits set; no table has offsets that large.
constexpr OffsetNumber empty_set = 0x8000;
constexpr OffsetNumber null_signature = 0x4000;
constexpr OffsetNumber without_slots = empty_set | null_signature;
static_assert(MaxOffsetNumber < null_signature);

constexpr int scope_hash_bytes = sizeof(std::uint32_t);

// The bits of a band's slots in a key, and how many rows a band can have.
constexpr int key_bits = 40;
constexpr int max_rows = 10;

// How an index stores its records. All members follow from its meta page (layout_of).
struct layout {
    minhash::scheme scheme;
    minhash::banding banding; // bands 0: not known yet, all records are bare
    int scope_bytes;
    int tid_offset;
    int record_bytes;
    int records_per_page;
    int ordinal_bits; // a record's number is its block, then this many bits for its ordinal on that page
};

inline page_trailer& trailer_of(Page page) { return *reinterpret_cast<page_trailer*>(page + trailer_offset); }

inline char* contents_of(Page page) { return page + contents_offset; }

inline meta& meta_of(Page page) { return *reinterpret_cast<meta*>(contents_of(page)); }

inline node_head& head_of(Page page) { return *reinterpret_cast<node_head*>(contents_of(page)); }

template <typename Meta>
auto runs_of(Meta& value)
{
    return std::span(value.runs, value.run_count);
}

template <typename Meta>
auto merges_of(Meta& value)
{
    return std::span(value.merges, value.merge_count);
}

template <typename Meta>
auto dead_trees_of(Meta& value)
{
    return std::span(value.dead_trees, value.dead_tree_count);
}

// The run, merge or dead tree with this id, or null.
template <typename Tree>
Tree* find_by_id(std::span<Tree> all, std::uint64_t id)
{
    for (Tree& one : all)
        if (one.id == id)
            return &one;
    return nullptr;
}

// Whether this page of records is bare.
inline bool is_bare(Page page) { return trailer_of(page).level == bare_level; }

inline void set_record_size(layout& value, int slot_bytes)
{
    value.tid_offset = slot_bytes + value.scope_bytes;
    value.record_bytes = value.tid_offset + static_cast<int>(sizeof(ItemPointerData));
    value.records_per_page = page_room * 8 / (value.record_bytes * 8 + 1); // one more bit for each record: is_killed()
}

inline layout bare_layout(layout value)
{
    set_record_size(value, 0);
    return value;
}

// The layout of the records on this page.
inline layout layout_on(Page page, const layout& layout) { return is_bare(page) ? bare_layout(layout) : layout; }

// How many lists of entries the tree of a run has: one for each band, and one for scopes.
inline int lists_of(const layout& layout) { return layout.banding.bands + (layout.scope_bytes > 0 ? 1 : 0); }

inline int used_bytes(Page page) { return reinterpret_cast<PageHeader>(page)->pd_lower - contents_offset; }

inline void set_used_bytes(Page page, int bytes)
{
    reinterpret_cast<PageHeader>(page)->pd_lower = static_cast<LocationIndex>(contents_offset + bytes);
}

inline std::uint8_t* record_at(Page page, const layout& layout, int ordinal)
{
    return reinterpret_cast<std::uint8_t*>(contents_of(page)) + ordinal * layout.record_bytes;
}

// The number of a record: its block, and its ordinal on that page.
inline std::uint64_t number_of(const layout& layout, BlockNumber block, int ordinal)
{
    return std::uint64_t{block} << layout.ordinal_bits | static_cast<std::uint64_t>(ordinal);
}

inline ItemPointerData tid_of(const std::uint8_t* record, const layout& layout)
{
    ItemPointerData tid;
    memcpy(&tid, record + layout.tid_offset, sizeof(tid));
    return tid;
}

inline void set_tid(std::uint8_t* record, const layout& layout, const ItemPointerData& tid)
{
    memcpy(record + layout.tid_offset, &tid, sizeof(tid));
}

// The hash of a record's scope; 0 if the index has no scope.
inline std::uint32_t scope_of(const std::uint8_t* record, const layout& layout)
{
    std::uint32_t hash = 0;
    memcpy(&hash, record + layout.tid_offset - layout.scope_bytes, static_cast<std::size_t>(layout.scope_bytes));
    return hash;
}

// The byte with the bit that says whether a scan found the record's row dead to all transactions. These bits lie in
// what PostgreSQL regards as the page's free space. Full-page images leave that space out, and each logged change sets
// it to zero.
inline std::uint8_t& killed_bits(Page page, int ordinal)
{
    return reinterpret_cast<std::uint8_t*>(page)[trailer_offset - 1 - ordinal / 8];
}

inline bool is_killed(Page page, const layout& layout, int ordinal)
{
    Assert(ordinal < layout.records_per_page);
    return (killed_bits(page, ordinal) >> ordinal % 8 & 1) != 0;
}

inline bool is_dead(const ItemPointerData& tid) { return tid.ip_posid == 0; }

// The TID of the row, from the TID of its record.
inline ItemPointerData row_of(ItemPointerData tid)
{
    tid.ip_posid &= static_cast<OffsetNumber>(~without_slots);
    return tid;
}

// Whether a live record's TID, made by row_of(), can be the TID of a row. (PostgreSQL would treat
// InvalidBlockNumber as a request for a new page of the table.)
inline bool is_possible(const ItemPointerData& tid)
{
    return ItemPointerGetBlockNumberNoCheck(&tid) != InvalidBlockNumber && tid.ip_posid <= MaxOffsetNumber;
}

inline bool is_null(const ItemPointerData& tid) { return (tid.ip_posid & null_signature) != 0; }

inline bool has_slots(const ItemPointerData& tid) { return (tid.ip_posid & without_slots) == 0; }

} // namespace minhash::pg::index
