#include "pg/index/format/columns.h"
#include "pg/index/read/constraint.h"
#include "pg/signature/signatures.h"

extern "C" {
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg::index {

namespace {

// Allocates the reader in the scan's memory context, because the reader must live until close_reader().
void open_reader(IndexScanDesc scan, row_reader& reader)
{
    const MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
    reader.executor = CreateExecutorState();
    MemoryContextSwitchTo(reader.executor->es_query_cxt);
    reader.info = BuildIndexInfo(scan->indexRelation);
    reader.slot = table_slot_create(scan->heapRelation, nullptr);
    reader.fetch = begin_index_fetch(scan->heapRelation);
    GetPerTupleExprContext(reader.executor)->ecxt_scantuple = reader.slot;
    MemoryContextSwitchTo(old);
}

bool satisfies(const ScanKeyData& key, Datum value, double threshold)
{
    if (key.sk_strategy == similar_by_setting)
        return similarity(query_of(value, similar_by_setting).sought,
                          query_of(key.sk_argument, similar_by_setting).sought) >= threshold;
    FmgrInfo* const function = const_cast<FmgrInfo*>(&key.sk_func);
    return DatumGetBool(FunctionCall2Coll(function, key.sk_collation, value, key.sk_argument));
}

} // namespace

bool is_constraint_scan(IndexScanDesc scan)
{
    return scan->indexRelation->rd_index->indisexclusion && scan->heapRelation != nullptr &&
           scan->xs_snapshot->snapshot_type == SNAPSHOT_DIRTY;
}

bool conflicts(IndexScanDesc scan, row_reader& reader, ItemPointerData tid, double threshold, bool& dead)
{
    if (reader.info == nullptr)
        open_reader(scan, reader);
    // One record stands for all row versions of a HOT chain, because they have the same indexed values.
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    bool more = false;
    if (!table_index_fetch_tuple(reader.fetch, &tid, &dirty, reader.slot, &more, &dead))
        return false;
    // If another transaction is still inserting the row, the row's TOASTed values may vanish before they are read. So
    // the row is not read. It counts as a conflict, because the copy of its signature in the index is similar enough.
    // PostgreSQL then waits for that transaction to end, and scans again.
    if (TransactionIdIsValid(dirty.xmin))
        return true;
    ResetPerTupleExprContext(reader.executor);
    const MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(reader.executor));
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    FormIndexDatum(reader.info, reader.slot, reader.executor, values, nulls);
    bool conflicting = true;
    for (int at = 0; conflicting && at < scan->numberOfKeys; at++) {
        const ScanKeyData& key = scan->keyData[at];
        const int column = key.sk_attno - 1;
        conflicting = !nulls[column] && satisfies(key, values[column], threshold);
    }
    MemoryContextSwitchTo(old);
    return conflicting;
}

void close_reader(row_reader& reader)
{
    if (reader.info == nullptr)
        return;
    table_index_fetch_end(reader.fetch);
    ExecDropSingleTupleTableSlot(reader.slot);
    FreeExecutorState(reader.executor);
}

} // namespace minhash::pg::index
