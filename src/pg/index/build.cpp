// CREATE INDEX: the table's rows become pages of records, and these one run (or a few, to keep to
// maintenance_work_mem). Pages are written one after the other and logged at the end.
#include "pg/growing.h"
#include "pg/index/am.h"
#include "pg/index/columns.h"
#include "pg/index/constraint.h"
#include "pg/index/options.h"
#include "pg/index/pages.h"
#include "pg/index/records.h"
#include "pg/index/run_writer.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "access/tableam.h"
#include "access/xloginsert.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/backend_progress.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::lsh {

namespace {

enum phase : std::int64_t {
    reading_table = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1,
    sorting,
    logging,
};

struct builder {
    Relation index;
    columns which;
    layout shape;
    std::uint64_t next_id;
    std::uint64_t records;
    growing<BlockNumber> pages; // that are full
    char* page;                 // what is not written yet; a page that is held would block cancel
    int count;
    MemoryContext for_row;
};

void report(phase now)
{
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, now);
}

// Writes the records that wait. Nobody else extends the index, so the next page's block is known.
void write_page(builder& state)
{
    const Buffer buffer = new_page(state.index, true);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    const Page page = BufferGetPage(buffer);
    init_page(page, page_kind::records, 0, state.next_id++);
    trailer_of(page).next = block + 1;
    const int bytes = state.count * state.shape.record_bytes;
    memcpy(contents_of(page), state.page, static_cast<std::size_t>(bytes));
    set_used_bytes(page, bytes);
    finish_page(state.index, buffer, true);
    state.pages.add(block);
    state.count = 0;
    pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
                                 static_cast<std::int64_t>(state.records));
}

void add_row(
    Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    builder& state = *static_cast<builder*>(callback_state);
    if (nulls[state.which.signature])
        return;
    const MemoryContext old = MemoryContextSwitchTo(state.for_row);
    const signature value = indexable_signature(index, values[state.which.signature]);
    if (state.records == 0)
        state.shape =
            make_layout(value.scheme, shape_for(index, value.scheme), scope_bytes_of(state.which));
    check_scheme(index, state.shape, value);
    make_record(state.shape,
                value,
                hash_scope(index, state.which, values, nulls),
                *tid,
                reinterpret_cast<std::uint8_t*>(state.page) +
                    state.count * state.shape.record_bytes);
    state.records++;
    MemoryContextSwitchTo(old);
    MemoryContextReset(state.for_row);
    if (++state.count == state.shape.records_per_page)
        write_page(state);
}

// The runs of all pages.
void make_runs(builder& state, meta& made)
{
    const std::size_t all = state.pages.count;
    const std::size_t piece = std::max(
        pages_of_a_run(state.shape, maintenance_work_mem),
        std::min((all + most_runs - 1) / most_runs, pages_of_a_run(state.shape, MAX_KILOBYTES)));
    for (std::size_t first = 0; first < all; first += piece) {
        if (made.run_count == most_runs)
            ereport(ERROR,
                    errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("index \"%s\" would have too many rows",
                           RelationGetRelationName(state.index)),
                    errhint("Partition the table."));
        made.runs[made.run_count++] =
            write_run(state.index,
                      state.shape,
                      {state.pages.at + first, std::min(piece, all - first)},
                      state.next_id++,
                      true);
    }
}

// A page without contents yet, at the end of an index that nobody knows.
BlockNumber write_empty_page(Relation index, page_kind kind, std::uint64_t id)
{
    const Buffer buffer = new_page(index, true);
    const BlockNumber block = BufferGetBlockNumber(buffer);
    if (kind == page_kind::meta)
        init_meta(BufferGetPage(buffer),
                  scope_bytes_of(columns_of(index)),
                  constraint_threshold(index));
    else
        init_page(BufferGetPage(buffer), kind, 0, id);
    finish_page(index, buffer, true);
    return block;
}

} // namespace

char* name_phase(int64 now)
{
    switch (now) {
    case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
        return const_cast<char*>("initializing");
    case reading_table:
        return const_cast<char*>("scanning table");
    case sorting:
        return const_cast<char*>("sorting keys");
    case logging:
        return const_cast<char*>("writing WAL");
    }
    return nullptr;
}

IndexBuildResult* build(Relation heap, Relation index, IndexInfo* info)
{
    if (RelationGetNumberOfBlocks(index) != 0)
        elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
    builder state = {};
    state.index = index;
    state.which = columns_of(index);
    state.pages.start(1024);
    state.page = static_cast<char*>(palloc(BLCKSZ));
    state.for_row = AllocSetContextCreate(CurrentMemoryContext, "lsh row", ALLOCSET_DEFAULT_SIZES);
    write_empty_page(index, page_kind::meta, 0);

    meta made = {};
    state.next_id = 1;
    report(reading_table);
    const double read =
        table_index_build_scan(heap, index, info, true, true, add_row, &state, nullptr);
    if (state.count > 0)
        write_page(state);
    const std::uint64_t open_id = state.next_id++;
    const BlockNumber open = write_empty_page(index, page_kind::records, open_id);
    if (state.records > 0) {
        report(sorting);
        make_runs(state, made);
    }

    const Buffer first = read_page(index, meta_block, BUFFER_LOCK_EXCLUSIVE);
    meta& stored = meta_of(BufferGetPage(first));
    stored.next_id = state.next_id;
    stored.tail_first = stored.tail_last = open;
    stored.tail_pages = 1;
    if (state.records > 0) {
        memcpy(stored.scheme, state.shape.header, header_bytes);
        stored.bands = static_cast<std::uint16_t>(state.shape.shape.bands);
        stored.rows = static_cast<std::uint16_t>(state.shape.shape.rows);
    }
    stored.run_count = made.run_count;
    memcpy(static_cast<void*>(stored.runs), made.runs, made.run_count * sizeof(run));
    MarkBufferDirty(first);
    UnlockReleaseBuffer(first);

    report(logging);
    if (RelationNeedsWAL(index))
        log_newpage_range(index, MAIN_FORKNUM, 0, RelationGetNumberOfBlocks(index), true);
    IndexBuildResult* const result =
        static_cast<IndexBuildResult*>(palloc(sizeof(IndexBuildResult)));
    result->heap_tuples = read;
    result->index_tuples = static_cast<double>(state.records);
    return result;
}

// PostgreSQL counts critical sections by ++ of a volatile variable, which C++20 deprecates.
#pragma GCC diagnostic ignored "-Wvolatile"

// The index of an unlogged table after a crash.
void build_empty(Relation index)
{
    const int scope_bytes = scope_bytes_of(columns_of(index));
    const double threshold = constraint_threshold(index);
    for (const page_kind kind : {page_kind::meta, page_kind::records}) {
        const Buffer buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, nullptr);
        LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
        START_CRIT_SECTION();
        if (kind == page_kind::meta)
            init_meta(BufferGetPage(buffer), scope_bytes, threshold);
        else
            init_page(BufferGetPage(buffer), kind, 0, 1);
        MarkBufferDirty(buffer);
        log_newpage_buffer(buffer, true);
        END_CRIT_SECTION();
        UnlockReleaseBuffer(buffer);
    }
}

} // namespace minhash::pg::lsh
