// The step that looks up rows in the index of rare shingles. A row's shingles bring the rows that have them among their
// rare ones; each adds to the score of such a row (rarest.h). Rows with enough score are compared by their lists.
//
// Rows whose rarest shingles are indexed are met only by shingles that can be the first that both rows share. Then
// further shingles are added to the scores of those that were met. Both depend on how much of the row's weight comes
// before a shingle, and on the other row's norm: the more weight has gone by, the smaller the norms of rows that can
// still be met. Norms only grow from ordinal to ordinal, so for each share of the row's weight there is an ordinal
// before which rows can be met.
#include "bulk/components/union_find.h"
#include "bulk/weighted/part.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// A share of a row's weight is kept as a whole number of steps, rounded down. All of the weight is this many steps.
constexpr std::uint32_t steps_of_weight = 32;

// Scores are whole numbers: weights, rounded up, in units of which the current row has so many. A bucket may have
// several of a row's ids, and then counts each shingle as often: there is room for 255 times the row.
constexpr std::uint32_t all_of_weight = std::uint32_t{1} << 24;

// A shingle of the current row that the index may have.
struct sought_shingle {
    std::uint32_t bucket;
    std::uint32_t step;   // the share of the row's weight that comes before the shingle
    std::uint32_t weight; // in units
    std::uint32_t met_to; // up to which posting the bucket's first shingles have met rows
};

struct rare_lookup : weighted_part {
    index_of_rare index;
    // For each ordinal: the weight, or the number of draws, that the current row has of its indexed ones.
    std::uint32_t* scores;
    growing<sought_shingle> sought;
    growing<std::uint32_t> met;
    growing<std::uint32_t> enough; // ordinals with enough score
    growing<listed_shingle> list;
    growing<listed_shingle> other;
    std::span<std::uint32_t> parent; // for clusters: rows that are connected are not compared

    // The ordinals that may be near the current row: they come before it in the order, and have norms large enough.
    std::uint32_t from;
    std::uint32_t end;

    // For each step: before which ordinal a shingle there can be the first that is shared, and before which ordinal it
    // is counted.
    std::array<std::uint32_t, steps_of_weight + 1> meets_before;
    std::array<std::uint32_t, steps_of_weight + 1> counts_before;
};

constexpr double rounding = 1e-9;

// The first ordinal whose row has more than this norm, or self.end.
std::uint32_t first_above(const rare_lookup& self, double norm)
{
    const std::uint32_t* const order = self.order + self.shared->first;
    const std::uint32_t* const at =
        std::partition_point(order, order + self.end, [&](auto row) { return self.norms[row] <= norm; });
    return static_cast<std::uint32_t>(at - order);
}

void find_ordinals(rare_lookup& self, std::uint32_t position)
{
    const double threshold = self.rows->task.threshold;
    self.end = std::min(position - self.shared->first, self.shared->dimensions.rows);
    self.from = first_above(self, threshold * threshold * self.norms[self.order[position]] * (1 - rounding));
}

// Two rows share at least t·sqrt(ab). If the weight a·(1 - share) of the row remains, this is at least `part` of what
// they share if b is at most (1 - share)² a / (part·t)².
void find_steps(rare_lookup& self, std::array<std::uint32_t, steps_of_weight + 1>& ordinals, double norm, double part)
{
    std::uint32_t at = self.end;
    for (std::uint32_t step = 0; step <= steps_of_weight; step++) {
        const double root = (1 - static_cast<double>(step) / steps_of_weight) / (part * self.rows->task.threshold);
        if (root < 1 && at > self.from)
            at = first_above(self, root * root * norm * (1 + rounding));
        ordinals[step] = at;
    }
}

// Finds the shingles of a row that the index may have. Returns their number.
std::size_t seek_shingles(rare_lookup& self, std::uint32_t row, std::span<const listed_shingle> list)
{
    const index_of_rare& index = self.index;
    const std::uint32_t side = self.shared->crossing && row < self.rows->first_count ? 1 : 0; // of the other query
    grow(*self.rows->owner, self.sought, 0, list.size());
    sought_shingle* const sought = self.sought.values;
    std::size_t count = 0;
    if (index.dimensions.drawn == index.dimensions.ids) {
        for (const listed_shingle shingle : list) {
            sought[count] = {static_cast<std::uint32_t>(bucket_of(index, id_of(shingle), side)), 0, 1, 0};
            count += passes_filter(index, id_of(shingle));
        }
        return count;
    }
    const std::uint32_t of_scope = scope_rows_of(self, row);
    const double steps = steps_of_weight / self.norms[row] * (1 - rounding);
    const double units = all_of_weight / self.norms[row];
    double before = self.known[row].singles * square_of_weight(self, of_scope, 1);
    for (const listed_shingle shingle : list) {
        const double weight = square_of_weight(self, of_scope, frequency_of(shingle));
        sought[count] = {static_cast<std::uint32_t>(bucket_of(index, id_of(shingle), side)),
                         std::min(static_cast<std::uint32_t>(before * steps), steps_of_weight),
                         static_cast<std::uint32_t>(weight * units) + 1,
                         0};
        count += passes_filter(index, id_of(shingle));
        before += weight;
    }
    return count;
}

// The first posting of a bucket that is not less than this one. Most often, this is the bucket's first or its end.
const std::uint32_t* find_posting(std::span<const std::uint32_t> bucket, std::uint32_t posting)
{
    constexpr std::size_t few = 8;
    const std::uint32_t* at = bucket.data();
    const std::uint32_t* const end = bucket.data() + bucket.size();
    if (bucket.empty() || bucket.front() >= posting)
        return at;
    if (bucket.back() < posting)
        return end;
    std::size_t left = bucket.size();
    while (left > few) {
        const std::size_t half = left / 2;
        at += at[half - 1] < posting ? half : 0;
        left -= half;
    }
    while (at < end && *at < posting)
        at++;
    return at;
}

// Adds the weight to the scores of the ordinals of this kind in a bucket, from self.from up to `to`. Ordinals that were
// not met before are added to self.met, which has `met` ordinals. Returns where in the bucket `to` is.
const std::uint32_t* meet(rare_lookup& self,
                          std::span<const std::uint32_t> bucket,
                          rare_kind kind,
                          std::uint32_t to,
                          std::uint32_t weight,
                          std::size_t& met)
{
    const std::uint32_t* const end = bucket.data() + bucket.size();
    const std::uint32_t last = make_posting(kind, to);
    grow(*self.rows->owner, self.met, met, met + bucket.size());
    std::uint32_t* const scores = self.scores;
    std::uint32_t* list = self.met.values + met;
    const std::uint32_t* at = find_posting(bucket, make_posting(kind, self.from));
    for (; at < end && *at < last; at++) {
        *list = ordinal_of(kind, *at);
        std::uint32_t& score = scores[*list];
        list += score == 0;
        score += weight;
    }
    met = static_cast<std::size_t>(list - self.met.values);
    return at;
}

// Adds the weight to the score of an ordinal that has been met.
void count_if_met(std::uint32_t& score, std::uint32_t weight)
{
    score += weight & -static_cast<std::uint32_t>(score != 0); // without a branch, which would often be mispredicted
}

// Adds the weight to the scores of the ordinals in a bucket, from self.from up to `to`, that have been met, but not
// again of those that the sought shingle met.
void count_met(rare_lookup& self, std::span<const std::uint32_t> bucket, const sought_shingle& sought, std::uint32_t to)
{
    const std::uint32_t* const start = bucket.data();
    const std::uint32_t* const end = start + bucket.size();
    std::uint32_t* const scores = self.scores;
    const std::uint32_t* at = self.index.postings + sought.met_to;
    for (const std::uint32_t last = make_posting(rare_kind::first, to); at < end && *at < last; at++)
        count_if_met(scores[ordinal_of(rare_kind::first, *at)], sought.weight);
    at = find_posting(bucket, make_posting(rare_kind::further, self.from) + 1);
    for (const std::uint32_t last = make_posting(rare_kind::further, to); at > start && at[-1] > last; at--)
        count_if_met(scores[ordinal_of(rare_kind::further, at[-1])], sought.weight);
}

// Makes the scores of all ordinals that the sought shingles meet. Returns how many there are in self.met.
std::size_t make_scores(rare_lookup& self, std::size_t count)
{
    constexpr std::size_t ahead = 8;
    const index_of_rare& index = self.index;
    sought_shingle* const sought = self.sought.values;
    const auto bucket_at = [&](std::size_t i) {
        const std::uint32_t* const start = index.starts + sought[i].bucket;
        return std::span(index.postings + start[0], index.postings + start[1]);
    };
    std::size_t met = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (i + 2 * ahead < count)
            __builtin_prefetch(&index.starts[sought[i + 2 * ahead].bucket]);
        if (i + ahead < count)
            __builtin_prefetch(bucket_at(i + ahead).data());
        const auto bucket = bucket_at(i);
        pause(*self.rows->owner);
        if (index.dimensions.drawn > 0)
            meet(self, bucket, rare_kind::drawn, self.end, 1, met);
        if (self.counts_before[sought[i].step] > self.from) {
            const auto* const to =
                meet(self, bucket, rare_kind::first, self.meets_before[sought[i].step], sought[i].weight, met);
            sought[i].met_to = static_cast<std::uint32_t>(to - index.postings);
        }
    }
    for (std::size_t i = 0; i < count && met > 0; i++) {
        const std::uint32_t to = self.counts_before[sought[i].step];
        if (to <= self.from)
            break;
        pause(*self.rows->owner);
        count_met(self, bucket_at(i), sought[i], to);
    }
    return met;
}

// Writes the ordinals with enough score to self.enough. Returns their number. Clears all scores.
std::size_t choose_met(rare_lookup& self, std::uint32_t row, std::size_t met)
{
    const index_of_rare& index = self.index;
    const std::uint32_t* const ordinals = self.met.values;
    grow(*self.rows->owner, self.enough, 0, met + 1);
    // The score that a row needs is this, times the root of its norm.
    const auto factor = static_cast<float>(enough_score * more_indexed * self.rows->task.threshold * all_of_weight /
                                           std::sqrt(self.norms[row]));
    // What any ordinal needs. Most have less, so what they need is not even read.
    const float least = index.dimensions.drawn > 0 ? least_drawn : factor * index.needed[self.from];
    std::size_t count = 0;
    for (std::size_t i = 0; i < met; i++) {
        const auto score = static_cast<float>(std::exchange(self.scores[ordinals[i]], 0U));
        self.enough.values[count] = ordinals[i];
        if (score >= least) {
            const float needed = index.needed[ordinals[i]];
            count += score >= (needed < 0 ? -needed : factor * needed);
        }
    }
    return count;
}

void look_up_rare_row(rare_lookup& self, std::uint32_t position, found_pairs& found)
{
    const shared_weights& shared = *self.shared;
    const row_set& rows = *self.rows;
    host& owner = *rows.owner;
    const std::uint32_t row = self.order[position];
    if (rows.leader[row] != row)
        return;
    find_ordinals(self, position);
    if (self.from >= self.end)
        return;
    if (shared.dimensions.drawn < shared.dimensions.ids) {
        find_steps(self, self.meets_before, self.norms[row], 1);
        find_steps(self, self.counts_before, self.norms[row], 1 - more_indexed);
    }
    const auto list = fetch_list(self, row, self.list);
    const std::size_t met = make_scores(self, seek_shingles(self, row, list));
    const std::size_t count = choose_met(self, row, met);
    std::sort(self.enough.values, self.enough.values + count);
    for (std::size_t i = 0; i < count; i++) {
        pause(owner);
        const std::uint32_t other = self.order[shared.first + self.enough.values[i]];
        assert(rows.leader[other] == other && other != row);
        if (!self.parent.empty() && find_root(self.parent, row) == find_root(self.parent, other))
            continue;
        const auto of_other = fetch_list(self, other, self.other);
        if (const auto similarity = similarity_of(self, row, list, other, of_other, rows.task.threshold)) {
            if (!self.parent.empty())
                join(self.parent, row, other);
            add_pair(found, {row, other, *similarity});
        }
    }
}

} // namespace

void look_up_rare_units(row_set& rows)
{
    rare_lookup self = {};
    static_cast<weighted_part&>(self) = start_part(rows);
    const shared_weights& shared = *self.shared;
    host& owner = *rows.owner;
    self.lists = open_left(rows, shared.lists);
    self.index = open_index(find_shared<char>(rows, shared.index), shared.dimensions);
    self.meets_before.fill(0); // unless any of the rarest shingles are indexed
    self.counts_before.fill(0);
    self.scores = allocate<std::uint32_t>(owner, shared.dimensions.rows);
    clear(owner, self.scores, shared.dimensions.rows);
    if (rows.search->parent != 0)
        self.parent = {find_shared<std::uint32_t>(rows, rows.search->parent), rows.count};
    found_pairs found;
    start_found(found, rows);
    each_range(found, [&](std::uint32_t range) {
        const std::uint32_t from = shared.first + range * looked_up_at_once;
        report(owner, "looking for near rows", from, rows.count);
        for (std::uint32_t position = from; position < std::min(rows.count, from + looked_up_at_once); position++)
            look_up_rare_row(self, position, found);
    });
    end_found(found);
}

} // namespace minhash::bulk
