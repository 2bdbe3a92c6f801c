#include "pg/growing.h"
#include "pg/index/build_part.h"
#include "pg/index/columns.h"
#include "pg/index/options.h"
#include "pg/index/pages.h"
#include "pg/index/records.h"

#include <numeric>

extern "C" {
#include "access/parallel.h"
#include "access/tableam.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::index {

namespace {

struct reader {
    Relation index;
    shared_build* shared;
    columns which;
    layout shape;
    bool has_shape;
    char* page; // records not written yet: holding a page instead would block cancel
    int count;
    MemoryContext for_row;
    bool null_rows; // rows whose signature is NULL were met
};

// Writes the collected records as a page. Only pages of records are appended in this step, so the next page's block is
// known.
void write_page(reader& state)
{
    Assert(state.count > 0 && state.count <= state.shape.records_per_page);
    const Buffer buffer = new_page(state.index, &state.shared->supply);
    const Page page = BufferGetPage(buffer);
    init_page(page, page_kind::records, 0, pg_atomic_fetch_add_u64(&state.shared->next_id, 1));
    trailer_of(page).next = BufferGetBlockNumber(buffer) + 1;
    const int bytes = state.count * state.shape.record_bytes;
    memcpy(contents_of(page), state.page, static_cast<std::size_t>(bytes));
    set_used_bytes(page, bytes);
    finish_page(state.index, buffer);
    const std::uint64_t records = pg_atomic_add_fetch_u64(&state.shared->records, state.count);
    state.count = 0;
    if (!IsParallelWorker())
        pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, static_cast<std::int64_t>(records));
}

// Lets the first signature that any process reads decide the scheme of the index.
void agree_on_scheme(reader& state, const scheme& scheme)
{
    Assert(!state.has_shape);
    std::uint8_t header[header_bytes];
    encode_header(scheme, header);
    SpinLockAcquire(&state.shared->lock);
    if (!state.shared->has_scheme)
        memcpy(state.shared->scheme, header, header_bytes);
    state.shared->has_scheme = true;
    SpinLockRelease(&state.shared->lock);
    state.shape = layout_of(state.index, *state.shared);
    state.has_shape = true;
}

void add_row(Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    reader& state = *static_cast<reader*>(callback_state);
    if (nulls[state.which.signature]) {
        state.null_rows = true;
        return;
    }
    const MemoryContext old = MemoryContextSwitchTo(state.for_row);
    const signature value = indexable_signature(index, values[state.which.signature]);
    if (!state.has_shape)
        agree_on_scheme(state, value.scheme);
    check_scheme(index, state.shape, value);
    make_record(state.shape,
                value,
                hash_scope(index, state.which, values, nulls),
                *tid,
                reinterpret_cast<std::uint8_t*>(state.page) + state.count * state.shape.record_bytes);
    MemoryContextSwitchTo(old);
    MemoryContextReset(state.for_row);
    if (++state.count == state.shape.records_per_page)
        write_page(state);
}

} // namespace

void init_shared_build(shared_build& shared, Relation table, Relation index, bool concurrently)
{
    memset(static_cast<void*>(&shared), 0, sizeof(shared));
    shared.table = RelationGetRelid(table);
    shared.index = RelationGetRelid(index);
    shared.concurrently = concurrently;
    BarrierInit(&shared.phases, 0);
    init_new_pages(shared.supply);
    pg_atomic_init_u64(&shared.next_id, 1);
    pg_atomic_init_u64(&shared.records, 0);
    pg_atomic_init_u32(&shared.bands_left, 0);
    SpinLockInit(&shared.lock);
}

layout layout_of(Relation index, shared_build& shared)
{
    alignas(8) std::uint8_t header[header_bytes];
    SpinLockAcquire(&shared.lock);
    const bool known = shared.has_scheme;
    memcpy(header, shared.scheme, header_bytes);
    SpinLockRelease(&shared.lock);
    signature empty;
    if (!known)
        return {};
    if (decode(header, empty) != status::ok)
        elog(ERROR, "scheme of a new lsh index makes no sense");
    return make_layout(empty.scheme, shape_for(index, empty.scheme), scope_bytes_of(columns_of(index)));
}

void read_rows(Relation table, Relation index, IndexInfo* info, shared_build& shared, ParallelTableScanDescData* scan)
{
    reader state = {};
    state.index = index;
    state.shared = &shared;
    state.which = columns_of(index);
    state.page = static_cast<char*>(palloc(BLCKSZ));
    state.for_row = AllocSetContextCreate(CurrentMemoryContext, "lsh row", ALLOCSET_DEFAULT_SIZES);
    const double rows = table_index_build_scan(table,
                                               index,
                                               info,
                                               true,
                                               !IsParallelWorker(),
                                               add_row,
                                               &state,
                                               scan != nullptr ? begin_parallel_scan(table, scan) : nullptr);
    if (state.count > 0)
        write_page(state);
    MemoryContextDelete(state.for_row);
    SpinLockAcquire(&shared.lock);
    shared.rows += rows;
    shared.broken_hot_chain |= info->ii_BrokenHotChain;
    shared.null_rows |= state.null_rows;
    SpinLockRelease(&shared.lock);
}

void write_leaves(Relation index, shared_build& shared)
{
    Assert(shared.pages > 0 && shared.leaves != nullptr);
    const layout shape = layout_of(index, shared);
    growing<BlockNumber> pages;
    pages.start(shared.pages);
    pages.count = shared.pages;
    std::iota(pages.at, pages.at + pages.count, shared.first);
    write_bands(index, shape, {pages.at, pages.count}, shared.run_id, shared.supply, shared.bands_left, shared.leaves);
    pfree(pages.at);
}

} // namespace minhash::pg::index
