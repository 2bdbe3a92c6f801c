#include "bulk/evaluation/sample.h"
#include "bulk/sets/distinct_elements.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace minhash::bulk {

namespace {

// Covers 95% of the means of numbers whose distribution is skewed, as the sizes of clusters are.
constexpr double quantile = 2.539;

// Makes intervals of the share wider, by 12%, so that a few near rows may be missed by the search.
constexpr double spare = 1.25;

// The estimate of the share is given if its bounds are no further apart than this.
constexpr double most_apart = 0.1;

// An allowance for the pairs of one cluster that has no anchor. A cluster of 3 rows / anchors has an anchor with a
// probability of 95%. If anchors are compared only with a part of the rows, they can also miss each of its pairs.
double unseen_pairs(const anchor_counts& counts)
{
    const double rows = (counts.share < 1 ? 4.75 : 3) * counts.rows / counts.anchors;
    return rows * rows / 2;
}

interval pairs_between(const anchor_counts& counts, double pairs, double left_out)
{
    if (left_out <= 0)
        return {pairs, pairs};
    const double most = counts.rows * (counts.rows - 1) / 2;
    if (counts.near <= 0)
        return {0, std::min(most, unseen_pairs(counts))};
    const double mean = counts.near / counts.anchors;
    const double spread = std::max(0.0, counts.squares / counts.anchors - mean * mean);
    const double of_anchors = spread / std::max(1.0, counts.anchors - 1) * left_out;
    // Each other row was compared with probability `share` (Horvitz and Thompson 1952).
    const double of_others = (1 - counts.share) * counts.seen_squares / std::pow(counts.share * counts.anchors, 2);
    const double factor = std::exp(std::min(quantile * std::sqrt(of_anchors + of_others) / mean, 50.0));
    const double seen = pairs * counts.anchors / counts.rows * counts.share; // at least so many different pairs
    // Rows of a kind that no anchor has may have no pairs. With a probability of 95%, they are at most 3 / anchors of
    // all rows, so at least this share of the rows is of a kind that an anchor has.
    const double seen_kinds = 1 - left_out * std::min(1.0, 3 / counts.anchors);
    return {std::max(seen, pairs / factor * seen_kinds),
            std::min(most, pairs * factor + left_out * unseen_pairs(counts))};
}

} // namespace

sample_estimate estimate(const anchor_counts& counts) noexcept
{
    assert(counts.share > 0 && counts.share <= 1 && counts.anchors <= counts.rows);
    if (counts.anchors <= 0)
        return {0, {0, 0}, 0, {0, 0}};
    const double left_out = 1 - counts.anchors / counts.rows;
    const double pairs = counts.rows * counts.near / counts.anchors / 2;
    const double paired = counts.paired / counts.anchors;
    sample_estimate result = {pairs, pairs_between(counts, pairs, left_out), paired, {paired, paired}};
    if (left_out <= 0)
        return result;
    const double trials = counts.anchors / (spare * left_out); // corrected because the number of rows is finite
    result.near_share_between = wilson_interval(paired, trials);
    if (counts.share == 1)
        return result;
    // An anchor near d other rows was compared with one of them with probability d share (1 - share)^(d - 1), and with
    // none of them with probability (1 - share)^d. The ratio is at most that for d = 1.
    const double missed = (1 - counts.share) / counts.share;
    const double single = counts.single / counts.anchors;
    interval& between = result.near_share_between;
    between.high = std::min(1.0, between.high + missed * wilson_interval(single, trials).high);
    const bool narrow = between.high - between.low <= most_apart;
    result.near_share = narrow ? std::optional(std::min(1.0, paired + missed * single / 2)) : std::nullopt;
    return result;
}

std::uint32_t median_shingles(row_set& rows, std::size_t unread)
{
    constexpr std::uint32_t most = 250;
    assert(rows.signer != nullptr && rows.count > 0);
    host& owner = *rows.owner;
    distinct_elements set = {};
    set.owner = &owner;
    growing<std::uint8_t> buffer = {};
    std::uint32_t sizes[most];
    const std::uint32_t count = std::min(rows.count, most);
    for (std::uint32_t i = 0; i < count; i++) {
        pause(owner);
        const auto row = static_cast<std::uint32_t>(i * std::uint64_t{rows.count} / count);
        sizes[i] = UINT32_MAX;
        if (document_size(rows, row) < unread) {
            read_text(*rows.signer, fetch_document(rows, row, buffer), set);
            sizes[i] = static_cast<std::uint32_t>(set.count);
        }
    }
    std::nth_element(sizes, sizes + (count - 1) / 2, sizes + count);
    return sizes[(count - 1) / 2];
}

} // namespace minhash::bulk
