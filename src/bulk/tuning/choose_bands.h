// Hashes, bands and rows by what they will cost: signing, going through bands, and candidates that
// come to nothing. How many of those there are is foretold by a sample: two signatures that agree
// in k of K slots agree in r slots chosen at random with a probability of
//
//     k (k-1) ... (k-r+1) / (K (K-1) ... (K-r+1)),
//
// which tells without bias how often rows like these share a band.
//
// As the rows of the sample are chosen at random from all, each pair of them stands for as many
// pairs of all rows as any other: copies and rows that have nothing to do with each other alike.
#pragma once

#include "core/tuning.h"

#include <cstdint>
#include <span>

namespace minhash::bulk {

// Slots that are compared first, if signatures have more: most candidates that are not near show it
// there, and signatures of many slots come from memory slowly.
constexpr std::uint16_t slots_at_start = 128;

// How similar pairs of rows of a sample are: how many of them agree in 0, 1, 2, ... slots. Pairs of
// a row with itself do not count. It has one number more than signatures have slots.
using agreement_counts = std::span<const std::uint64_t>;

// What work takes, in nanoseconds.
struct work_costs {
    double hash;    // of signing a row, for each hash
    double band;    // of a row, for each band
    double meeting; // two rows that share a band, each time
    double look;    // comparing the start of the signatures of a candidate
    double slot;    // comparing the rest of them, for each hash
    double check;   // comparing its texts
};

// For texts of a number of bytes, in the mean, or signatures: measured (test/bench/RESULTS.md).
// Candidates of exact comparisons cost less, as their signatures are looked at in the buckets.
work_costs costs_of(double text_bytes, bool exact) noexcept;

// The share of pairs at the threshold that comparing signatures before an exact comparison may
// lose, each time: a tenth of what may be missed in all.
constexpr double share_missed(double promised) noexcept
{
    return (1 - promised) / 10;
}

struct bands_wanted {
    double rows;
    double pairs; // that can be asked for: of n rows, n (n - 1) / 2
    double threshold;
    double recall;    // of pairs at the threshold
    double missed;    // share_missed(), of exact comparisons
    int least_hashes; // the same as most_hashes if signatures are given
    int most_hashes;
    bool exact; // candidates whose signatures agree enough are compared by their texts
};

struct bands_plan {
    int num_hashes;
    band_choice shape; // bands = 0: no choice finds enough
    double candidates; // expected for each row
    double checks;     // of those, compared by their texts
    double cost;       // of all rows, in nanoseconds: the sum of these
    double signing;
    double banding;
    double verifying;
};

// The recall to choose bands for, so that the promised one is reached. The share that is found
// scatters around the expected one: pairs at the threshold are few and alike, and slots of short
// texts are not independent. So a quarter of what may be missed is expected to be missed.
double recall_to_expect(double promised) noexcept;

// The cheapest choice that finds the recall wanted at the threshold.
bands_plan choose_by_cost(const bands_wanted& wanted,
                          agreement_counts sample,
                          const work_costs& costs) noexcept;

// What a choice that was made otherwise will cost.
bands_plan foretell(const bands_wanted& wanted,
                    int num_hashes,
                    band_choice shape,
                    agreement_counts sample,
                    const work_costs& costs) noexcept;

} // namespace minhash::bulk
