#include "pg/bulk/reread.h"

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg {

namespace {

// What a place says: the number of the row in its block, the block, and of which table it is, from
// 1 on.
constexpr int number_bits = 16;
constexpr int table_shift = number_bits + 32;

// The scan of a table that makes the rows of a plan, or null. Other access methods than heap may
// not find a row by its place.
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

void open_column(rereading& self, const scanned_column& column, LOCKMODE lock)
{
    Assert(self.count < most_scanned);
    const MemoryContext former = MemoryContextSwitchTo(self.memory);
    if (self.value_memory == nullptr)
        self.value_memory = AllocSetContextCreate(self.memory,
                                                  "minhash_lsh value read again",
                                                  ALLOCSET_DEFAULT_SIZES);
    self.columns[self.count] = column;
    self.tables[self.count] = table_open(column.table, lock);
    self.slots[self.count] =
        MakeSingleTupleTableSlot(RelationGetDescr(self.tables[self.count]),
                                 table_slot_callbacks(self.tables[self.count]));
    self.count++;
    MemoryContextSwitchTo(former);
}

} // namespace

void start_rereading(rereading& self, const QueryDesc& query, int column)
{
    self.scanned = nullptr;
    const ScanState* const scan = scan_of(query.planstate);
    if (scan == nullptr || may_remove_visible_rows())
        return;
    const AttrNumber read = table_column(scan->ps.plan, column);
    // Workers cannot see what is in this process's memory.
    if (read == 0 ||
        (self.sharing && scan->ss_currentRelation->rd_rel->relpersistence == RELPERSISTENCE_TEMP))
        return;
    // Held open, so that nothing can empty it in this session either.
    open_column(self, {RelationGetRelid(scan->ss_currentRelation), read}, NoLock);
    self.scanned = scan->ss_ScanTupleSlot;
}

void join_rereading(rereading& self, const scanned_column* columns, int count)
{
    for (int i = 0; i < count; i++)
        open_column(self, columns[i], AccessShareLock);
}

std::uint64_t place_of_row(const rereading& self)
{
    if (self.scanned == nullptr)
        return 0;
    const ItemPointerData& at = self.scanned->tts_tid;
    Assert(ItemPointerIsValid(&at));
    return static_cast<std::uint64_t>(self.count) << table_shift |
           static_cast<std::uint64_t>(ItemPointerGetBlockNumber(&at)) << number_bits |
           ItemPointerGetOffsetNumber(&at);
}

const struct varlena* read_again(rereading& self, std::uint64_t place)
{
    const int table = static_cast<int>(place >> table_shift) - 1;
    Assert(table >= 0 && table < self.count);
    ItemPointerData at;
    ItemPointerSet(&at,
                   static_cast<BlockNumber>(place >> number_bits),
                   static_cast<OffsetNumber>(place & ((1 << number_bits) - 1)));
    TupleTableSlot* const slot = self.slots[table];
    if (!table_tuple_fetch_row_version(self.tables[table], &at, GetActiveSnapshot(), slot))
        elog(ERROR,
             "could not read row (%u,%u) again",
             ItemPointerGetBlockNumber(&at),
             ItemPointerGetOffsetNumber(&at));
    MemoryContextReset(self.value_memory);
    const MemoryContext former = MemoryContextSwitchTo(self.value_memory);
    bool null;
    const Datum value = slot_getattr(slot, self.columns[table].number, &null);
    Assert(!null);
    const struct varlena* const whole = PG_DETOAST_DATUM_PACKED(value);
    MemoryContextSwitchTo(former);
    return whole;
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
