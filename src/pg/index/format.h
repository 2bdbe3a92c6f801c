// The pages of an index USING lsh, as they are stored. Whoever changes anything here changes
// format_version, and keeps reading what was written before.
//
// A row of the table has one record in the index: a copy of its signature, compressed to 8 bits a
// slot (core/compress.h), and the row's TID. Records are appended and at most marked dead. A run
// makes some of them searchable: a tree of entries (band, first bits of the band's slots, number of
// the record), which never changes. Records that are not in a run yet, the tail, are compared one
// by one. Runs can be made again from records at any time: a run says nothing that records do not.
//
//     meta ──► run 0: root ──► inner ──► leaf ──► leaf ...     first ──► records ──► records ...
//          ├─► run 1: root ──► leaf                            first ──► records
//          ├─► tail:                                           first ──► records ──► (open)
//          ├─► merge: the tree that runs are being merged into, as far as it is written
//          └─► dead tree: of a run that was merged, as far as it is not freed yet
//
// The promise: every later version of minhash_lsh reads indexes of format version 4. An index of a
// version that it does not know is refused at the first statement (check_meta).
//
// All is in standard pages of BLCKSZ bytes with a trailer (the special space) of 16:
//
//     0         24                                            BLCKSZ - 16              BLCKSZ
//     header    contents, up to pd_lower                      id 8, next 4, kind 2, level 2
//
//     meta      block 0: what all records share, the runs, the tail (struct meta)
//     records   records without gaps: num_hashes bytes (rounded up to even), hash of the scope 4
//               (if the index has one, see columns.h), TID 6.
//               id: a number of its own. next: the next page of the run or the tail; none: the
//               open page, to which insertion goes
//               Before the trailer, a bit for each record: whether it was seen to be of a dead
//               row. It may get lost, and is not logged
//     leaf      node_head, count keys of key_width bits, count numbers of number_width bits, one
//               after the other, the first in the lowest bits; both are offsets from the least of
//               the page. id: the run. next: the next leaf
//     inner     node_head, count keys of 8 bytes (the first of each page below) in room for
//               head.room, count blocks of 4 in as much room. id: the run. Without a key: about to
//               be freed. Where head.room is filtered_room, there follows for each page below,
//               which is a leaf, a filter of its keys (see inner_pages.h)
//     free      nothing; it is used again
//
// The id is what makes reading without locks safe: ids are never used twice, so a page that is of
// another run, or a page of records younger than the reader's copy of the meta page, has been freed
// and used again, and the reader starts again from the meta page.
#pragma once

#include "pg/arguments.h"

#include <optional>

extern "C" {
#include "storage/bufpage.h"
#include "storage/itemptr.h"
}

namespace minhash::pg::index {

constexpr std::uint32_t format_magic = 0x58534C4D;
constexpr std::uint32_t format_version = 4;
constexpr BlockNumber meta_block = 0;

// Values are stored.
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
    std::uint16_t level; // of inner pages: those above leaves have 1
};

constexpr int contents_offset = MAXALIGN(SizeOfPageHeaderData);
constexpr int trailer_offset = BLCKSZ - static_cast<int>(sizeof(page_trailer));
constexpr int page_room = trailer_offset - contents_offset;

constexpr int most_levels = 8;

// A run. Its pages of records are `first` and those that follow by `next`, record_pages of them;
// what follows the last is of no meaning.
struct run {
    std::uint64_t id;
    std::uint64_t records; // that were alive when their entries were written
    std::uint64_t into;    // the merge that it is part of; 0: none
    BlockNumber root;      // none: no record was alive
    std::uint32_t height;  // levels of inner pages
    BlockNumber first;
    BlockNumber last;
    std::uint32_t record_pages;
    BlockNumber
        cursor_leaf; // of a merge, the leaf of the entry that comes next; none: none is left
    std::uint32_t cursor_entry;
    std::uint32_t spare;
};

// Neighbouring runs that are being merged: the tree of their entries, as far as it is written.
struct merge {
    std::uint64_t id;              // of the run that it will be
    std::uint64_t entries;         // that are written
    BlockNumber last_leaf;         // none: nothing is written
    std::uint32_t height;          // levels of inner pages
    BlockNumber open[most_levels]; // the last page of each, from level 1 on
};

// The tree of a run that was merged, as far as it is not freed.
struct dead_tree {
    std::uint64_t id;
    BlockNumber root;
    std::uint32_t height;
};

constexpr std::uint32_t most_runs = 64;
constexpr std::uint32_t most_merges = 8;
constexpr std::uint32_t most_dead_trees = 2 * most_runs;

struct meta {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint8_t scheme[header_bytes]; // zeros before the first signature
    std::uint16_t bands;               // as is this
    std::uint16_t rows;
    std::uint32_t run_count;
    std::uint64_t next_id;   // of a run or a page of records
    std::uint64_t unswept;   // 0: every page is used or free; or the id of the work that left some
    std::uint64_t rewritten; // 0, or the run that VACUUM is writing again without dead records
    std::uint32_t merge_count;
    std::uint32_t dead_tree_count;
    BlockNumber tail_first;    // pages of records that are of no run
    BlockNumber tail_last;     // the open one
    std::uint32_t tail_pages;  // with the open one
    std::uint32_t scope_bytes; // of a record: 0 or 4
    double threshold;          // of an exclusion constraint; see threshold_of()
    std::uint32_t
        null_rows; // 1: the table may have rows whose signature is NULL; they have no record
    std::uint32_t unused;
    run runs[most_runs]; // oldest first
    merge merges[most_merges];
    dead_tree dead_trees[most_dead_trees];
};

// What starts leaf and inner pages.
struct node_head {
    std::uint64_t key_base;
    std::uint64_t number_base;
    std::uint16_t count;
    std::uint8_t key_width;
    std::uint8_t number_width;
    std::uint32_t room; // of an inner page, for so many children
};

constexpr int node_room = page_room - static_cast<int>(sizeof(node_head));
constexpr int inner_width = sizeof(std::uint64_t) + sizeof(BlockNumber);
constexpr int inner_room = node_room / inner_width;
constexpr int filtered_room = 12;
constexpr int filter_words = (node_room / filtered_room - inner_width) / 8;
constexpr std::uint32_t filtered_pages = 8192; // of records, of the largest runs with filters

static_assert(sizeof(page_trailer) == 16 && sizeof(node_head) == 24 && sizeof(run) == 56);
static_assert(sizeof(merge) == 56 && sizeof(dead_tree) == 16);
static_assert(sizeof(meta) <= page_room && offsetof(meta, next_id) == 32);

// The TID of a record that is dead has offset 0. That of an empty set, which nothing finds, has
// this bit; no table's offsets are so large.
constexpr OffsetNumber empty_set = 0x8000;

// What follows from the scheme of an index.
struct layout {
    minhash::scheme scheme;
    std::uint8_t header[header_bytes];
    banding shape; // bands 0: not known yet, there are no records
    int scope_bytes;
    int tid_offset;
    int record_bytes;
    int records_per_page;
    int place_bits; // a record's number is its block, and this many bits for its place there
};

inline page_trailer& trailer_of(Page page)
{
    return *reinterpret_cast<page_trailer*>(page + trailer_offset);
}

inline char* contents_of(Page page)
{
    return page + contents_offset;
}

inline meta& meta_of(Page page)
{
    return *reinterpret_cast<meta*>(contents_of(page));
}

inline node_head& head_of(Page page)
{
    return *reinterpret_cast<node_head*>(contents_of(page));
}

constexpr double no_threshold = -1; // is stored without a constraint

inline std::optional<double> threshold_of(const meta& value)
{
    return value.threshold == no_threshold ? std::nullopt : std::optional(value.threshold);
}

inline std::span<run> runs_of(meta& value)
{
    return {value.runs, value.run_count};
}

inline std::span<merge> merges_of(meta& value)
{
    return {value.merges, value.merge_count};
}

inline std::span<dead_tree> dead_trees_of(meta& value)
{
    return {value.dead_trees, value.dead_tree_count};
}

inline int used_bytes(Page page)
{
    return reinterpret_cast<PageHeader>(page)->pd_lower - contents_offset;
}

inline void set_used_bytes(Page page, int bytes)
{
    reinterpret_cast<PageHeader>(page)->pd_lower =
        static_cast<LocationIndex>(contents_offset + bytes);
}

inline std::uint8_t* record_at(Page page, const layout& shape, int place)
{
    return reinterpret_cast<std::uint8_t*>(contents_of(page)) + place * shape.record_bytes;
}

inline ItemPointerData tid_of(const std::uint8_t* record, const layout& shape)
{
    ItemPointerData tid;
    memcpy(&tid, record + shape.tid_offset, sizeof(tid));
    return tid;
}

inline void set_tid(std::uint8_t* record, const layout& shape, const ItemPointerData& tid)
{
    memcpy(record + shape.tid_offset, &tid, sizeof(tid));
}

// The hash of a record's scope; 0 without one.
inline std::uint32_t scope_of(const std::uint8_t* record, const layout& shape)
{
    std::uint32_t hash = 0;
    memcpy(&hash,
           record + shape.tid_offset - shape.scope_bytes,
           static_cast<std::size_t>(shape.scope_bytes));
    return hash;
}

// Whether a record was seen to be of a row that is dead for everybody. The bits lie in what
// PostgreSQL takes for free space: it keeps no copy of that in the log, and a change that is logged
// zeroes it.
inline std::uint8_t& killed_bits(Page page, int place)
{
    return reinterpret_cast<std::uint8_t*>(page)[trailer_offset - 1 - place / 8];
}

inline bool is_killed(Page page, const layout& shape, int place)
{
    Assert(place < shape.records_per_page);
    return (killed_bits(page, place) >> place % 8 & 1) != 0;
}

inline bool is_dead(const ItemPointerData& tid)
{
    return tid.ip_posid == 0;
}

// Whether a living record's TID, without `empty_set`, can be that of a row. PostgreSQL takes the
// block that cannot be for a wish for a new page of the table.
inline bool is_possible(const ItemPointerData& tid)
{
    return ItemPointerGetBlockNumberNoCheck(&tid) != InvalidBlockNumber &&
           tid.ip_posid <= MaxOffsetNumber;
}

inline bool is_empty_set(const ItemPointerData& tid)
{
    return (tid.ip_posid & empty_set) != 0;
}

} // namespace minhash::pg::index
