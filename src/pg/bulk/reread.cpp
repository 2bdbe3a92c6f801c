#include "pg/bulk/reread.h"

#include <algorithm>

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

// A place has the block of a row, its number there, and above them, from 1 on, which table it is
// of.
constexpr int number_bits = 16;
constexpr int table_shift = 48;

// The scan of a table that makes the rows of a plan, or null. What other access methods than heap
// make of a row's place is not known.
const ScanState* scan_of(const PlanState* plan)
{
    if (!IsA(plan, SeqScanState) && !IsA(plan, IndexScanState) && !IsA(plan, BitmapHeapScanState))
        return nullptr;
    const auto* const scan = reinterpret_cast<const ScanState*>(plan);
    return TTS_IS_BUFFERTUPLE(scan->ss_ScanTupleSlot) ? scan : nullptr;
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

// Stores a row in the slot, if its block is where it was. The row was visible when it was scanned,
// so it is still visible under the same snapshot, and stays where it is while the buffer is pinned.
bool fetch_recent(scanned_table& from, BlockNumber block, OffsetNumber number)
{
    if (block >= from.blocks || !BufferIsValid(from.buffers[block]))
        return false;
    const Buffer buffer = from.buffers[block];
    if (!pin_recent(from.table, block, buffer))
        return false;
    HeapTupleData& row = reinterpret_cast<BufferHeapTupleTableSlot*>(from.slot)->base.tupdata;
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(buffer);
    const ItemId item = PageGetItemId(page, number);
    const bool there = number <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(item);
    if (there) {
        ItemPointerSet(&row.t_self, block, number);
        row.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        row.t_len = ItemIdGetLength(item);
        row.t_tableOid = RelationGetRelid(from.table);
    }
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    if (there)
        ExecStorePinnedBufferHeapTuple(&row, from.slot, buffer);
    else
        ReleaseBuffer(buffer);
    return there;
}

} // namespace

void start_rereading(rereading& self, const QueryDesc& query, int column)
{
    self.scanned = nullptr;
    const ScanState* const scan = scan_of(query.planstate);
    if (scan == nullptr)
        return;
    const AttrNumber read = table_column(scan->ps.plan, column);
    if (read == 0)
        return;
    // Held open, so that nothing can empty it in this session either.
    const Relation table = table_open(RelationGetRelid(scan->ss_currentRelation), NoLock);
    const MemoryContext former = MemoryContextSwitchTo(self.memory);
    scanned_table& from = self.tables[self.count++];
    from = {table, read, table_slot_create(table, nullptr), nullptr, 0};
    start_buffers(from);
    MemoryContextSwitchTo(former);
    self.scanned = scan->ss_ScanTupleSlot;
}

std::uint64_t place_of(rereading& self, Datum value)
{
    const void* const stored = DatumGetPointer(value);
    if (self.scanned == nullptr || VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored))
        return 0;
    const ItemPointerData& row = self.scanned->tts_tid;
    const scanned_table& from = self.tables[self.count - 1];
    const BlockNumber block = ItemPointerGetBlockNumber(&row);
    if (block < from.blocks)
        from.buffers[block] = reinterpret_cast<BufferHeapTupleTableSlot*>(self.scanned)->buffer;
    return static_cast<std::uint64_t>(self.count) << table_shift |
           std::uint64_t{block} << number_bits | ItemPointerGetOffsetNumber(&row);
}

Datum read_again(rereading& self, std::uint64_t place)
{
    scanned_table& from = self.tables[(place >> table_shift) - 1];
    const auto block = static_cast<BlockNumber>(place >> number_bits);
    const auto number = static_cast<OffsetNumber>(place);
    ItemPointerData row;
    ItemPointerSet(&row, block, number);
    if (!fetch_recent(from, block, number) &&
        !table_tuple_fetch_row_version(from.table, &row, GetActiveSnapshot(), from.slot))
        elog(ERROR,
             "could not read row (%u,%u) of table \"%s\" again",
             block,
             number,
             RelationGetRelationName(from.table));
    bool null;
    return slot_getattr(from.slot, from.column, &null);
}

void end_rereading(rereading& self)
{
    for (int i = 0; i < self.count; i++) {
        ExecDropSingleTupleTableSlot(self.tables[i].slot);
        pfree(self.tables[i].buffers);
        table_close(self.tables[i].table, NoLock);
    }
    self.count = 0;
}

} // namespace minhash::pg
