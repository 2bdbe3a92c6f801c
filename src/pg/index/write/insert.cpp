// Insertion: one record is appended to the open page.
#include "pg/index/am.h"
#include "pg/index/format/columns.h"
#include "pg/index/format/records.h"
#include "pg/index/options.h"
#include "pg/index/write/merge.h"

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

// What a session caches about an index, in rd_amcache. Other sessions may open another page at any time. So an
// insertion locks the page `open`, and then checks whether that page is still the open page.
struct insert_cache {
    index::layout layout;
    index::columns columns;
    BlockNumber open;
};

insert_cache& cache_of(Relation index)
{
    if (index->rd_amcache == nullptr) {
        auto* const made = static_cast<insert_cache*>(MemoryContextAllocZero(index->rd_indexcxt, sizeof(insert_cache)));
        made->columns = columns_of(index);
        index->rd_amcache = made;
    }
    return *static_cast<insert_cache*>(index->rd_amcache);
}

// Sets the cache from the meta page. Returns the meta page's next_id.
std::uint64_t refresh(Relation index, insert_cache& cache)
{
    meta current;
    read_meta(index, current);
    cache.layout = layout_of(index, current);
    cache.open = current.tail_last;
    check_block(index, cache.open, RelationGetNumberOfBlocks(index));
    return current.next_id;
}

// Locks the open page. Before this session locks the page cache.open, another session may close that page and open
// another one, which changes next_id. If the page is not open although next_id has not changed, the index is damaged.
Buffer lock_open_page(Relation index, insert_cache& cache)
{
    for (std::uint64_t before = 0;;) {
        const Buffer buffer = read_page(index, cache.open, BUFFER_LOCK_EXCLUSIVE);
        const Page page = BufferGetPage(buffer);
        if (is_kind(page, page_kind::records) && trailer_of(page).next == InvalidBlockNumber)
            return buffer;
        UnlockReleaseBuffer(buffer);
        CHECK_FOR_INTERRUPTS();
        const std::uint64_t now = refresh(index, cache);
        if (now == before)
            fail_damaged(index, cache.open, "The last page of records is not open.");
        before = now;
    }
}

void append_record(Relation index, const layout& layout, Buffer buffer, const std::uint8_t* record)
{
    page_changes all(index);
    const Page page = all.add(buffer);
    const int used = used_bytes(page);
    Assert(is_bare(page) == (layout.tid_offset == layout.scope_bytes));
    Assert(may_change(buffer) && used % layout.record_bytes == 0);
    Assert(used < layout.records_per_page * layout.record_bytes);
    memcpy(contents_of(page) + used, record, static_cast<std::size_t>(layout.record_bytes));
    set_used_bytes(page, used + layout.record_bytes);
    all.finish();
}

// Whether another record can be appended to the open page. Pages that were begun before the first signature hold only
// records of that time.
bool has_room(Relation index, Buffer buffer, const layout& layout)
{
    return is_bare(BufferGetPage(buffer)) == (layout.banding.bands == 0) &&
           records_on(index, buffer, layout) < layout.records_per_page;
}

// Puts the record on a new page, which becomes the open page. Returns whether merge_a_little() has work to do.
bool link_new_page(Relation index, insert_cache& cache, Buffer full, const std::uint8_t* record)
{
    const Buffer next = new_page(index, nullptr);
    page_changes all(index);
    meta& stored = all.lock_meta();
    Assert(may_change(full) && stored.tail_last == BufferGetBlockNumber(full));
    const Page page = all.add(next, GENERIC_XLOG_FULL_IMAGE);
    init_page(page, page_kind::records, cache.layout.banding.bands == 0 ? bare_level : 0, stored.next_id++);
    memcpy(record_at(page, cache.layout, 0), record, static_cast<std::size_t>(cache.layout.record_bytes));
    set_used_bytes(page, cache.layout.record_bytes);
    stored.tail_last = cache.open = BufferGetBlockNumber(next);
    stored.tail_pages++;
    const bool work = cache.layout.banding.bands > 0 && has_work(stored, cache.layout);
    trailer_of(all.add(full)).next = cache.open;
    all.finish();
    return work;
}

void insert_row(Relation index, const Datum* values, const bool* nulls, ItemPointerData tid)
{
    const columns columns = cache_of(index).columns;
    const bool null = nulls[columns.signature];
    const signature value = null ? signature{} : indexable_signature(index, values[columns.signature]);
    const std::uint32_t scope = hash_scope(index, columns, values, nulls);
    insert_cache& cache = cache_of(index); // fetching and hashing values can lock relations, which may drop the cache
    if (cache.layout.banding.bands == 0)
        refresh(index, cache);
    if (cache.layout.banding.bands == 0 && !null) {
        // Unless another session is faster, this signature determines the scheme of the index.
        const banding banding = banding_for(index, value.scheme);
        change_meta(index, [&](meta& stored) { set_scheme(stored, value.scheme, banding); });
        refresh(index, cache);
    }
    if (!null)
        check_scheme(index, cache.layout, value);
    Buffer buffer = lock_open_page(index, cache);
    while (cache.layout.banding.bands == 0 && !is_bare(BufferGetPage(buffer)) &&
           used_bytes(BufferGetPage(buffer)) > 0) {
        // Another session has inserted the first signature since this session read the meta page.
        UnlockReleaseBuffer(buffer);
        refresh(index, cache);
        buffer = lock_open_page(index, cache);
    }
    alignas(8) std::uint8_t record[most_record_bytes + 1];
    make_record(cache.layout, null ? nullptr : &value, scope, tid, record);
    if (!has_room(index, buffer, cache.layout)) {
        if (link_new_page(index, cache, buffer, record))
            merge_a_little(index);
        return;
    }
    append_record(index, cache.layout, buffer, record);
}

} // namespace

bool insert(Relation index,
            Datum* values,
            bool* nulls,
            ItemPointer tid,
            Relation heap,
            IndexUniqueCheck unique,
            bool unchanged,
            IndexInfo* info)
{
    // A statement of many rows calls this in a memory context that lives until its end.
    const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lsh insert", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(context);
    insert_row(index, values, nulls, *tid);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return false;
}

} // namespace minhash::pg::index
