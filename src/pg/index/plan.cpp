#include "pg/arguments.h"
#include "pg/index/plan.h"

#include "core/tuning.h"

#include <algorithm>

namespace minhash::pg::lsh {

namespace {

// If candidates agree in one slot only, comparing all records is as fast.
constexpr int least_depth = 2;

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

} // namespace minhash::pg::lsh
