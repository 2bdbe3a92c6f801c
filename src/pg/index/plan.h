// How a scan is answered, and its cost. Planner and executor decide by the same functions.
#pragma once

#include "pg/index/format.h"

namespace minhash::pg::index {

// A search compares the records that agree in `depth` slots of one of the first `bands` bands; at depth 0, all records.
struct scan_plan {
    int depth;
    int bands;
};

// The recall of lookups at the threshold, which is what lsh_params() promises by default, and the recall of
// constraints. Constraints need a higher recall, and read more pages, because a conflict that is missed stays in the
// table.
constexpr double recall_of_lookups = 0.95;
constexpr double recall_of_constraints = 0.99;

// The plan with the fewest candidates that reaches the recall. If no plan reaches it, even with all bands, the plan for
// the recall of lookups.
scan_plan plan_scan(double threshold, const banding& shape, double recall = recall_of_lookups);

// If there is no ORDER BY, about this many candidates are compared before the first rows are returned.
constexpr int first_candidates = 64;

// How large an index is, and what reading its pages costs.
struct index_size {
    double records;
    double record_pages;
    double tail_records;
    double tail_pages;
    double runs;
    double levels; // the levels of all runs together, including leaves
    double random_page;
    double sequential_page;
};

index_size size_of(const meta& now, const layout& shape, Oid tablespace);

// How many of `records` records become candidates although they are unrelated to the query. The plan must have bands.
double expected_candidates(const scan_plan& plan, double records);

// Whether it is cheaper to compare all records than to fetch this many candidates.
bool should_compare_all(const index_size& size, double candidates);

} // namespace minhash::pg::index
