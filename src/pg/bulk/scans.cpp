#include "pg/bulk/scans.h"
#include "pg/compat.h"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/pg_list.h"
#include "optimizer/tlist.h"
}

namespace minhash::pg {

namespace {

bool is_scan(const Plan* plan) { return IsA(plan, SeqScan) || IsA(plan, IndexScan) || IsA(plan, BitmapHeapScan); }

// Adds the scans of a plan to `scans`: it runs all of them, one after another. Returns false if the plan does anything
// else. There may be an Append below another: of a UNION ALL of partitioned tables.
bool add_scans(Plan* plan, List*& scans)
{
    if (is_scan(plan)) {
        scans = lappend(scans, plan);
        return list_length(scans) <= most_tables_of_query;
    }
    if (!IsA(plan, Append) || plan->initPlan != NIL || prunes_at_run_time(*castNode(Append, plan)))
        return false;
    ListCell* cell;
    foreach (cell, castNode(Append, plan)->appendplans)
        if (!add_scans(static_cast<Plan*>(lfirst(cell)), scans))
            return false;
    return true;
}

// The scans below the Append on top of a plan; NIL if the plan is not just an Append of scans.
List* appended_scans(const PlannedStmt* planned)
{
    List* scans = NIL;
    const bool alone = IsA(planned->planTree, Append) && planned->subplans == NIL && planned->paramExecTypes == NIL &&
                       planned->rowMarks == NIL;
    return alone && add_scans(planned->planTree, scans) ? scans : NIL;
}

// The tables that a plan may open, at the positions that its nodes name: of a part of a plan, its own table, and those
// on which the user's rights are checked. The others are left out, because the part may be sent to workers.
List* tables_of_part(const PlannedStmt* planned, Index own)
{
    RangeTblEntry* const none = makeNode(RangeTblEntry);
    none->rtekind = RTE_RESULT;
    List* result = NIL;
    ListCell* cell;
    foreach (cell, planned->rtable) {
        auto* const table = static_cast<RangeTblEntry*>(lfirst(cell));
        const bool kept = foreach_current_index(cell) + 1 == static_cast<int>(own) || has_rights_to_check(*table);
        result = lappend(result, kept ? table : none);
    }
    return result;
}

} // namespace

AttrNumber table_column(const Plan* plan, int column)
{
    const auto* const target = static_cast<const TargetEntry*>(list_nth(plan->targetlist, column - 1));
    const Expr* value = target->expr;
    while (IsA(value, RelabelType)) // a binary-compatible cast
        value = reinterpret_cast<const RelabelType*>(value)->arg;
    if (!IsA(value, Var))
        return 0;
    const Var* const from = reinterpret_cast<const Var*>(value);
    const bool of_table = static_cast<Index>(from->varno) == reinterpret_cast<const Scan*>(plan)->scanrelid;
    return of_table && from->varattno > 0 ? from->varattno : 0;
}

bool can_read_again(const PlannedStmt* planned)
{
    const auto has_column = [](const Plan* scan) {
        return list_length(scan->targetlist) > 1 && table_column(scan, 2) != 0;
    };
    if (is_scan(planned->planTree))
        return has_column(planned->planTree);
    const List* const scans = appended_scans(planned);
    ListCell* cell;
    foreach (cell, scans)
        if (!has_column(static_cast<const Plan*>(lfirst(cell))))
            return false;
    return scans != NIL;
}

List* split_into_scans(PlannedStmt* planned)
{
    const List* const scans = appended_scans(planned);
    if (scans == NIL)
        return list_make1(planned);
    List* result = NIL;
    ListCell* cell;
    foreach (cell, scans) {
        Plan* const scan = static_cast<Plan*>(copyObjectImpl(lfirst(cell)));
        apply_tlist_labeling(scan->targetlist, planned->planTree->targetlist); // only the top names its columns
        PlannedStmt* const part = makeNode(PlannedStmt);
        *part = *planned;
        part->planTree = scan;
        part->rtable = tables_of_part(planned, reinterpret_cast<const Scan*>(scan)->scanrelid);
        part->relationOids = NIL;
        part->invalItems = NIL;
        result = lappend(result, part);
    }
    return result;
}

} // namespace minhash::pg
