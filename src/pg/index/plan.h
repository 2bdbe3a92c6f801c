// How a scan is answered, and what that costs. The planner and the executor decide by the same
// functions.
#pragma once

#include "pg/arguments.h"
#include "pg/index/format.h"

namespace minhash::pg::index {

// Records that agree in `depth` slots of one of the first `bands` bands; at depth 0, all records.
struct scan_plan {
    int depth;
    int bands;
};

// What a lookup finds of the rows at the threshold: as lsh_params() promises by default. What a
// constraint finds: what it misses stays in the table, but bands more are pages more to read.
constexpr double recall_of_lookups = 0.95;
constexpr double recall_of_constraints = 0.99;

// The fewest candidates that the recall can be had with; if it cannot with all bands, those of a
// lookup.
scan_plan plan_scan(double threshold, const banding& shape, double recall = recall_of_lookups);

// Without an order, about so many candidates are compared before the first rows are given.
constexpr int first_candidates = 64;

// How large an index is, and what reading its pages costs.
struct index_size {
    double records;
    double record_pages;
    double tail_records;
    double tail_pages;
    double runs;
    double levels; // of all runs together, leaves among them
    double random_page;
    double sequential_page;
};

index_size size_of(const meta& now, const layout& shape, Oid tablespace);

// How many of some records a plan with bands leads to that have nothing to do with the query.
double expected_candidates(const scan_plan& plan, double records);

double cost_of_all(const index_size& size);
double cost_of_candidates(const index_size& size, double candidates);
double cost_of_bands(const index_size& size, const scan_plan& plan);

// Whether comparing all records is cheaper than going to these candidates one by one.
inline bool should_compare_all(const index_size& size, double candidates)
{
    return cost_of_candidates(size, candidates) > cost_of_all(size);
}

} // namespace minhash::pg::index
