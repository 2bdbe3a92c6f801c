#include "pg/bulk/reread.h"
#include "pg/extension.h"

extern "C" {
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"
}

namespace minhash::pg {

namespace {

// From the lowest bits up, a location consists of the row's number in its block, the number of the block, and the
// number of the table. (Tables are counted from 1.)
constexpr int offset_number_bits = 16;
constexpr int table_shift = offset_number_bits + 32;

// If a plan is just the scan of a table, returns this scan; otherwise null. The table must be a heap: other table
// access methods may be unable to find a row by its TID.
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

Relation table_of(const rereading& self, std::uint64_t location) { return self.tables[(location >> table_shift) - 1]; }

std::uint64_t block_of(std::uint64_t location) { return location >> offset_number_bits; }

// Prefetches the blocks of the next locations. The number of prefetched blocks is limited by
// maintenance_io_concurrency.
void read_ahead(rereading& self, std::uint64_t location)
{
    const std::span<const std::uint64_t> locations = self.expected;
    if (self.read == locations.size())
        return;
    Assert(locations[self.read] == location);
    if (self.read > 0 && block_of(location) != block_of(locations[self.read - 1]))
        self.blocks--;
    self.read++;
    const Relation table = table_of(self, location);
    const int most = get_tablespace_maintenance_io_concurrency(table->rd_rel->reltablespace);
    for (; self.ahead < locations.size() && self.blocks <= most; self.ahead++)
        if (self.ahead == 0 || block_of(locations[self.ahead]) != block_of(locations[self.ahead - 1])) {
            PrefetchBuffer(table_of(self, locations[self.ahead]),
                           MAIN_FORKNUM,
                           static_cast<BlockNumber>(block_of(locations[self.ahead])));
            self.blocks++;
        }
}

// Reads a row from the page that was read last, if the row is on this page. The page need not be looked up again,
// because the slot still pins it. (Rows that are signed one after the other are often on one page.) The table is a heap
// (scan_of()), so table_tuple_fetch_row_version() would return the same row.
bool fetch_from_same_page(TupleTableSlot* slot, const ItemPointerData& at, Snapshot snapshot)
{
    auto* const row = reinterpret_cast<BufferHeapTupleTableSlot*>(slot);
    const Buffer buffer = row->buffer;
    if (!BufferIsValid(buffer) || BufferGetBlockNumber(buffer) != ItemPointerGetBlockNumber(&at))
        return false;
    Assert(!TTS_EMPTY(slot));
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(buffer);
    const OffsetNumber number = ItemPointerGetOffsetNumber(&at);
    bool found = false;
    if (number <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, number))) {
        HeapTupleData& tuple = row->base.tupdata;
        const ItemId item = PageGetItemId(page, number);
        tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        tuple.t_len = ItemIdGetLength(item);
        tuple.t_self = at;
        found = HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer);
    }
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    if (found)
        ExecStoreBufferHeapTuple(&row->base.tupdata, slot, buffer);
    return found;
}

void open_column(rereading& self, const scanned_column& column, LOCKMODE lock)
{
    Assert(self.count < most_scanned);
    const MemoryContext former = MemoryContextSwitchTo(self.memory);
    if (self.value_memory == nullptr)
        self.value_memory = AllocSetContextCreate(self.memory, "minhash_lsh value read again", ALLOCSET_DEFAULT_SIZES);
    self.columns[self.count] = column;
    self.tables[self.count] = table_open(column.table, lock);
    self.are_texts[self.count] = is_text(get_atttype(column.table, column.number));
    self.slots[self.count] = MakeSingleTupleTableSlot(RelationGetDescr(self.tables[self.count]),
                                                      table_slot_callbacks(self.tables[self.count]));
    self.all_blocks += blocks_with_toast(self.tables[self.count]);
    self.far = self.all_blocks > static_cast<std::uint64_t>(effective_cache_size);
    self.count++;
    MemoryContextSwitchTo(former);
}

} // namespace

std::uint64_t blocks_with_toast(Relation table)
{
    std::uint64_t blocks = RelationGetNumberOfBlocks(table);
    if (OidIsValid(table->rd_rel->reltoastrelid)) {
        const Relation values = table_open(table->rd_rel->reltoastrelid, AccessShareLock);
        blocks += RelationGetNumberOfBlocks(values);
        table_close(values, AccessShareLock);
    }
    return blocks;
}

void start_rereading(rereading& self, const QueryDesc& query, int column)
{
    self.scanned = nullptr;
    const ScanState* const scan = scan_of(query.planstate);
    if (scan == nullptr || may_remove_visible_rows())
        return;
    const AttrNumber read = table_column(scan->ps.plan, column);
    // Workers cannot read temporary tables, which are in this process's memory.
    if (read == 0 || (self.sharing && scan->ss_currentRelation->rd_rel->relpersistence == RELPERSISTENCE_TEMP))
        return;
    // The query's lock keeps other sessions from truncating the table. Keep the table open, so that this session cannot
    // truncate it either.
    open_column(self, {RelationGetRelid(scan->ss_currentRelation), read}, NoLock);
    self.scanned = scan->ss_ScanTupleSlot;
}

void join_rereading(rereading& self, const scanned_column* columns, int count)
{
    for (int i = 0; i < count; i++)
        open_column(self, columns[i], AccessShareLock);
}

std::uint64_t location_at(int table, const ItemPointerData& at)
{
    Assert(at.ip_posid != InvalidOffsetNumber);
    return static_cast<std::uint64_t>(table) << table_shift |
           static_cast<std::uint64_t>(ItemPointerGetBlockNumber(&at)) << offset_number_bits |
           ItemPointerGetOffsetNumber(&at);
}

std::uint64_t location_of_row(const rereading& self)
{
    return self.scanned == nullptr ? 0 : location_at(self.count, self.scanned->tts_tid);
}

const struct varlena* read_again(rereading& self, std::uint64_t location)
{
    const int table = static_cast<int>(location >> table_shift) - 1;
    Assert(table >= 0 && table < self.count);
    read_ahead(self, location);
    if (table != self.last && self.count > most_pinned)
        ExecClearTuple(self.slots[self.last]);
    self.last = table;
    ItemPointerData at;
    ItemPointerSet(&at,
                   static_cast<BlockNumber>(location >> offset_number_bits),
                   static_cast<OffsetNumber>(location & ((1 << offset_number_bits) - 1)));
    TupleTableSlot* const slot = self.slots[table];
    const Snapshot snapshot = GetActiveSnapshot();
    if (!fetch_from_same_page(slot, at, snapshot) &&
        !table_tuple_fetch_row_version(self.tables[table], &at, snapshot, slot))
        elog(ERROR,
             "could not read row (%u,%u) again",
             ItemPointerGetBlockNumber(&at),
             ItemPointerGetOffsetNumber(&at));
    MemoryContextReset(self.value_memory);
    const MemoryContext former = MemoryContextSwitchTo(self.value_memory);
    bool null;
    const Datum value = slot_getattr(slot, self.columns[table].number, &null);
    Assert(!null);
    // A short signature is stored with a short header, and so its slots are not aligned where they are.
    const struct varlena* const whole =
        self.are_texts[table] ? PG_DETOAST_DATUM_PACKED(value) : PG_DETOAST_DATUM(value);
    MemoryContextSwitchTo(former);
    return whole;
}

void expect_reads(rereading& self, std::span<const std::uint64_t> locations)
{
    self.expected = locations;
    self.read = 0;
    self.ahead = 0;
    self.blocks = 0;
}

void unpin(const rereading& self)
{
    for (int i = 0; i < self.count; i++)
        ExecClearTuple(self.slots[i]);
}

void end_rereading(rereading& self)
{
    for (int i = 0; i < self.count; i++) {
        ExecDropSingleTupleTableSlot(self.slots[i]);
        table_close(self.tables[i], NoLock);
    }
    self.count = 0;
}

} // namespace minhash::pg
