#include "core/interval.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace minhash {

namespace {

constexpr double normal_quantile = 1.959963984540054; // the 0.975 quantile

// The 0.975 quantile of Student's t distribution, by the Cornish-Fisher expansion. Below three degrees of freedom, the
// expansion underestimates the quantile, so values from tables are used.
double student_quantile(double freedom) noexcept
{
    if (freedom < 2)
        return 12.706;
    if (freedom < 3)
        return 4.303;
    const double z = normal_quantile;
    const double z3 = z * z * z;
    const double z5 = z3 * z * z;
    const double z7 = z5 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

} // namespace

interval wilson_interval(double share, double trials) noexcept
{
    assert(share >= 0 && share <= 1);
    if (trials <= 0)
        return {0, 1};
    const double square = normal_quantile * normal_quantile / trials;
    const double middle = (share + square / 2) / (1 + square);
    const double half = std::sqrt(square * share * (1 - share) + square * square / 4) / (1 + square);
    return {std::clamp(middle - half, 0.0, share), std::clamp(middle + half, share, 1.0)};
}

double adjust_trials(double trials, double freedom) noexcept
{
    if (freedom < 1)
        return 0;
    const double ratio = normal_quantile / student_quantile(freedom);
    return trials * ratio * ratio;
}

} // namespace minhash
