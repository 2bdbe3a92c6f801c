// Reads, makes and logs pages, and checks what is read from them.
#pragma once

#include "pg/index/format/format.h"

extern "C" {
#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
}

namespace minhash::pg::index {

// Raises an ERROR that reports a damaged page.
[[noreturn]] void fail_damaged(Relation index, BlockNumber block, const char* what);

// Modes of page locks, which are an enum from PostgreSQL 19 on.
using lock_mode = decltype(BUFFER_LOCK_SHARE);

// pin_page() pins a page; read_page() also locks the page in this mode. An ERROR if the block number is invalid.
Buffer pin_page(Relation index, BlockNumber block, BufferAccessStrategy strategy = nullptr);
Buffer read_page(Relation index, BlockNumber block, lock_mode mode, BufferAccessStrategy strategy = nullptr);

// Whether a page is initialised and of this kind.
bool is_kind(Page page, page_kind kind);

// Whether a page is new or was freed.
bool is_free(Page page);

// The number of blocks. It is read while no session can extend the index, so each counted block has already been locked
// by the session that added it.
BlockNumber count_blocks(Relation index);

// The supply of new pages for a build. The build's processes take pages in block order, beginning after the meta page.
// The file is extended by many pages at once, so some pages are left over at the end.
struct new_pages {
    pg_atomic_uint32 next;
    pg_atomic_uint32 end; // the end of the file, in blocks
};

// Frees the pages that are left over, for insertions to use.
void free_left_pages(Relation index, new_pages& supply);

// Returns an exclusively locked page for new contents. The page comes from `supply`, the supply of a build. If `supply`
// is null, the page is a free page of the index, or a new page at the end of the index.
Buffer new_page(Relation index, new_pages* supply, BufferAccessStrategy strategy = nullptr);

void init_page(Page page, page_kind kind, int level, std::uint64_t id);

// Frees a page, which is locked exclusively, and releases its buffer.
void free_page(Relation index, Buffer buffer);

// Whether a new page is logged. If the build of an index logs a page more than once, only the last time counts.
enum class logging {
    if_needed, // if the index needs WAL
    always,
    later, // the build will log this page again, or free it
};

// Logs a complete new page, and releases its buffer. Nobody reads the page yet, because nothing points to it, or
// because the index is being built.
void finish_page(Relation index, Buffer buffer, logging when = logging::if_needed);

// The number of records on a page of records; an ERROR if the number is impossible. 0 if `layout` is that of an index
// without signatures, but the page is not bare: the first signature has been inserted since the meta page was read.
int records_on(Relation index, Buffer buffer, const layout& layout);

// An ERROR if a page points to `block`, but the index has only `blocks` blocks.
inline void check_block(Relation index, BlockNumber block, BlockNumber blocks)
{
    if (block >= blocks)
        fail_damaged(index, block, "There is no such block.");
}

// A strategy for reading this many pages of the index: a ring of buffers if they are more than a quarter of all
// buffers, as in PostgreSQL's sequential scans, so that other tables keep theirs; otherwise null.
BufferAccessStrategy ring_for(Relation index, std::uint64_t pages);

// Follows a chain of `pages` pages of records from `first` on. Calls visit(buffer, page, number of records) for each
// page, which is locked in share mode. Returns false if a page of the chain is no longer a page of records, or if its
// id is not below `next_id`. In both cases, pages have been replaced since the meta page was read.
template <typename Visit>
bool each_page(Relation index,
               const layout& layout,
               BlockNumber first,
               std::uint32_t pages,
               std::uint64_t next_id,
               BufferAccessStrategy strategy,
               Visit visit)
{
    const BlockNumber blocks = RelationGetNumberOfBlocks(index);
    if (pages > blocks)
        fail_damaged(index, first, "There are said to be more pages than the index has.");
    BlockNumber block = first;
    for (std::uint32_t at = 0; at < pages; at++) {
        CHECK_FOR_INTERRUPTS();
        check_block(index, block, blocks);
        const Buffer buffer = read_page(index, block, BUFFER_LOCK_SHARE, strategy);
        const Page page = BufferGetPage(buffer);
        const bool valid = is_kind(page, page_kind::records) && trailer_of(page).id < next_id;
        if (valid)
            visit(buffer, page, records_on(index, buffer, layout));
        block = trailer_of(page).next;
        UnlockReleaseBuffer(buffer);
        if (!valid)
            return false;
    }
    return true;
}

// Checks the meta page, and copies all of it if `whole`, otherwise only the part up to the last run.
void read_meta(Relation index, meta& copy, bool whole = false);

// Pages that are changed in one WAL record. If other processes can reach several of these pages, lock them in the order
// that src/README.md names.
struct page_changes {
    Relation index;
    BufferAccessStrategy strategy; // for reading pages to be locked
    GenericXLogState* log;
    Buffer buffers[MAX_GENERIC_XLOG_PAGES];
    int count;

    explicit page_changes(Relation of, BufferAccessStrategy reading = nullptr)
        : index(of), strategy(reading), log(GenericXLogStart(of)), count(0)
    {
    }

    // Adds a page that is locked exclusively. Returns the copy to be changed.
    Page add(Buffer buffer, int flags = 0)
    {
        buffers[count++] = buffer;
        return GenericXLogRegisterBuffer(log, buffer, flags);
    }

    Page lock(BlockNumber block, int flags = 0)
    {
        return add(read_page(index, block, BUFFER_LOCK_EXCLUSIVE, strategy), flags);
    }

    // Every change of the meta page begins here.
    meta& lock_meta() { return meta_of(lock(meta_block)); }

    // Logs the changes, and releases the pages.
    void finish()
    {
        GenericXLogFinish(log);
        while (count > 0)
            UnlockReleaseBuffer(buffers[--count]);
    }
};

// Changes the meta page, in one WAL record.
template <typename Change>
void change_meta(Relation index, Change change)
{
    page_changes all(index);
    change(all.lock_meta());
    all.finish();
}

// Sets the scheme, bands and rows of the index, unless they have been set already.
void set_scheme(meta& value, const scheme& scheme, banding banding);

// The layout that follows from the scheme in the meta page.
layout layout_of(Relation index, const meta& value);

} // namespace minhash::pg::index
