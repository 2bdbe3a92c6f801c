// Estimates how well bands and rows would do on a user's own texts. Some rows, drawn at random, are anchors, and the
// rows near an anchor are searched for among all rows: these are the true pairs. The share of the true pairs that a
// setting would have found estimates the setting's recall among all rows, because every pair has the same chance to
// contain an anchor. Anchors use rows better than a sample does: a sample of one row in 100 has one of 10,000 true
// pairs, but if the same rows are anchors, one true pair in 50 contains an anchor.
//
// The error of the share is estimated from how much the share varies between anchors, because pairs with the same
// anchor are not independent. This is how cluster samples are treated (Cochran 1977: Sampling Techniques, section 2.11
// on ratios).
#pragma once

#include "bulk/rows/rows.h"

#include "core/interval.h"

namespace minhash::bulk {

// Bands and rows, and how well they did among the pairs with an anchor.
struct setting {
    band_choice shape;
    std::uint64_t candidates; // pairs that share a band
    std::uint64_t found;      // candidates that reach the threshold
    double predicted;         // the expected number of true pairs found
    interval recall;          // a 95% confidence interval for the recall among all rows
};

struct evaluation_result {
    std::uint32_t anchors;    // how many anchors were used
    std::uint64_t true_pairs; // pairs with an anchor whose similarity reaches the threshold
};

// If there may be more true pairs than this, the number of anchors is halved until there cannot be.
constexpr std::size_t most_true_pairs = std::size_t{4} << 20;

// The least recall of the task: the true pairs must lack hardly any.
constexpr double truth_recall = 1 - 1e-6;

// Compares anchors with all rows, and fills in the settings' results. Anchors are distinct rows, in any order; the task
// is exact.
evaluation_result evaluate(row_set& rows,
                           std::span<const std::uint32_t> anchors,
                           std::span<setting> settings,
                           std::size_t most_pairs = most_true_pairs);

} // namespace minhash::bulk
