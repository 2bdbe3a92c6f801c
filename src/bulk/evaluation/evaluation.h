// Estimates how well settings (numbers of bands and of rows per band) would work on a user's own texts. Some rows,
// drawn at random, are anchors. A true pair consists of an anchor and another row near it. All true pairs are searched
// for. The share that a setting finds is an estimate of the setting's recall among all rows, because every pair has the
// same chance of containing an anchor. Anchors are better than a plain sample of rows: a sample of one row in 100
// contains one in 10,000 of all near pairs, but if the same rows are anchors, one near pair in 50 contains an anchor.
//
// Pairs with the same anchor are not independent. So the error of the share is estimated from how much the share varies
// between anchors, as for cluster samples (Cochran 1977: Sampling Techniques, section 2.11 on ratios).
#pragma once

#include "bulk/rows/rows.h"

#include "core/interval.h"

namespace minhash::bulk {

// Bands and rows, and their results for the pairs that contain an anchor.
struct setting {
    minhash::banding banding;
    std::uint64_t candidates; // pairs that share a band
    std::uint64_t found;      // candidates that reach the threshold
    double predicted;         // the expected number of true pairs found
    interval recall;          // a 95% confidence interval for the recall among all rows
};

struct evaluation_result {
    std::uint32_t anchors;    // how many anchors were used
    std::uint64_t true_pairs; // pairs with an anchor whose similarity reaches the threshold
};

// If more pairs than this have to be verified, the number of anchors is halved as often as necessary, but not below a
// minimum. (Pairs of equal rows are not verified.)
constexpr std::size_t most_true_pairs = std::size_t{4} << 20;

// The task's recall must be at least this high, so that hardly any true pairs are missed.
constexpr double truth_recall = 1 - 1e-6;

// Compares anchors with all rows, and fills in the settings' results. Anchors must be distinct rows. They must be in
// random order, because the last ones may be dropped. The task must be exact.
evaluation_result evaluate(row_set& rows,
                           std::span<const std::uint32_t> anchors,
                           std::span<setting> settings,
                           std::size_t most_pairs = most_true_pairs);

} // namespace minhash::bulk
