// Chooses the numbers of hashes, of bands, and of rows per band that cost the least time for signing, banding and
// verifying. The number of candidates is predicted from a sample. If two signatures agree in k of K slots, the
// probability that they agree in r slots chosen at random is
//
//     k (k-1) ... (k-r+1) / (K (K-1) ... (K-r+1)).
//
// This is an unbiased estimate of the probability that two such rows share a given band.
//
// The rows of the sample are chosen at random. So each pair of sampled rows represents the same number of pairs among
// all rows, whether the two rows are copies or unrelated.
#pragma once

#include "bulk/memory/host.h"

#include "core/scheme.h"
#include "core/tuning.h"

#include <array>

namespace minhash::bulk {

// How many slots of two signatures are compared first. These slots alone are enough to reject most false candidates.
// This saves time, because reading the whole of a long signature from memory is slow.
constexpr std::uint16_t slots_at_start = 128;

// The maximum number of rows in a sample. With more rows, sampling would take more time than a better choice saves.
constexpr std::uint32_t most_sampled = 1000;

// In a sample, only this many slots of each signature are compared, the first ones, or all slots if there are fewer.
constexpr std::uint16_t most_sampled_slots = 128;

using sampled_counts = std::array<std::uint64_t, most_sampled_slots + 1>;

// Entry k is the number of pairs of rows in a sample that agree in exactly k slots. There is one entry more than the
// number of slots compared.
using agreement_counts = std::span<const std::uint64_t>;

// Compares all pairs of signatures of a sample. The signatures have this scheme, and are stored one after the other.
// The result refers to `counts`. Pairs that agree in all slots are not counted, because equal rows are represented by
// one of them and not compared.
agreement_counts
tally_agreements(host& owner, const scheme& scheme, std::span<const std::uint8_t> sample, sampled_counts& counts);

// The cost of each kind of work, in nanoseconds.
struct work_costs {
    double hash;          // signing a row, for each hash
    double band;          // banding a row, for each band
    double shared_bucket; // handling two rows that share a band, for each band that they share
    double look;          // comparing the starts of a candidate's two signatures
    double slot;          // comparing the rests of these signatures, for each slot
    double check;         // comparing the texts of a candidate
};

// Costs for documents with this mean size in bytes, as measured (test/bench/RESULTS.md). In exact tasks, candidates
// cost less, because the starts of their signatures are compared inside the buckets.
work_costs costs_of(double text_bytes, bool exact) noexcept;

// In exact tasks, signatures are compared several times before the texts are compared. Each comparison of signatures
// may lose this share of the pairs at the threshold: a tenth of the share that may be missed in all.
constexpr double share_missed(double promised) noexcept { return (1 - promised) / 10; }

struct bands_wanted {
    double rows;
    double pairs; // how many pairs there are to compare: n (n - 1) / 2 among n rows
    double threshold;
    double recall;    // the recall wanted for pairs at the threshold
    double missed;    // in exact tasks, share_missed()
    int least_hashes; // equal to most_hashes if the number of hashes is already fixed
    int most_hashes;
    bool exact; // candidates whose signatures agree enough are verified by comparing their texts
};

struct bands_plan {
    int num_hashes;
    minhash::banding banding; // bands = 0: no choice reaches the recall
    double candidates;        // the expected number of candidates per row
    double checks;            // the expected number of comparisons of texts per row
    double cost;              // the cost of all rows in nanoseconds: signing and the next two
    double grouping;
    double verifying;
    double look; // the cost of comparing the starts of a candidate's signatures
};

// The expected recall for which bands are chosen when a recall is promised. Results scatter around the expected recall,
// because pairs at the threshold are few and alike, and slots of short texts are not independent. So bands are chosen
// to miss only a quarter of the share that may be missed.
double recall_to_expect(double promised) noexcept;

// The cheapest choice that reaches the wanted recall at the threshold.
bands_plan choose_by_cost(const bands_wanted& wanted, agreement_counts sample, const work_costs& costs) noexcept;

// Predicts the costs of a choice: this number of hashes, with these bands and rows.
bands_plan predict_cost(const bands_wanted& wanted,
                        int num_hashes,
                        banding banding,
                        agreement_counts sample,
                        const work_costs& costs) noexcept;

} // namespace minhash::bulk
