#include "pg/arguments.h"
#include "pg/index/plan.h"

#include "core/tuning.h"

#include <algorithm>

namespace minhash::pg::lsh {

namespace {

constexpr double promised_recall = 0.95; // the default of lsh_params()

// If candidates agree in one slot only, comparing all records is as fast.
constexpr int least_depth = 2;

} // namespace

scan_plan plan_scan(double threshold, const banding& shape)
{
    for (int depth = shape.rows; depth >= std::min(least_depth, shape.rows); depth--) {
        if (depth == 0 || band_probability(threshold, shape.bands, depth) < promised_recall)
            continue;
        int bands = 1;
        while (band_probability(threshold, bands, depth) < promised_recall)
            bands++;
        return {depth, bands};
    }
    return {0, 0};
}

} // namespace minhash::pg::lsh
