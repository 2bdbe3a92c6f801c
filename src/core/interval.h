// Between which bounds a share lies, as far as a sample tells.
#pragma once

namespace minhash {

struct interval {
    double low;
    double high;
};

// Wilson's interval of 95% for a share that was seen in independent trials, whose number need not
// be whole (Wilson 1927: Probable Inference, the Law of Succession, and Statistical Inference).
interval wilson_interval(double share, double trials) noexcept;

// Trials that tell as much as these, where a variance was estimated with `freedom` degrees of
// freedom: the normal quantile takes the place of Student's (Korn and Graubard 1998: Confidence
// Intervals for Proportions with Small Expected Number of Positive Counts).
double adjust_trials(double trials, double freedom) noexcept;

} // namespace minhash
