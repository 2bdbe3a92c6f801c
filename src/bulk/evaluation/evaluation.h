// How well bands and rows would do on a user's own texts: some rows, drawn at random, are anchors,
// and the rows near to an anchor are looked for among all rows. Each setting is then asked which of
// these true pairs it would have found, and the share tells its recall among all rows: every pair
// has the same chance to have an anchor in it. Near-duplicates can be rare: a sample of a hundredth
// of the rows has one true pair of 10,000, while its rows as anchors have one of 50.
//
// How far the share may be off is estimated from how it differs between anchors, as for any sample
// of clusters (Cochran 1977: Sampling Techniques, section 2.11 on ratios): pairs of one anchor go
// together.
#pragma once

#include "bulk/rows/rows.h"

#include "core/interval.h"

namespace minhash::bulk {

// Bands and rows, and what they did, among pairs with an anchor.
struct setting {
    band_choice shape;
    std::uint64_t candidates; // pairs that share a band
    std::uint64_t found;      // of them, those that reach the threshold
    double predicted;         // how many of the true pairs would be found on average
    interval recall;          // among all rows: with 95% probability between these
};

struct evaluation_result {
    std::uint32_t anchors;    // that were used
    std::uint64_t true_pairs; // with an anchor, whose similarity reaches the threshold
};

// If true pairs may be more, fewer anchors are used, the first ones.
constexpr std::size_t most_true_pairs = std::size_t{4} << 20;

// Compares anchors, different rows of an exact task in any order, with all rows, and fills the
// settings' results.
evaluation_result evaluate(row_set& rows,
                           std::span<const std::uint32_t> anchors,
                           std::span<setting> settings,
                           std::size_t most_pairs = most_true_pairs);

} // namespace minhash::bulk
