// How % is answered at a threshold.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg::lsh {

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

} // namespace minhash::pg::lsh
