// The plan of a scan, and the scan's cost, estimated from the runs of the index.
#include "pg/index/am.h"
#include "pg/index/format/columns.h"
#include "pg/index/format/pages.h"
#include "pg/index/read/plan.h"
#include "pg/settings.h"
#include "pg/similar/selectivity.h"

#include "core/tuning.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "access/genam.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
}

namespace minhash::pg::index {

namespace {

// A search for candidates that agree in only one slot is no faster than comparing all records.
constexpr int least_planned_depth = 2;

// The share of slots in which unrelated texts agree, including 8-bit slots that agree by chance.
constexpr double unrelated = 0.034;

// The cost of comparing one record with the query, in units of cpu_operator_cost.
constexpr double operators_a_record = 1;

// The cost of finding and comparing one candidate, besides that of its page, in units of cpu_operator_cost. Unlike
// neighbouring records, candidates are read from memory at random, so one takes about 0.5 us instead of 6 ns. With
// this value, all records are compared from about one candidate for 2 pages of records on if random_page_cost is 4, and
// from 0.9 for each page on if it is 1. By the times of pages in memory, the best number is 0.7 to 0.8 for each page.
constexpr double operators_a_candidate = 250;

// The cost of descending through one page, in units of cpu_operator_cost, as in PostgreSQL's btree.
constexpr double operators_a_page = 50;

// The cost of reading pages, and that of all else. In a nested loop, only pages are saved.
struct work {
    double pages;
    double cpu;

    double total() const { return pages + cpu; }
};

work work_of_all(const index_size& size)
{
    return {size.record_pages * size.sequential_page, size.records * operators_a_record * cpu_operator_cost};
}

// Candidates are read in page order. The larger the share of pages that are read, the closer the cost of each page is
// to the cost of a sequential read, as in PostgreSQL's bitmap heap scans.
work work_of_candidates(const index_size& size, double candidates)
{
    if (candidates <= 0 || size.record_pages <= 0)
        return {0, 0};
    const double share = 1 - std::exp(-candidates / size.record_pages);
    const double page = size.random_page - (size.random_page - size.sequential_page) * std::sqrt(share);
    return {share * size.record_pages * page, candidates * operators_a_candidate * cpu_operator_cost};
}

work work_of_bands(const index_size& size, const scan_plan& plan)
{
    const double leaves = std::min(size.runs * plan.bands, size.record_pages);
    return {leaves * size.random_page + size.tail_pages * size.sequential_page,
            plan.bands * size.levels * operators_a_page * cpu_operator_cost +
                size.tail_records * operators_a_record * cpu_operator_cost};
}

// The share of `pages` of each of `loops` scans that is not in memory from an earlier scan.
double share_fetched(PlannerInfo* root, const IndexOptInfo& info, double pages, double loops)
{
    if (loops <= 1 || pages <= 0)
        return 1;
    return index_pages_fetched(pages * loops, static_cast<BlockNumber>(info.pages), info.pages, root) / loops / pages;
}

// The conditions of a scan.
struct conditions {
    bool similar;        // whether there is a condition on the signature
    double threshold;    // the threshold of this condition, or a guess if it is not known
    std::uint32_t equal; // a bit for each column that has an equality condition by the operator of its class
    List* scope;         // these equality conditions
    double searches;     // how many searches there are: with x = ANY (...), one for each value
    double scopes;       // how many different scopes they are in
};

conditions read_conditions(PlannerInfo* root, const IndexPath& path)
{
    conditions found = {false, similarity_threshold, 0, NIL, 1, 1};
    ListCell* cell;
    foreach (cell, path.indexclauses) {
        const IndexClause* const clause = lfirst_node(IndexClause, cell);
        RestrictInfo* const condition = linitial_node(RestrictInfo, clause->indexquals);
        const OpExpr* const op =
            IsA(condition->clause, OpExpr) ? reinterpret_cast<const OpExpr*>(condition->clause) : nullptr;
        const ScalarArrayOpExpr* const any = op == nullptr ? castNode(ScalarArrayOpExpr, condition->clause) : nullptr;
        const Oid number = op != nullptr ? op->opno : any->opno;
        const double values =
            any == nullptr ? 1 : std::max(1.0, expected_length(root, static_cast<Node*>(lsecond(any->args))));
        found.searches *= values;
        int strategy;
        Oid left;
        Oid right;
        get_op_opfamily_properties(number, path.indexinfo->opfamily[clause->indexcol], false, &strategy, &left, &right);
        if (strategy == equality && left != path.indexinfo->opcintype[clause->indexcol])
            continue; // see is_hashed_by()
        if (strategy == equality) {
            found.equal |= 1u << clause->indexcol;
            found.scopes *= values;
            found.scope = lappend(found.scope, condition);
        } else if (strategy != inequality && !found.similar) {
            found.similar = true;
            if (op != nullptr && strategy == similar_to_query)
                found.threshold = threshold_in_query(root, static_cast<Node*>(lsecond(op->args)), similarity_threshold);
        }
    }
    return found;
}

} // namespace

scan_plan plan_scan(double threshold, const banding& banding, double recall)
{
    for (int depth = banding.rows; depth >= std::min(least_planned_depth, banding.rows); depth--) {
        if (depth == 0 || band_probability(threshold, banding.bands, depth) < recall_of_lookups)
            continue;
        int bands = 1;
        while (bands < banding.bands && band_probability(threshold, bands, depth) < recall)
            bands++;
        return {depth, bands, false};
    }
    return {};
}

index_size size_of(const meta& current, const layout& layout, Oid tablespace)
{
    index_size size = {};
    size.tail_pages = current.tail_pages;
    size.tail_records = size.tail_pages * layout.records_per_page;
    size.records = size.tail_records;
    size.record_pages = size.tail_pages;
    size.runs = current.run_count;
    for (const run& one : runs_of(current)) {
        size.records += static_cast<double>(one.records);
        size.record_pages += one.record_pages;
        size.levels += one.height + 1;
    }
    get_tablespace_page_costs(tablespace, &size.random_page, &size.sequential_page);
    return size;
}

double expected_candidates(const scan_plan& plan, double records)
{
    return records * std::min(1.0, plan.bands * std::pow(unrelated, plan.depth));
}

bool should_compare_all(const index_size& size, double candidates)
{
    return candidates > first_candidates && work_of_candidates(size, candidates).total() > work_of_all(size).total();
}

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

    layout layout = {};
    columns columns = {};
    index_size size = {};
    if (!info.hypothetical) {
        const Relation index = index_open(info.indexoid, NoLock); // the planner has it locked
        meta current;
        read_meta(index, current);
        layout = layout_of(index, current);
        columns = columns_of(index);
        size = size_of(current, layout, index->rd_rel->reltablespace);
        index_close(index, NoLock);
    }
    const double tuples = std::max(info.tuples, 1.0);
    const bool has_keys = (columns.scope & ~given.equal) == 0;
    scan_plan plan = given.similar && has_keys ? plan_scan(given.threshold, layout.banding) : scan_plan{};
    // The costs of one search. The rows that are near are candidates, too.
    const double near = *selectivity * tuples / given.searches;
    const double in_scope = size.records * share_of(given.scope) / given.scopes;
    const double chance = expected_candidates(plan, in_scope);
    const double candidates = plan.depth == 0 ? size.records : std::min(chance + near, size.records);
    const bool compares_all = plan.depth == 0 || should_compare_all(size, candidates);
    work bands = {0, 0};
    work rest = work_of_all(size);
    *pages = size.record_pages;
    if (plan.depth > 0) {
        bands = work_of_bands(size, plan);
        *pages = std::min(size.runs * plan.bands, size.record_pages) + size.tail_pages +
                 (compares_all ? size.record_pages : std::min(candidates, size.record_pages));
        if (!compares_all)
            rest = work_of_candidates(size, candidates);
    }
    // Instead of all records, a search may compare those of the scope.
    if (compares_all && columns.scope != 0 && has_keys && !should_compare_all(size, in_scope)) {
        const work entries = work_of_bands(size, {0, 1, false});
        bands = {bands.pages + entries.pages, bands.cpu + entries.cpu};
        rest = work_of_candidates(size, in_scope);
        *pages += std::min(in_scope, size.record_pages) - size.record_pages + size.runs + size.tail_pages;
    }
    const double fetched = share_fetched(root, info, *pages, loops * given.searches);
    *pages *= fetched * given.searches;
    // Without ORDER BY, the first rows are returned before all candidates have been compared.
    const bool first_rows_early = plan.depth > 0 && path->indexorderbys == NIL && candidates > 0;
    const double first = first_rows_early ? std::min(1.0, first_candidates / candidates) : 1;
    const double bands_cost = (bands.pages * fetched + bands.cpu) * given.searches;
    const double rest_cost = (rest.pages * fetched + rest.cpu) * given.searches;
    *startup = bands_cost + first * rest_cost;
    *total = bands_cost + rest_cost;
    *total += *selectivity * tuples * (cpu_index_tuple_cost + cpu_operator_cost);
}

} // namespace minhash::pg::index
