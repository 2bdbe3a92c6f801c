// Finds the rows of a table whose signature is NULL: the index has no records of them.
#include "pg/index/columns.h"
#include "pg/index/scan_state.h"

extern "C" {
#include "access/relscan.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg::index {

namespace {

struct reader {
    found_rows* found;
    int column;
    bool all;
    bool unknown; // all distances are NULL
};

void consider_row(Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    const reader& state = *static_cast<reader*>(callback_state);
    const bool null = nulls[state.column];
    if (null || state.all)
        state.found->add(rank_of(null || state.unknown ? unknown_distance : 0, *tid), 0);
}

} // namespace

void find_in_table(IndexScanDesc scan, scan_state& state, bool all)
{
    found_rows& found = state.look.found;
    Assert(found.sort == nullptr && scan->heapRelation != nullptr);
    Assert(IsMVCCSnapshot(scan->xs_snapshot));
    found.want(0);
    found.rows.count = 0;
    reader wanted = {&found, columns_of(scan->indexRelation).signature, all, state.order == order_kind::unknown};
    IndexInfo* const info = BuildIndexInfo(scan->indexRelation);
    info->ii_Concurrent = true; // rows as the snapshot sees them
    const TableScanDesc rows = table_beginscan_strat(scan->heapRelation, scan->xs_snapshot, 0, nullptr, true, true);
    table_index_build_scan(scan->heapRelation, scan->indexRelation, info, true, false, consider_row, &wanted, rows);
    found.finish();
    found.after = 0;
    state.last = 0;
    state.at = 0;
    state.end = found.pass(last_rank);
}

} // namespace minhash::pg::index
