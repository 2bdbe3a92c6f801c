#include "pg/bulk/reread.h"

#include "bulk/host.h"

#include <algorithm>

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "mb/pg_wchar.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
}

namespace minhash::pg {

namespace {

// What a place says: where in its row the value starts, the number of the row in its block, the
// block, and of which table it is, from 1 on. Above is bulk::for_workers.
constexpr int offset_bits = 15;
constexpr int number_bits = 13;
constexpr int table_shift = offset_bits + number_bits + 32;
static_assert(BLCKSZ <= 1 << offset_bits && MaxHeapTuplesPerPage < 1 << number_bits);
static_assert(bulk::for_workers >> table_shift == 4);

std::uint64_t make_place(int table, const ItemPointerData& row, std::size_t offset)
{
    Assert((table == 1 || table == 2) && ItemPointerIsValid(&row) && offset < BLCKSZ);
    const std::uint64_t above =
        static_cast<std::uint64_t>(table) << 32 | ItemPointerGetBlockNumber(&row);
    return (above << number_bits | ItemPointerGetOffsetNumber(&row)) << offset_bits | offset;
}

// The table and the block.
std::uint64_t page_of(std::uint64_t place)
{
    return place >> (offset_bits + number_bits);
}

int table_of(std::uint64_t place)
{
    return static_cast<int>(place >> table_shift & 3) - 1;
}

BlockNumber block_of(std::uint64_t place)
{
    return static_cast<BlockNumber>(page_of(place));
}

OffsetNumber number_of(std::uint64_t place)
{
    return static_cast<OffsetNumber>(place >> offset_bits & ((1 << number_bits) - 1));
}

// The scan of a table that makes the rows of a plan, or null. How other access methods than heap
// store a row is not known.
const ScanState* scan_of(const PlanState* plan)
{
    if (!IsA(plan, SeqScanState) && !IsA(plan, IndexScanState) && !IsA(plan, BitmapHeapScanState))
        return nullptr;
    const auto* const scan = reinterpret_cast<const ScanState*>(plan);
    return TTS_IS_BUFFERTUPLE(scan->ss_ScanTupleSlot) &&
                   scan->ss_currentRelation->rd_tableam == GetHeapamTableAmRoutine()
               ? scan
               : nullptr;
}

// The column of the table that a plan returns as one of its own; 0 if it is none.
AttrNumber table_column(const Plan* plan, int column)
{
    const auto* const target =
        static_cast<const TargetEntry*>(list_nth(plan->targetlist, column - 1));
    const Expr* value = target->expr;
    while (IsA(value, RelabelType)) // another name for the same bytes
        value = reinterpret_cast<const RelabelType*>(value)->arg;
    if (!IsA(value, Var))
        return 0;
    const Var* const from = reinterpret_cast<const Var*>(value);
    const bool of_table =
        static_cast<Index>(from->varno) == reinterpret_cast<const Scan*>(plan)->scanrelid;
    return of_table && from->varattno > 0 ? from->varattno : 0;
}

// Room for the buffers of a table's blocks: looking for a block's buffer by PostgreSQL's table of
// all takes longer than the rest of reading a row again.
void start_buffers(scanned_table& of)
{
    constexpr BlockNumber most = 4 * 1024 * 1024; // 32 GB
    of.blocks = std::min(most, RelationGetNumberOfBlocks(of.table));
    of.buffers = static_cast<Buffer*>(palloc0(of.blocks * sizeof(Buffer)));
}

// Takes over a pin. What lies on the page stays there from now on; who is moving it has locked it.
void keep_pinned(pinned_page& page, Buffer buffer, std::uint64_t of)
{
    unpin(page);
    page = {buffer, of};
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

// Whether a value as it is stored in a row, neither compressed nor elsewhere, lies within some
// bytes.
bool is_whole(const char* value, std::size_t bytes)
{
    if (bytes < VARHDRSZ_SHORT || VARATT_IS_EXTERNAL(value))
        return false;
    if (VARATT_IS_SHORT(value))
        return VARSIZE_SHORT(value) <= bytes;
    return bytes >= VARHDRSZ && VARATT_IS_4B_U(value) && VARSIZE(value) >= VARHDRSZ &&
           VARSIZE(value) <= bytes;
}

// The value of a place of the pinned page. The row was visible when it was scanned, so it is still
// there.
Datum value_in(const pinned_page& page, std::uint64_t place)
{
    const OffsetNumber number = number_of(place);
    const std::size_t offset = place & ((1 << offset_bits) - 1);
    const Page in = BufferGetPage(page.buffer);
    const ItemId item = PageGetItemId(in, number);
    if (number <= PageGetMaxOffsetNumber(in) && ItemIdIsNormal(item)) {
        char* const value = reinterpret_cast<char*>(PageGetItem(in, item)) + offset;
        const std::size_t bytes = ItemIdGetLength(item);
        if (offset < bytes && is_whole(value, bytes - offset))
            return PointerGetDatum(value);
    }
    elog(ERROR, "could not read row (%u,%u) again", block_of(place), number);
}

// Whether workers can read values of a table: they have no database, by which to convert texts, and
// cannot see what is in this process's memory.
bool can_workers_read(const RelationData* table)
{
    const int encoding = GetDatabaseEncoding();
    return table->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
           (encoding == PG_UTF8 || encoding == PG_SQL_ASCII);
}

} // namespace

void unpin(pinned_page& page)
{
    if (BufferIsValid(page.buffer))
        ReleaseBuffer(page.buffer);
    page = {};
}

void start_rereading(rereading& self, const QueryDesc& query, int column)
{
    self.scanned = nullptr;
    const ScanState* const scan = scan_of(query.planstate);
    if (scan == nullptr || may_remove_visible_rows())
        return;
    const AttrNumber read = table_column(scan->ps.plan, column);
    if (read == 0)
        return;
    // Held open, so that nothing can empty it in this session either.
    const Relation table = table_open(RelationGetRelid(scan->ss_currentRelation), NoLock);
    const MemoryContext former = MemoryContextSwitchTo(self.memory);
    Assert(self.count < static_cast<int>(lengthof(self.tables)));
    scanned_table& from = self.tables[self.count++];
    from = {table, can_workers_read(table), nullptr, 0};
    start_buffers(from);
    MemoryContextSwitchTo(former);
    self.scanned = scan->ss_ScanTupleSlot;
}

std::uint64_t place_of_value(rereading& self, Datum value)
{
    const char* const stored = reinterpret_cast<const char*>(DatumGetPointer(value));
    if (self.scanned == nullptr || VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored))
        return 0;
    const auto& slot = *reinterpret_cast<const BufferHeapTupleTableSlot*>(self.scanned);
    const char* const row = reinterpret_cast<const char*>(slot.base.tuple->t_data);
    // Not in the row is what a column has that was added later.
    if (!BufferIsValid(slot.buffer) || stored < row || stored >= row + slot.base.tuple->t_len)
        return 0;
    const ItemPointerData& at = self.scanned->tts_tid;
    const scanned_table& from = self.tables[self.count - 1];
    const BlockNumber block = ItemPointerGetBlockNumber(&at);
    if (block < from.blocks)
        from.buffers[block] = slot.buffer;
    return make_place(self.count, at, static_cast<std::size_t>(stored - row)) |
           (from.for_workers ? bulk::for_workers : 0);
}

Datum read_again(rereading& self, std::uint64_t place)
{
    const std::uint64_t page = page_of(place);
    if (!BufferIsValid(self.page.buffer) || self.page.of != page) {
        Assert(table_of(place) >= 0 && table_of(place) < self.count);
        const scanned_table& from = self.tables[table_of(place)];
        const BlockNumber block = block_of(place);
        Buffer buffer = block < from.blocks ? from.buffers[block] : InvalidBuffer;
        if (!BufferIsValid(buffer) || !pin_recent(from.table, block, buffer))
            buffer = ReadBuffer(from.table, block);
        keep_pinned(self.page, buffer, page);
    }
    return value_in(self.page, place);
}

void read_ahead(const rereading& self, std::uint64_t place, int step)
{
    const scanned_table& from = self.tables[table_of(place)];
    const BlockNumber block = block_of(place);
    if (block >= from.blocks || from.buffers[block] <= 0)
        return;
    // The buffer may have another block by now, and is not locked: then the wrong memory of it is
    // fetched, which harms nobody.
    const Page page = BufferGetPage(from.buffers[block]);
    const ItemId item = PageGetItemId(page, number_of(place));
    if (step == 0) {
        __builtin_prefetch(page);
        __builtin_prefetch(item);
        return;
    }
    constexpr std::size_t fetched = 1024;
    for (std::size_t at = 0; at < fetched; at += 64)
        __builtin_prefetch(page + (ItemIdGetOffset(item) + at) % BLCKSZ);
}

void end_rereading(rereading& self)
{
    unpin(self.page);
    for (int i = 0; i < self.count; i++) {
        pfree(self.tables[i].buffers);
        table_close(self.tables[i].table, NoLock);
    }
    self.count = 0;
}

Datum read_in_worker(pinned_page& page, const block_file* files, std::uint64_t place)
{
    const std::uint64_t wanted = page_of(place);
    if (!BufferIsValid(page.buffer) || page.of != wanted) {
        const block_file& from = files[table_of(place)];
        keep_pinned(page, read_block(from, block_of(place)), wanted);
    }
    return value_in(page, place);
}

} // namespace minhash::pg
