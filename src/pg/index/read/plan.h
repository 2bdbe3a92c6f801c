// How a scan is answered, and its cost. Planner and executor decide by the same functions.
#pragma once

#include "pg/index/format/format.h"

namespace minhash::pg::index {

// A search compares the records that agree with the query in the first `depth` slots of at least one of the first
// `bands` bands. At depth 0, it compares all records. A search by score (score.h) has depth 1.
struct scan_plan {
    int depth;
    int bands;
    bool by_score;
};

// The recall that a plan should reach at the threshold. The recall of lookups is the default of lsh_params(). The
// recall of constraints is higher, at the cost of more pages read, because a conflict that is missed stays in the
// table. (With the recall of constraints, a lookup at 0.8 among 300,000 rows takes 17 µs instead of 12. So whoever
// looks up the row that a constraint met should use a lower threshold, as doc/refuse-or-mark.md does.)
constexpr double recall_of_lookups = 0.95;
constexpr double recall_of_constraints = 0.99;

// Returns the plan with the greatest depth that can reach the recall of lookups. The plan has the smallest number of
// bands that reaches `recall`, or all bands if even these do not reach it. The plan has depth 0 if no depth from 2 on
// can reach the recall of lookups (from 1 on, if a band has only one row).
scan_plan plan_scan(double threshold, const banding& banding, double recall = recall_of_lookups);

// If there is no ORDER BY, a scan first reads up to this many entries of each band in each run, and then returns the
// rows found so far. The planner expects this many candidates in all before the first rows.
constexpr int first_candidates = 64;

// How large an index is, and what reading its pages costs.
struct index_size {
    double records;
    double record_pages;
    double tail_records;
    double tail_pages;
    double runs;
    double levels; // the sum of the levels of all runs, including leaves
    double random_page;
    double sequential_page;
};

index_size size_of(const meta& current, const layout& layout, Oid tablespace);

// How many of `records` records are expected to become candidates although they are unrelated to the query. The result
// has no meaning for a plan of depth 0.
double expected_candidates(const scan_plan& plan, double records);

// Whether it is cheaper to compare all records than to fetch this many candidates. False for up to
// first_candidates, whose cost hardly matters.
bool should_compare_all(const index_size& size, double candidates);

} // namespace minhash::pg::index
