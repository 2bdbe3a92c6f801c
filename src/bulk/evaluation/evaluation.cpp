#include "bulk/evaluation/anchors.h"
#include "bulk/evaluation/evaluation.h"
#include "bulk/search/candidates.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

// The anchors, and what is counted of them.
struct evaluation : anchor_set {
    std::span<const true_pair> pairs; // of different leaders
    double* near;                     // for each leader of anchors: how many true pairs each of its anchors has
    double* found;                    // for each leader of anchors: how many of these pairs the current setting finds
    double* seen_near;  // for each leader: how many anchors are near each of its rows that is not an anchor
    double* seen_found; // for each leader: how many of these anchors the current setting finds
};

// How many pairs consist of two rows with the same leader, at least one of them an anchor. Such pairs share every band.
std::uint64_t pairs_within(const evaluation& self)
{
    std::uint64_t pairs = 0;
    for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
        const std::uint64_t in = self.anchors_of[anchor];
        pairs += in * (self.rows_of[anchor] - in) + in * (in - 1) / 2;
    }
    return pairs;
}

// Initializes the counts of pairs, by anchor and by row: only the pairs of equal rows are counted so far.
void start_counts(const evaluation& self, double* of_anchors, double* of_rows)
{
    std::fill_n(of_rows, self.rows->count, 0);
    for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
        of_anchors[anchor] = self.rows_of[anchor] - 1;
        of_rows[self.leaders[anchor]] = self.anchors_of[anchor];
    }
}

void add_to_counts(const evaluation& self, const candidate& pair, double* of_anchors, double* of_rows)
{
    const std::uint32_t leader = self.leaders[pair.anchor];
    of_anchors[pair.anchor] += self.members[pair.row];
    of_rows[pair.row] += self.anchors_of[pair.anchor];
    if (self.number[pair.row] < self.count) {
        of_anchors[self.number[pair.row]] += self.members[leader];
        of_rows[leader] += self.anchors_of[self.number[pair.row]];
    }
}

// Counts how many of the true pairs a setting finds. Of its candidates, counts only those that are equal.
void try_setting(const evaluation& self, setting& tried)
{
    const banding banding = tried.banding;
    start_counts(self, self.found, self.seen_found);
    tried.candidates = tried.found = pairs_within(self);
    tried.predicted = static_cast<double>(tried.found);
    for (const true_pair& pair : self.pairs) {
        pause(*self.rows->owner);
        const auto [anchor, row] = pair.rows;
        const std::uint64_t weight = pairs_between(self, pair.rows);
        tried.predicted += static_cast<double>(weight) * band_probability(pair.similarity, banding.bands, banding.rows);
        if (first_shared(slots_of_anchor(self, anchor), slots_of_row(self, row), banding) == banding.bands)
            continue;
        tried.found += weight;
        add_to_counts(self, pair.rows, self.found, self.seen_found);
    }
}

// Estimates the sum of (found - recall * near)^2 over the rows that are not anchors. In this sum, `near` stands for the
// number of a row's true pairs, with any other row, and `found` for the number of these pairs that the setting finds.
// But only pairs with anchors are known. An estimate made from these pairs is unbiased, because every row is an anchor
// with the same probability, `drawn`.
double differences_of_rest(const evaluation& self, double recall, double drawn)
{
    const double missed = recall * recall;
    const double met = (1 - recall) * (1 - recall);
    double squares = 0;
    for (std::uint32_t row = 0; row < self.rows->count; row++) {
        pause(*self.rows->owner);
        const double near = self.seen_near[row];
        if (self.rows->leader[row] != row || near <= 0)
            continue;
        const double found = self.seen_found[row];
        const double difference = found - recall * near;
        const double rest = self.members[row] - static_cast<double>(anchors_in(self, row));
        squares += rest * (difference * difference - (1 - drawn) * (found * met + (near - found) * missed));
    }
    return squares / (drawn * drawn);
}

// A confidence interval for the recall of a setting. The pairs of one anchor are not independent: the more the recall
// differs from anchor to anchor, the less information the pairs contain. Few anchors, if any, are rows whose pairs are
// all missed. Usually, such a row affects only the counts of the anchors near it. So the variance is estimated a second
// time, from all rows, and the larger estimate is used. If the recall is the same for all anchors (for example, because
// all pairs are found), the variance cannot be estimated. Then all pairs of an anchor count as one pair.
interval recall_between(const evaluation& self, double recall)
{
    assert(recall >= 0 && recall <= 1);
    const auto used = static_cast<double>(self.anchors.size());
    const double drawn = used / self.rows->count;
    const double left_out = 1 - drawn;
    if (left_out <= 0)
        return {recall, recall};
    double pairs = 0;
    double squares = 0;
    double differences = 0;
    double paired = 0;
    for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
        const double weight = self.anchors_of[anchor];
        const double near = self.near[anchor];
        const double difference = self.found[anchor] - recall * near;
        pairs += weight * near;
        squares += weight * near * near;
        differences += weight * difference * difference;
        paired += near > 0 ? weight : 0;
    }
    double trials = pairs * pairs / squares / left_out;
    if (differences > 0) {
        const double of_all = drawn * (differences + differences_of_rest(self, recall, drawn));
        const double variance = std::max(differences * used / (used - 1), of_all) * left_out / (pairs * pairs);
        trials = std::min(pairs / left_out, recall * (1 - recall) / variance);
    }
    return wilson_interval(recall, adjust_trials(trials, paired - 1));
}

} // namespace

evaluation_result
evaluate(row_set& rows, std::span<const std::uint32_t> anchors, std::span<setting> settings, std::size_t most_pairs)
{
    assert(rows.task.whole_slots || rows.kept.bits == bits_per_slot);
    assert(rows.task.recall >= truth_recall);
    host& owner = *rows.owner;
    start_steps(rows);
    find_twins(rows);
    share_anchors(rows, anchors, most_pairs);
    evaluation self = {};
    static_cast<anchor_set&>(self) = open_anchors(rows);
    self.pairs = find_true_pairs(self);
    evaluation_result result = {static_cast<std::uint32_t>(self.anchors.size()), pairs_within(self)};
    self.near = allocate<double>(owner, self.count);
    self.found = allocate<double>(owner, self.count);
    self.seen_near = allocate<double>(owner, rows.count);
    self.seen_found = allocate<double>(owner, rows.count);
    start_counts(self, self.near, self.seen_near);
    for (const true_pair& pair : self.pairs) {
        result.true_pairs += pairs_between(self, pair.rows);
        add_to_counts(self, pair.rows, self.near, self.seen_near);
    }
    for (setting& each : settings) {
        try_setting(self, each);
        if (result.true_pairs > 0)
            each.recall =
                recall_between(self, static_cast<double>(each.found) / static_cast<double>(result.true_pairs));
    }
    count_candidates(rows, settings);
    end_steps(rows);
    return result;
}

} // namespace minhash::bulk
