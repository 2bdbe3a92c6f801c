#include "core/interval.h"

#include <cmath>
#include <gtest/gtest.h>

namespace {

using minhash::adjust_trials;
using minhash::interval;
using minhash::wilson_interval;

// Newcombe 1998, Two-sided confidence intervals for the single proportion, table I, method 3.
TEST(interval, of_wilson_is_as_published)
{
    struct published {
        double seen, trials, low, high;
    };

    for (const published& line : {published{81, 263, 0.2553, 0.3662},
                                  published{15, 148, 0.0624, 0.1605},
                                  published{0, 20, 0, 0.1611},
                                  published{1, 29, 0.0061, 0.1718}}) {
        const interval found = wilson_interval(line.seen / line.trials, line.trials);
        EXPECT_NEAR(found.low, line.low, 5e-5);
        EXPECT_NEAR(found.high, line.high, 5e-5);
    }
}

TEST(interval, of_no_trials_is_everything)
{
    const interval found = wilson_interval(0.5, 0);
    EXPECT_EQ(found.low, 0);
    EXPECT_EQ(found.high, 1);
}

TEST(interval, holds_the_share)
{
    for (const double share : {0.0, 0.1, 0.9, 1.0})
        for (double trials = 0.001; trials < 1e12; trials *= 3) {
            const interval found = wilson_interval(share, trials);
            EXPECT_LE(0, found.low);
            EXPECT_LE(found.low, share);
            EXPECT_LE(share, found.high);
            EXPECT_LE(found.high, 1);
        }
}

// The 0.975 quantile of Student's distribution, from published tables.
TEST(interval, few_degrees_of_freedom_count_less)
{
    struct entry {
        double freedom, quantile, error;
    };

    for (const entry& line : {entry{1, 12.706, 1e-3},
                              entry{2, 4.303, 1e-3},
                              entry{3, 3.182, 0.03},
                              entry{5, 2.571, 0.005},
                              entry{10, 2.228, 5e-4},
                              entry{30, 2.042, 5e-4},
                              entry{1e9, 1.960, 5e-4}})
        EXPECT_NEAR(1.959964 / std::sqrt(adjust_trials(1, line.freedom)), line.quantile, line.error);
    EXPECT_EQ(adjust_trials(5, 0), 0);
}

} // namespace
