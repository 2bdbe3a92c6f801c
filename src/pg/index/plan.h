// How % is answered at a threshold.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg::lsh {

// Records that agree in `depth` slots of one of the first `bands` bands; at depth 0, all records.
struct scan_plan {
    int depth;
    int bands;
};

// The fewest candidates that the recall of lsh_params() can be had with.
scan_plan plan_scan(double threshold, const banding& shape);

} // namespace minhash::pg::lsh
