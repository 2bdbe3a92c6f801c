// Confidence intervals for a share that was measured in a sample.
#pragma once

namespace minhash {

struct interval {
    double low;
    double high;
};

// Wilson's 95% interval for a share observed in independent trials. The number of trials need not be an integer (Wilson
// 1927: Probable Inference, the Law of Succession, and Statistical Inference).
interval wilson_interval(double share, double trials) noexcept;

// Corrects a number of trials that was derived from a variance that was itself estimated with `freedom` degrees of
// freedom. With the corrected number, the normal quantile can be used in place of Student's (Korn and Graubard 1998:
// Confidence Intervals for Proportions with Small Expected Number of Positive Counts).
double adjust_trials(double trials, double freedom) noexcept;

} // namespace minhash
