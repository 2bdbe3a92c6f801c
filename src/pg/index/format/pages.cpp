#include "pg/index/format/pages.h"

#include <algorithm>

extern "C" {
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

// The buffers in which this session last read pages. Lookups read some pages again and again, such as the meta page,
// roots and the tail. What is remembered is only a hint: PostgreSQL checks whether the buffer still has the page. Of
// 300,000 signatures in memory, this makes a lookup at 0.8 take 12 µs instead of 13, and a comparison with all records
// 9 ms instead of 11: without hints, a tenth to a fifth of the time is spent in the buffer manager's hash table.
struct known_buffer {
    Oid file;
    BlockNumber block;
    Buffer buffer;
    std::uint32_t uses;
};

constexpr std::size_t known_buffer_count = 4096;
known_buffer known_buffers[known_buffer_count];

// The usage count of a buffer does not rise if a page is found by its hint. So the most-used pages would be evicted
// early. To prevent this, every `uses_that_count`th use of a hint calls ReadBuffer(), which raises the count.
constexpr std::uint32_t uses_that_count = 16;

known_buffer& known_buffer_of(Oid file, BlockNumber block)
{
    return known_buffers[(file * 31 + block) % known_buffer_count];
}

// Pins a page if it is still in the buffer where this session last found it. If that buffer is not known, tries the
// buffer after the one that has the previous block, because blocks that were read one after the other are often in
// neighbouring buffers. Returns InvalidBuffer if the page was not found, or if this use must call ReadBuffer().
Buffer recall_page(Relation index, Oid file, BlockNumber block, known_buffer& recalled)
{
    if (recalled.buffer != InvalidBuffer && recalled.file == file && recalled.block == block)
        return ++recalled.uses % uses_that_count != 0 && pin_recent(index, block, recalled.buffer) ? recalled.buffer
                                                                                                   : InvalidBuffer;
    const known_buffer& before = known_buffer_of(file, block - 1);
    const Buffer guess = before.buffer + 1;
    return before.file == file && before.block == block - 1 && before.buffer != InvalidBuffer && guess <= NBuffers &&
                   pin_recent(index, block, guess)
               ? guess
               : InvalidBuffer;
}

// The maximum number of pages to try in the search for a free one. It is small, because other processes may be waiting
// for a page that the caller has locked.
constexpr int most_recalls = 16;

// Takes a page from the free space map. The map is not logged, and after a crash it may name pages that are in use. So
// this function looks at the page itself to see whether it is free.
Buffer take_free_page(Relation index, BufferAccessStrategy strategy)
{
    for (int look = 0; look < most_recalls; look++) {
        const BlockNumber block = GetFreeIndexPage(index);
        if (block == InvalidBlockNumber)
            break;
        const Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
        if (ConditionalLockBuffer(buffer)) {
            if (is_free(BufferGetPage(buffer)))
                return buffer;
            LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
        }
        ReleaseBuffer(buffer);
    }
    return InvalidBuffer;
}

// A build extends the file by at most this many pages at once, and by at most the file's length divided by
// `left_share`, so that few pages are left over. Pages that are needed at once are always added.
constexpr BlockNumber most_at_once = 1024;
constexpr BlockNumber left_share = 64;

Buffer take_page(Relation index, new_pages& supply)
{
    const BlockNumber block = pg_atomic_fetch_add_u32(&supply.next, 1);
    if (block >= pg_atomic_read_u32(&supply.end)) {
        LockRelationForExtension(index, ExclusiveLock);
        const BlockNumber end = pg_atomic_read_u32(&supply.end);
        if (block >= end) {
            const BlockNumber more = std::clamp<BlockNumber>(end / left_share, 1, most_at_once);
            const BlockNumber pages = std::max(more, block - end + 1);
            extend_file(index, end, pages);
            pg_atomic_write_u32(&supply.end, end + pages);
        }
        UnlockRelationForExtension(index, ExclusiveLock);
    }
    return ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, nullptr);
}

// True if every merge has runs, the runs of each merge are neighbours, the meta page lists the merge of every run that
// is being merged, and the list of dead trees has space for the runs of all merges.
bool have_runs(const meta& value)
{
    std::uint32_t seen = 0; // a bit for each merge
    std::uint32_t parts = 0;
    std::uint64_t before = 0;
    for (const run& one : runs_of(value)) {
        if (one.into != 0) {
            parts++;
            if (one.into != before) {
                const merge* const mine = find_by_id(merges_of(value), one.into);
                if (mine == nullptr || (seen >> (mine - value.merges) & 1) != 0)
                    return false;
                seen |= 1u << (mine - value.merges);
            }
        }
        before = one.into;
    }
    return seen == (1u << value.merge_count) - 1 && parts + value.dead_tree_count <= most_dead_trees;
}

bool are_trees_possible(const meta& value)
{
    // Whether a tree's id has been assigned already, and whether its height is possible.
    const auto is_possible = [&](const auto& tree) {
        return tree.id != 0 && tree.id < value.next_id && tree.height <= most_levels;
    };
    return std::ranges::all_of(dead_trees_of(value), is_possible) && std::ranges::all_of(runs_of(value), is_possible) &&
           std::ranges::all_of(merges_of(value), is_possible) &&
           std::ranges::all_of(runs_of(value), [](const run& one) { return one.record_pages > 0; }) &&
           std::ranges::all_of(merges_of(value), [](const merge& one) {
               const bool empty = one.last_leaf == InvalidBlockNumber;
               return empty == (one.entries == 0) && (empty || one.height > 0);
           });
}

layout make_layout(const minhash::scheme& scheme, banding banding, int scope_bytes)
{
    Assert(banding.bands > 0 && banding.rows > 0 && banding.bands * banding.rows <= scheme.num_hashes);
    layout made = {};
    made.scheme = scheme;
    made.banding = banding;
    made.scope_bytes = scope_bytes;
    set_record_size(made, (scheme.num_hashes + 1) / 2 * 2);
    while (1 << made.ordinal_bits < made.records_per_page)
        made.ordinal_bits++;
    Assert(made.records_per_page > 0);
    return made;
}

} // namespace

void fail_damaged(Relation index, BlockNumber block, const char* what)
{
    ereport(ERROR,
            errcode(ERRCODE_INDEX_CORRUPTED),
            errmsg("index \"%s\" is damaged at block %u", RelationGetRelationName(index), block),
            errdetail("%s", what),
            errhint("Rebuild it with REINDEX INDEX."));
}

Buffer pin_page(Relation index, BlockNumber block, BufferAccessStrategy strategy)
{
    // The buffer manager would treat this block number as a request for a new page.
    if (block == InvalidBlockNumber)
        fail_damaged(index, block, "A page leads nowhere.");
    if (strategy != nullptr || RelationUsesLocalBuffers(index))
        return ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
    const Oid file = file_of(index);
    known_buffer& recalled = known_buffer_of(file, block);
    const Buffer known = recall_page(index, file, block, recalled);
    const Buffer buffer = known != InvalidBuffer ? known : ReadBuffer(index, block);
    if (recalled.buffer != buffer || recalled.block != block || recalled.file != file || known == InvalidBuffer)
        recalled = {file, block, buffer, 0};
    return buffer;
}

Buffer read_page(Relation index, BlockNumber block, lock_mode mode, BufferAccessStrategy strategy)
{
    Assert(mode == BUFFER_LOCK_SHARE || mode == BUFFER_LOCK_EXCLUSIVE);
    const Buffer buffer = pin_page(index, block, strategy);
    LockBuffer(buffer, mode);
    return buffer;
}

bool is_kind(Page page, page_kind kind)
{
    const auto& header = *reinterpret_cast<PageHeader>(page);
    return header.pd_special == trailer_offset && header.pd_upper == trailer_offset && trailer_of(page).kind == kind;
}

BufferAccessStrategy ring_for(Relation index, std::uint64_t pages)
{
    const bool has_many = pages > static_cast<std::uint64_t>(NBuffers) / 4 && !RelationUsesLocalBuffers(index);
    return has_many ? GetAccessStrategy(BAS_BULKREAD) : nullptr;
}

bool is_free(Page page) { return PageIsNew(page) || is_kind(page, page_kind::free); }

BlockNumber count_blocks(Relation index)
{
    // A session that extends the index locks the new page before it releases this lock. So each new page that is
    // counted here has been locked by the session that added it.
    LockRelationForExtension(index, ExclusiveLock);
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    UnlockRelationForExtension(index, ExclusiveLock);
    return blocks;
}

void free_left_pages(Relation index, new_pages& supply)
{
    const BlockNumber first = pg_atomic_read_u32(&supply.next);
    const BlockNumber end = pg_atomic_read_u32(&supply.end);
    for (BlockNumber block = first; block < end; block++)
        RecordFreeIndexPage(index, block);
    if (first < end)
        IndexFreeSpaceMapVacuum(index);
}

Buffer new_page(Relation index, new_pages* supply, BufferAccessStrategy strategy)
{
    if (supply != nullptr)
        return take_page(index, *supply);
    const Buffer free = take_free_page(index, strategy);
    if (free != InvalidBuffer)
        return free;
    // Lock the page before others can see it, so that VACUUM never finds it empty.
    LockRelationForExtension(index, ExclusiveLock);
    const Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, P_NEW, RBM_NORMAL, strategy);
    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
    UnlockRelationForExtension(index, ExclusiveLock);
    Assert(may_change(buffer) && PageIsNew(BufferGetPage(buffer)));
    return buffer;
}

void init_page(Page page, page_kind kind, int level, std::uint64_t id)
{
    Assert(level >= 0 && level <= most_levels);
    Assert((level > 0) == (kind == page_kind::inner) || (kind == page_kind::records && level == bare_level));
    PageInit(page, BLCKSZ, sizeof(page_trailer));
    trailer_of(page) = {id, InvalidBlockNumber, kind, static_cast<std::uint16_t>(level)};
}

void free_page(Relation index, Buffer buffer)
{
    const BlockNumber block = BufferGetBlockNumber(buffer);
    Assert(may_change(buffer) && block != meta_block);
    page_changes all(index);
    // A complete image, because a build may not have logged this page before.
    init_page(all.add(buffer, GENERIC_XLOG_FULL_IMAGE), page_kind::free, 0, 0);
    all.finish();
    RecordFreeIndexPage(index, block);
}

// START_CRIT_SECTION() uses ++ on a volatile variable, which C++20 deprecates.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile"

void finish_page(Relation index, Buffer buffer, logging when)
{
    Assert(may_change(buffer) && used_bytes(BufferGetPage(buffer)) <= page_room);
    START_CRIT_SECTION();
    MarkBufferDirty(buffer);
    if (when == logging::always || (when == logging::if_needed && RelationNeedsWAL(index)))
        log_newpage_buffer(buffer, true);
    END_CRIT_SECTION();
    UnlockReleaseBuffer(buffer);
}

#pragma GCC diagnostic pop

int records_on(Relation index, Buffer buffer, const layout& layout)
{
    const Page page = BufferGetPage(buffer);
    if (layout.banding.bands == 0 && !is_bare(page))
        return 0;
    const index::layout mine = layout_on(page, layout);
    const int bytes = used_bytes(page);
    if (bytes < 0 || bytes > mine.records_per_page * mine.record_bytes || bytes % mine.record_bytes != 0)
        fail_damaged(index, BufferGetBlockNumber(buffer), "A page of records does not hold a whole number of them.");
    return bytes / mine.record_bytes;
}

void read_meta(Relation index, meta& copy, bool whole)
{
    const Buffer buffer = read_page(index, meta_block, BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(buffer);
    const meta& stored = meta_of(page);
    if (!is_kind(page, page_kind::meta) || stored.magic != format_magic)
        fail_damaged(index, meta_block, "The first page is not that of an lsh index.");
    if (stored.version != format_version)
        ereport(ERROR,
                errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("index \"%s\" has format version %u, which this version of minhash_lsh does not read",
                       RelationGetRelationName(index),
                       stored.version),
                errdetail("It reads format version %u.", format_version),
                errhint("Rebuild the index with REINDEX INDEX."));
    if (used_bytes(page) != sizeof(meta) || stored.run_count > most_runs || stored.tail_pages == 0 ||
        stored.merge_count > most_merges || stored.dead_tree_count > most_dead_trees || !have_runs(stored) ||
        !are_trees_possible(stored))
        fail_damaged(index, meta_block, "The list of runs makes no sense.");
    const std::size_t bytes = whole ? sizeof(meta) : offsetof(meta, runs) + stored.run_count * sizeof(run);
    memcpy(static_cast<void*>(&copy), &stored, bytes);
    UnlockReleaseBuffer(buffer);
}

void set_scheme(meta& value, const scheme& scheme, banding banding)
{
    if (value.bands != 0)
        return;
    encode_header(scheme, value.scheme);
    value.bands = static_cast<std::uint16_t>(banding.bands);
    value.rows = static_cast<std::uint16_t>(banding.rows);
}

layout layout_of(Relation index, const meta& value)
{
    static const std::uint8_t none[header_bytes] = {};
    if (value.scope_bytes != 0 && value.scope_bytes != scope_hash_bytes)
        fail_damaged(index, meta_block, "The scheme of its signatures makes no sense.");
    if (memcmp(value.scheme, none, header_bytes) == 0) {
        layout bare = {};
        bare.scope_bytes = static_cast<int>(value.scope_bytes);
        return bare_layout(bare);
    }
    signature empty;
    alignas(8) std::uint8_t header[header_bytes];
    memcpy(header, value.scheme, header_bytes);
    if (decode(header, empty) != status::ok || value.bands == 0 || value.rows == 0 || value.rows > max_rows ||
        value.bands * value.rows > empty.scheme.num_hashes)
        fail_damaged(index, meta_block, "The scheme of its signatures makes no sense.");
    return make_layout(empty.scheme, {value.bands, value.rows}, static_cast<int>(value.scope_bytes));
}

} // namespace minhash::pg::index
