// The cost of a scan, estimated from the runs that the index has.
#include "pg/arguments.h"
#include "pg/index/am.h"
#include "pg/index/columns.h"
#include "pg/index/pages.h"
#include "pg/index/plan.h"
#include "pg/settings.h"
#include "pg/similar/query.h"

#include <algorithm>

extern "C" {
#include "access/genam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
}

namespace minhash::pg::index {

namespace {

struct shape_of_index {
    banding shape;
    columns which;
    index_size size;
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
    seen.size = size_of(now, shape, index->rd_rel->reltablespace);
    index_close(index, NoLock);
    return seen;
}

// What the conditions of a scan ask for.
struct conditions {
    bool similar;        // there is a condition on the signature
    double threshold;    // of this condition, if known; else a guess
    std::uint32_t equal; // a bit for each column that must be equal to something
    List* scope;         // these conditions
};

bool is_known(const Node* value)
{
    return IsA(value, Const) && !reinterpret_cast<const Const*>(value)->constisnull;
}

// The threshold of `signature % query`, if the query is a constant or minhash_query(signature, constant).
double threshold_of(PlannerInfo* root, const OpExpr& condition, int strategy)
{
    if (strategy != similar_to_query)
        return similarity_threshold;
    Node* const query = estimate_expression_value(root, static_cast<Node*>(lsecond(condition.args)));
    if (is_known(query))
        return query_of(reinterpret_cast<const Const*>(query)->constvalue).threshold;
    const FuncExpr* const made = IsA(query, FuncExpr) ? reinterpret_cast<const FuncExpr*>(query) : nullptr;
    if (made == nullptr || list_length(made->args) != 2)
        return similarity_threshold;
    const Node* const given = static_cast<Node*>(lsecond(made->args));
    return is_known(given) && exprType(given) == FLOAT8OID
               ? DatumGetFloat8(reinterpret_cast<const Const*>(given)->constvalue)
               : similarity_threshold;
}

conditions read_conditions(PlannerInfo* root, const IndexPath& path)
{
    conditions found = {false, similarity_threshold, 0, NIL};
    ListCell* cell;
    foreach (cell, path.indexclauses) {
        const IndexClause* const clause = lfirst_node(IndexClause, cell);
        RestrictInfo* const condition = linitial_node(RestrictInfo, clause->indexquals);
        const OpExpr* const op =
            IsA(condition->clause, OpExpr) ? reinterpret_cast<const OpExpr*>(condition->clause) : nullptr;
        const Oid number = op != nullptr ? op->opno // else x = ANY (...), scanned for each value in turn
                                         : castNode(ScalarArrayOpExpr, condition->clause)->opno;
        const int strategy = get_op_opfamily_strategy(number, path.indexinfo->opfamily[clause->indexcol]);
        if (strategy == equality) {
            found.equal |= 1u << clause->indexcol;
            found.scope = lappend(found.scope, condition);
        } else if (strategy != inequality && !found.similar) {
            found.similar = true;
            if (op != nullptr)
                found.threshold = threshold_of(root, *op, strategy);
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
    const conditions given = read_conditions(root, *path);
    // Without a condition on the signature, the index can only return all rows ordered by distance.
    if (!given.similar && path->indexorderbys == NIL) {
        *startup = *total = get_float8_infinity();
        *selectivity = 0;
        *pages = 0;
        disable_path(path->path);
        return;
    }
    const auto share_of = [&](List* clauses) {
        return clauselist_selectivity(root, clauses, static_cast<int>(info.rel->relid), JOIN_INNER, nullptr);
    };
    *selectivity = share_of(get_quals_from_indexclauses(path->indexclauses));

    const shape_of_index seen = info.hypothetical ? shape_of_index{} : examine(info.indexoid);
    const index_size& size = seen.size;
    const double tuples = std::max(info.tuples, 1.0);
    const bool has_keys = (seen.which.scope & ~given.equal) == 0;
    scan_plan plan = given.similar && has_keys ? plan_scan(given.threshold, seen.shape) : scan_plan{0, 0};
    const double candidates = expected_candidates(plan, size.records * share_of(given.scope));
    if (plan.depth == 0 || should_compare_all(size, candidates)) {
        *pages = size.record_pages;
        *startup = *total = cost_of_all(size);
    } else {
        const double first = std::min(candidates, static_cast<double>(first_candidates));
        const bool in_order = path->indexorderbys != NIL;
        *pages = std::min(size.runs * plan.bands, size.record_pages) + std::min(candidates, size.record_pages) +
                 size.tail_pages;
        double bands = cost_of_bands(size, plan);
        double all = cost_of_candidates(size, candidates);
        // In a nested loop, pages read again are in memory.
        if (loops > 1) {
            const double fetched =
                index_pages_fetched(*pages * loops, static_cast<BlockNumber>(info.pages), info.pages, root) / loops;
            const double kept = *pages > 0 ? fetched / *pages : 1;
            bands *= kept;
            all *= kept;
            *pages = fetched;
        }
        // Without ORDER BY, the first rows are returned before all candidates have been compared.
        *startup = bands + (in_order || candidates <= 0 ? all : all * first / candidates);
        *total = bands + all;
    }
    *total += *selectivity * tuples * (cpu_index_tuple_cost + cpu_operator_cost);
    // PostgreSQL may turn an ordered scan into a bitmap scan without order, which reads all pages of the table. An
    // ordered scan to its end is no better.
    if (!given.similar)
        *total += info.rel->pages * size.sequential_page + tuples * cpu_tuple_cost;
}

} // namespace minhash::pg::index
