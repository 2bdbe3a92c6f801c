#include "bulk/tuning/choose_bands.h"

#include "core/codec.h"
#include "core/compress.h"

#include <cassert>
#include <cmath>

namespace minhash::bulk {

namespace {

// Numbers of hashes that are tried, besides least_hashes and most_hashes. Multiples of 64 make full use of vector
// instructions.
constexpr int hashes_tried[] = {64, 96, 128, 192, 256, 384, 512, 640, 768, 1024, 1536, 2048};

// Of `slots` slots, `equal` slots agree, and `rows` slots are chosen at random. Returns the probability that all of the
// chosen slots agree.
double share_of_band(double equal, double slots, int rows) noexcept
{
    double share = 1;
    for (int row = 0; row < rows && share > 0; row++)
        share *= std::max(0.0, equal - row) / (slots - row);
    return share;
}

// The probability that signatures of two sets of this similarity agree in at least `least` slots.
double share_checked(double similarity, int num_hashes, int least) noexcept
{
    const double deviation = std::sqrt(num_hashes * similarity * (1 - similarity));
    const double distance = least - 0.5 - num_hashes * similarity;
    if (deviation == 0)
        return distance <= 0;
    return std::erfc(distance / deviation / std::sqrt(2.0)) / 2;
}

// The minimum number of bands that reaches the recall, or 0 if even `most` bands do not reach it.
int bands_for(double threshold, int rows, double recall, int most) noexcept
{
    // The share missed is (1 - threshold^rows)^bands. Solve for bands, and let the loop correct for rounding.
    const double agree = std::pow(threshold, rows);
    int first = 1;
    if (agree < 1 && recall < 1) {
        const double solution = std::log1p(-recall) / std::log1p(-agree);
        first = static_cast<int>(std::clamp(solution - 1, 1.0, static_cast<double>(most)));
    }
    for (int bands = first; bands <= most; bands++)
        if (band_probability(threshold, bands, rows) >= recall)
            return bands;
    return 0;
}

// How many slots of two signatures have to agree if the signatures may be near: in all, and among the first ones, which
// are compared first. It depends on the number of hashes only, and takes longer to compute than the rest of a
// prediction, so it is computed once for all bandings.
struct agreement_wanted {
    int num_hashes;
    int least;          // of all num_hashes slots
    int start;          // how many slots are compared first
    int least_at_start; // of these
};

agreement_wanted agreement_for(const bands_wanted& wanted, int num_hashes) noexcept
{
    const int start = std::min<int>(num_hashes, slots_at_start);
    return {
        .num_hashes = num_hashes,
        .least = least_agreement(wanted.threshold, num_hashes, wanted.missed),
        .start = start,
        .least_at_start = least_agreement(wanted.threshold, start, wanted.missed),
    };
}

bands_plan predict(const bands_wanted& wanted,
                   const agreement_wanted& agreement,
                   banding banding,
                   agreement_counts sample,
                   const work_costs& costs) noexcept
{
    const auto [num_hashes, least, start, least_at_start] = agreement;
    assert(sample.size() >= 2 && banding.bands >= 1 && banding.bands * banding.rows <= num_hashes);
    const double slots = static_cast<double>(sample.size()) - 1;
    double all = 0;
    for (const std::uint64_t pairs : sample)
        all += static_cast<double>(pairs);
    const double of_each = all == 0 ? 0 : wanted.pairs / all; // how many pairs of rows each sampled pair stands for
    double meetings = 0;
    double candidates = 0;
    double rests = 0; // candidates whose starts agree enough, so that the rests are compared, too
    double checks = 0;
    for (std::size_t equal = sample.size(); equal-- > 0;) {
        const double pairs = static_cast<double>(sample[equal]) * of_each;
        const double share = share_of_band(static_cast<double>(equal), slots, banding.rows);
        if (pairs == 0 || share == 0)
            continue;
        const double met = share == 1 ? 1 : -std::expm1(banding.bands * std::log1p(-share));
        meetings += pairs * share * banding.bands;
        candidates += pairs * met;
        const double similarity = static_cast<double>(equal) / slots;
        rests += pairs * met * share_checked(similarity, start, least_at_start);
        if (wanted.exact)
            checks += pairs * met * share_checked(similarity, num_hashes, least);
    }
    const double rows = std::max(wanted.rows, 1.0);
    const double signing = rows * num_hashes * costs.hash;
    const double grouping = rows * banding.bands * costs.band + meetings * costs.shared_bucket;
    const double rest = (num_hashes - start) * costs.slot;
    const double verifying = candidates * costs.look + rests * rest + checks * costs.check;
    return {
        .num_hashes = num_hashes,
        .banding = banding,
        .candidates = candidates / rows,
        .checks = checks / rows,
        .cost = signing + grouping + verifying,
        .grouping = grouping,
        .verifying = verifying,
        .look = costs.look,
    };
}

} // namespace

agreement_counts
tally_agreements(host& owner, const scheme& scheme, std::span<const std::uint8_t> sample, sampled_counts& counts)
{
    assert(scheme.num_hashes <= most_sampled_slots);
    const std::size_t bytes = slot_bytes(scheme.bits, scheme.num_hashes);
    counts = {};
    for (std::size_t a = 0; a < sample.size(); a += bytes) {
        pause(owner);
        for (std::size_t b = 0; b < a; b += bytes)
            counts[count_equal(scheme, &sample[a], &sample[b])]++;
    }
    counts[scheme.num_hashes] = 0;
    return agreement_counts(counts).first(scheme.num_hashes + std::size_t{1});
}

work_costs costs_of(double text_bytes, bool exact) noexcept
{
    return {
        .hash = 1.5 + 1.5 * text_bytes / 1000,
        .band = 25,
        .shared_bucket = exact ? 25.0 : 40.0,
        .look = exact ? 90.0 : 150.0,
        .slot = 0.5,
        .check = 500 + 5 * text_bytes,
    };
}

double recall_to_expect(double promised) noexcept { return 1 - (1 - promised) / 4; }

bands_plan predict_cost(const bands_wanted& wanted,
                        int num_hashes,
                        banding banding,
                        agreement_counts sample,
                        const work_costs& costs) noexcept
{
    return predict(wanted, agreement_for(wanted, num_hashes), banding, sample, costs);
}

bands_plan choose_by_cost(const bands_wanted& wanted, agreement_counts sample, const work_costs& costs) noexcept
{
    assert(wanted.least_hashes >= 1 && wanted.least_hashes <= wanted.most_hashes);
    assert(wanted.threshold >= 0 && wanted.threshold <= 1 && wanted.recall <= 1);
    bands_plan best = {};
    const auto consider = [&](int num_hashes) {
        const int slots = static_cast<int>(sample.size()) - 1;
        const agreement_wanted agreement = agreement_for(wanted, num_hashes);
        for (int rows = 1; rows <= std::min(num_hashes, slots); rows++) {
            const int bands = bands_for(wanted.threshold, rows, wanted.recall, num_hashes / rows);
            if (bands == 0)
                break; // with more rows, the recall is even lower
            const bands_plan plan = predict(wanted, agreement, {bands, rows}, sample, costs);
            if (best.banding.bands == 0 || plan.cost < best.cost)
                best = plan;
        }
    };
    consider(wanted.least_hashes);
    for (const int num_hashes : hashes_tried)
        if (num_hashes > wanted.least_hashes && num_hashes < wanted.most_hashes)
            consider(num_hashes);
    if (wanted.most_hashes > wanted.least_hashes)
        consider(wanted.most_hashes);
    return best;
}

} // namespace minhash::bulk
