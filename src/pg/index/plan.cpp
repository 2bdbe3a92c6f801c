#include "pg/arguments.h"
#include "pg/index/plan.h"

#include "core/tuning.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "optimizer/optimizer.h"
#include "utils/spccache.h"
}

namespace minhash::pg::index {

namespace {

// A search for candidates that agree in only one slot is no faster than comparing all records.
constexpr int least_depth = 2;

// The share of equal slots of unrelated texts, chance agreement of 8-bit slots included.
constexpr double unrelated = 0.034;

// The cost of comparing one record with the query.
constexpr double operators_a_record = 1;

// The cost of descending one page, as in PostgreSQL's btree.
constexpr double operators_a_page = 50;

} // namespace

scan_plan plan_scan(double threshold, const banding& shape, double recall)
{
    for (int depth = shape.rows; depth >= std::min(least_depth, shape.rows); depth--) {
        if (depth == 0 || band_probability(threshold, shape.bands, depth) < recall_of_lookups)
            continue;
        int bands = 1;
        while (bands < shape.bands && band_probability(threshold, bands, depth) < recall)
            bands++;
        return {depth, bands};
    }
    return {0, 0};
}

index_size size_of(const meta& now, const layout& shape, Oid tablespace)
{
    index_size size = {};
    size.tail_pages = now.tail_pages;
    size.tail_records = size.tail_pages * shape.records_per_page;
    size.records = size.tail_records;
    size.record_pages = size.tail_pages;
    size.runs = now.run_count;
    for (std::uint32_t at = 0; at < now.run_count; at++) {
        size.records += static_cast<double>(now.runs[at].records);
        size.record_pages += now.runs[at].record_pages;
        size.levels += now.runs[at].height + 1;
    }
    get_tablespace_page_costs(tablespace, &size.random_page, &size.sequential_page);
    return size;
}

double expected_candidates(const scan_plan& plan, double records)
{
    return records * std::min(1.0, plan.bands * std::pow(unrelated, plan.depth));
}

double cost_of_all(const index_size& size)
{
    return size.record_pages * size.sequential_page + size.records * operators_a_record * cpu_operator_cost;
}

// Candidates are read in page order: the more pages that takes, the more their cost approaches that of sequential
// reads, as in PostgreSQL's bitmap heap scans.
double cost_of_candidates(const index_size& size, double candidates)
{
    if (candidates <= 0 || size.record_pages <= 0)
        return 0;
    const double share = 1 - std::exp(-candidates / size.record_pages);
    const double page = size.random_page - (size.random_page - size.sequential_page) * std::sqrt(share);
    return share * size.record_pages * page + candidates * operators_a_record * cpu_operator_cost;
}

double cost_of_bands(const index_size& size, const scan_plan& plan)
{
    const double leaves = std::min(size.runs * plan.bands, size.record_pages);
    return leaves * size.random_page + plan.bands * size.levels * operators_a_page * cpu_operator_cost +
           size.tail_pages * size.sequential_page + size.tail_records * operators_a_record * cpu_operator_cost;
}

} // namespace minhash::pg::index
