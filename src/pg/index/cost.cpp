// What a scan costs, from the index's own runs.
#include "pg/arguments.h"
#include "pg/index/am.h"
#include "pg/index/columns.h"
#include "pg/index/pages.h"
#include "pg/index/plan.h"
#include "pg/settings.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "access/genam.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
}

namespace minhash::pg::lsh {

namespace {

// How similar texts are that have nothing to do with each other, with the accidents of 8 bits a
// slot.
constexpr double unrelated = 0.034;

// What comparing the copies of one record takes.
constexpr double operators_a_record = 1;

// What going down one page takes, as PostgreSQL's btree has it.
constexpr double operators_a_page = 50;

struct shape_of_index {
    banding shape;
    columns which;
    double record_pages;
    double tail_pages;
    double records_per_page;
    double runs;
    double levels; // of all runs together, leaves among them
};

shape_of_index examine(Oid oid)
{
    shape_of_index seen = {};
    const Relation index = index_open(oid, NoLock); // the planner has it locked
    meta now;
    read_meta(index, now);
    const layout shape = layout_of(index, now);
    seen.shape = shape.shape;
    seen.which = columns_of(index);
    seen.records_per_page = shape.records_per_page;
    seen.tail_pages = now.tail_pages;
    seen.record_pages = now.tail_pages;
    seen.runs = now.run_count;
    for (std::uint32_t at = 0; at < now.run_count; at++) {
        seen.record_pages += now.runs[at].record_pages;
        seen.levels += now.runs[at].height + 1;
    }
    index_close(index, NoLock);
    return seen;
}

// What the conditions of a scan say.
struct conditions {
    bool similar;        // to a signature
    double threshold;    // of that, as far as it is known
    std::uint32_t equal; // a bit for each column that must be equal to something
    List* scope;         // the conditions that say so
};

// The threshold of `signature % constant`.
double threshold_of(const OpExpr& condition, int strategy)
{
    if (strategy != similar_to_query)
        return similarity_threshold;
    Node* const right = static_cast<Node*>(lsecond(condition.args));
    if (!IsA(right, Const) || reinterpret_cast<const Const*>(right)->constisnull)
        return similarity_threshold;
    return query_of(reinterpret_cast<const Const*>(right)->constvalue).threshold;
}

conditions read_conditions(const IndexPath& path)
{
    conditions found = {false, similarity_threshold, 0, NIL};
    ListCell* cell;
    foreach (cell, path.indexclauses) {
        const IndexClause* const clause = lfirst_node(IndexClause, cell);
        RestrictInfo* const condition = linitial_node(RestrictInfo, clause->indexquals);
        const OpExpr* const op = IsA(condition->clause, OpExpr)
                                     ? reinterpret_cast<const OpExpr*>(condition->clause)
                                     : nullptr;
        const Oid number = op != nullptr
                               ? op->opno // else x = ANY (...), scanned for one after the other
                               : castNode(ScalarArrayOpExpr, condition->clause)->opno;
        const int strategy =
            get_op_opfamily_strategy(number, path.indexinfo->opfamily[clause->indexcol]);
        if (strategy == equality) {
            found.equal |= 1u << clause->indexcol;
            found.scope = lappend(found.scope, condition);
        } else if (strategy != inequality && !found.similar) {
            found.similar = true;
            if (op != nullptr)
                found.threshold = threshold_of(*op, strategy);
        }
    }
    return found;
}

} // namespace

void estimate_cost(PlannerInfo* root,
                   IndexPath* path,
                   double loops,
                   Cost* startup,
                   Cost* total,
                   Selectivity* selectivity,
                   double* correlation,
                   double* pages)
{
    const IndexOptInfo& info = *path->indexinfo;
    *correlation = 0;
    const conditions given = read_conditions(*path);
    // Rows whose signature is NULL are not in the index, so it cannot give all rows of a table.
    if (!given.similar && path->indexorderbys == NIL) {
        *startup = *total = get_float8_infinity();
        *selectivity = 0;
        *pages = 0;
        disable_path(path->path);
        return;
    }
    const auto share_of = [&](List* clauses) {
        return clauselist_selectivity(root,
                                      clauses,
                                      static_cast<int>(info.rel->relid),
                                      JOIN_INNER,
                                      nullptr);
    };
    *selectivity = share_of(get_quals_from_indexclauses(path->indexclauses));
    double page_cost;
    get_tablespace_page_costs(info.reltablespace, &page_cost, nullptr);
    double sequential_cost;
    get_tablespace_page_costs(info.reltablespace, nullptr, &sequential_cost);

    const shape_of_index seen = info.hypothetical ? shape_of_index{} : examine(info.indexoid);
    const double tuples = std::max(info.tuples, 1.0);
    const bool has_keys = (seen.which.scope & ~given.equal) == 0;
    const scan_plan plan =
        given.similar && has_keys ? plan_scan(given.threshold, seen.shape) : scan_plan{0, 0};
    double compared = tuples;
    double read = 0;
    if (plan.depth == 0) { // all records, one page after the other
        *pages = seen.record_pages;
        *startup = seen.record_pages * sequential_cost;
    } else {
        const double candidates = tuples * share_of(given.scope) *
                                  std::min(1.0, plan.bands * std::pow(unrelated, plan.depth));
        compared = candidates + seen.tail_pages * seen.records_per_page;
        read = seen.runs * plan.bands + std::min(candidates, seen.record_pages) + seen.tail_pages;
        // Looked up again and again, the pages stay in memory.
        if (loops > 1)
            read = index_pages_fetched(read * loops,
                                       static_cast<BlockNumber>(info.pages),
                                       info.pages,
                                       root) /
                   loops;
        *pages = read;
        *startup =
            read * page_cost + plan.bands * seen.levels * operators_a_page * cpu_operator_cost;
    }
    *startup += compared * operators_a_record * cpu_operator_cost;
    *total = *startup + *selectivity * tuples * (cpu_index_tuple_cost + cpu_operator_cost);
    // PostgreSQL may make a bitmap scan of an ordered one, and leave the order out; that reads all
    // pages of the table. An ordered scan to its end is no better.
    if (!given.similar)
        *total += info.rel->pages * sequential_cost + tuples * cpu_tuple_cost;
}

} // namespace minhash::pg::lsh
