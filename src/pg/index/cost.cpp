// What a scan costs, from the index's own runs.
#include "pg/index/am.h"
#include "pg/index/pages.h"
#include "pg/index/plan.h"
#include "pg/lsh/query.h"
#include "pg/settings.h"

#include <algorithm>
#include <cmath>

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

// The threshold of a scan's condition, where it is known.
double threshold_of(const IndexPath& path)
{
    const IndexClause* const clause = linitial_node(IndexClause, path.indexclauses);
    const RestrictInfo* const condition = linitial_node(RestrictInfo, clause->indexquals);
    Node* const right = get_rightop(condition->clause);
    if (!IsA(right, Const))
        return similarity_threshold;
    const Const* const constant = reinterpret_cast<const Const*>(right);
    const Oid type = path.indexinfo->opcintype[0];
    if (constant->constisnull || constant->consttype == type)
        return similarity_threshold;
    return query_of(constant->constvalue).threshold;
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
    const bool narrow = path->indexclauses != NIL;
    // Rows that are NULL are not in the index, so it cannot give all rows of a table.
    if (!narrow && path->indexorderbys == NIL) {
        *startup = *total = get_float8_infinity();
        *selectivity = 0;
        *pages = 0;
        disable_path(path->path);
        return;
    }
    *selectivity = narrow ? clauselist_selectivity(root,
                                                   get_quals_from_indexclauses(path->indexclauses),
                                                   static_cast<int>(info.rel->relid),
                                                   JOIN_INNER,
                                                   nullptr)
                          : 1;
    double page_cost;
    get_tablespace_page_costs(info.reltablespace, &page_cost, nullptr);
    double sequential_cost;
    get_tablespace_page_costs(info.reltablespace, nullptr, &sequential_cost);

    const shape_of_index seen = info.hypothetical ? shape_of_index{} : examine(info.indexoid);
    const double tuples = std::max(info.tuples, 1.0);
    const scan_plan plan = narrow ? plan_scan(threshold_of(*path), seen.shape) : scan_plan{0, 0};
    double compared = tuples;
    double read = 0;
    if (plan.depth == 0) { // all records, one page after the other
        *pages = seen.record_pages;
        *startup = seen.record_pages * sequential_cost;
    } else {
        const double candidates =
            tuples * std::min(1.0, plan.bands * std::pow(unrelated, plan.depth));
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
}

} // namespace minhash::pg::lsh
