// The step that looks up rows in the index of rare shingles. A row's shingles bring the rows that have them among their
// rare ones; each adds to the score of such a row (rarest.h). Rows with enough score are compared by their lists.
//
// Rows whose rarest shingles are indexed are met only by shingles that can be the first that both rows share. Then
// further shingles are added to the scores of those that were met. Both depend on how much of the row's weight comes
// before a shingle, and on the other row's norm: the more weight has gone by, the smaller the norms of rows that can
// still be met. Norms only fall from ordinal to ordinal, so for each share of the row's weight there is an ordinal from
// which on rows can be met.
#include "bulk/components/union_find.h"
#include "bulk/search/found_pairs.h"
#include "bulk/weighted/look_up.h"
#include "bulk/weighted/part.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// A share of a row's weight is kept as a whole number of steps, rounded down. All of the weight is this many steps.
constexpr std::uint32_t steps_of_weight = 32;

// A shingle of the current row that the index may have.
struct sought_shingle {
    std::uint32_t bucket;
    std::uint32_t step; // the share of the row's weight that comes before the shingle
    float weight;
};

struct rare_lookup : weighted_part {
    index_of_rare index;
    float* scores; // for each ordinal: the weight, or the number of draws, that the current row has of its indexed ones
    growing<sought_shingle> sought;
    growing<std::uint32_t> met;
    growing<std::uint64_t> enough; // ordinals with enough score, and their scores
    growing<listed_shingle> list;
    growing<listed_shingle> other;
    std::span<std::uint32_t> parent; // for clusters: rows that are connected are not compared

    // The ordinals that may be near the current row: they come after it in the order, and have norms large enough.
    std::uint32_t from;
    std::uint32_t end;

    // For each step: from which ordinal on a shingle there can be the first that is shared, and from which ordinal on
    // it is counted.
    std::array<std::uint32_t, steps_of_weight + 1> meets_from;
    std::array<std::uint32_t, steps_of_weight + 1> counts_from;
};

constexpr double rounding = 1e-9;

// The first ordinal from `from` on whose row has at most this norm.
std::uint32_t first_place(const rare_lookup& self, std::uint32_t from, double norm)
{
    const std::uint32_t* const order = self.order + self.shared->first;
    const std::uint32_t* const at = std::partition_point(order + from,
                                                         order + self.shared->dimensions.rows,
                                                         [&](auto row) { return self.norms[row] > norm; });
    return static_cast<std::uint32_t>(at - order);
}

void find_places(rare_lookup& self, std::uint32_t position)
{
    const std::uint32_t first = self.shared->first;
    const std::uint32_t ordinals = self.shared->dimensions.rows;
    const double threshold = self.rows->task.threshold;
    self.from = position < first ? 0 : std::min(position - first + 1, ordinals);
    self.end = first_place(self, self.from, threshold * threshold * self.norms[self.order[position]] * (1 - rounding));
}

// Two rows share at least t·sqrt(ab). If the weight a·(1 - share) of the row remains, this is at least `part` of what
// they share if b is at most (1 - share)² a / (part·t)².
void find_steps(rare_lookup& self, std::array<std::uint32_t, steps_of_weight + 1>& ordinals, double norm, double part)
{
    std::uint32_t at = self.from;
    for (std::uint32_t step = 0; step <= steps_of_weight; step++) {
        const double root = (1 - static_cast<double>(step) / steps_of_weight) / (part * self.rows->task.threshold);
        if (root < 1 && at < self.end)
            at = std::min(first_place(self, at, root * root * norm * (1 + rounding)), self.end);
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
            sought[count] = {static_cast<std::uint32_t>(bucket_of(index, id_of(shingle), side)), 0, 0};
            count += passes_filter(index, id_of(shingle));
        }
        return count;
    }
    const std::uint32_t of_scope = scope_rows_of(self, row);
    const double steps = steps_of_weight / self.norms[row] * (1 - rounding);
    double before = self.singles[row] * square_of_weight(self, of_scope, 1);
    for (const listed_shingle shingle : list) {
        const double weight = square_of_weight(self, of_scope, frequency_of(shingle));
        sought[count] = {static_cast<std::uint32_t>(bucket_of(index, id_of(shingle), side)),
                         std::min(static_cast<std::uint32_t>(before * steps), steps_of_weight),
                         static_cast<float>(weight)};
        count += passes_filter(index, id_of(shingle));
        before += weight;
    }
    return count;
}

// The first posting of a bucket that is not less than this one.
const std::uint32_t* find_posting(std::span<const std::uint32_t> bucket, std::uint32_t posting)
{
    constexpr std::size_t few = 8;
    const std::uint32_t* at = bucket.data();
    std::size_t left = bucket.size();
    while (left > few) {
        const std::size_t half = left / 2;
        at += at[half - 1] < posting ? half : 0;
        left -= half;
    }
    const std::uint32_t* const end = bucket.data() + bucket.size();
    while (at < end && *at < posting)
        at++;
    return at;
}

// Adds the weight to the scores of the ordinals in a bucket, from `from` on. Ordinals that were not met before are
// added to self.met. Returns how many there are then.
std::size_t meet(rare_lookup& self,
                 std::span<const std::uint32_t> bucket,
                 rare_kind kind,
                 std::uint32_t from,
                 float weight,
                 std::size_t met)
{
    const std::uint32_t* const end = bucket.data() + bucket.size();
    const std::uint32_t last = make_posting(kind, self.end);
    grow(*self.rows->owner, self.met, met, met + bucket.size());
    float* const scores = self.scores;
    std::uint32_t* const list = self.met.values;
    for (const std::uint32_t* at = find_posting(bucket, make_posting(kind, from)); at < end && *at < last; at++) {
        const std::uint32_t ordinal = *at & (most_places - 1);
        list[met] = ordinal;
        met += scores[ordinal] == 0;
        scores[ordinal] += weight;
    }
    return met;
}

// Adds the weight to the scores of the ordinals in a bucket that have been met.
void count_met(rare_lookup& self,
               std::span<const std::uint32_t> bucket,
               rare_kind kind,
               std::uint32_t from,
               std::uint32_t to,
               float weight)
{
    if (from >= to)
        return;
    const std::uint32_t* const end = bucket.data() + bucket.size();
    const std::uint32_t last = make_posting(kind, to);
    float* const scores = self.scores;
    for (const std::uint32_t* at = find_posting(bucket, make_posting(kind, from)); at < end && *at < last; at++) {
        float& score = scores[*at & (most_places - 1)];
        score += score != 0 ? weight : 0;
    }
}

// Makes the scores of all ordinals that the sought shingles meet. Returns how many there are in self.met.
std::size_t make_scores(rare_lookup& self, std::size_t count)
{
    constexpr std::size_t ahead = 8;
    const index_of_rare& index = self.index;
    const sought_shingle* const sought = self.sought.values;
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
            met = meet(self, bucket, rare_kind::drawn, self.from, 1, met);
        if (const std::uint32_t from = self.meets_from[sought[i].step]; from < self.end)
            met = meet(self, bucket, rare_kind::first, from, sought[i].weight, met);
    }
    for (std::size_t i = 0; i < count && met > 0; i++) {
        const std::uint32_t from = self.counts_from[sought[i].step];
        if (from >= self.end)
            break;
        pause(*self.rows->owner);
        const auto bucket = bucket_at(i);
        count_met(self, bucket, rare_kind::first, from, self.meets_from[sought[i].step], sought[i].weight);
        count_met(self, bucket, rare_kind::further, from, self.end, sought[i].weight);
    }
    return met;
}

// The weight that a row and one of this norm must have in common of the shingles that are counted.
float weight_needed(const rare_lookup& self, std::uint32_t row, double norm)
{
    return static_cast<float>(more_indexed * self.rows->task.threshold * std::sqrt(self.norms[row] * norm));
}

// Writes the ordinals with enough score, and their scores, to self.enough. Returns their number. Clears all scores.
std::size_t choose_met(rare_lookup& self, std::uint32_t row, std::size_t met)
{
    const rare_index_dimensions& dimensions = self.index.dimensions;
    const std::uint32_t* const ordinals = self.met.values;
    grow(*self.rows->owner, self.enough, 0, met + 1);
    // What any ordinal needs. Most have less, so what they need is not even read.
    float least = static_cast<float>(least_drawn);
    if (dimensions.drawn < dimensions.ids) {
        const double norm = self.norms[self.order[self.shared->first + self.end - 1]];
        const float weight = weight_needed(self, row, norm);
        least = dimensions.drawn > 0 ? std::min(least, weight) : weight;
    }
    least *= enough_score;
    std::size_t count = 0;
    for (std::size_t i = 0; i < met; i++) {
        const float score = std::exchange(self.scores[ordinals[i]], 0.0F);
        self.enough.values[count] = make_entry(ordinals[i], std::bit_cast<std::uint32_t>(score));
        count += score >= least && score >= self.index.needed[ordinals[i]];
    }
    return count;
}

// Whether a row with enough score may be near, by the norms of both rows.
bool may_be_near(const rare_lookup& self, std::uint32_t row, std::uint32_t other, float score)
{
    return self.plans[other].first == 0 || score >= weight_needed(self, row, self.norms[other]) * enough_score;
}

void look_up_rare_row(rare_lookup& self, std::uint32_t position, found_pairs& found)
{
    const shared_weights& shared = *self.shared;
    const row_set& rows = *self.rows;
    host& owner = *rows.owner;
    const std::uint32_t row = self.order[position];
    if (rows.leader[row] != row)
        return;
    find_places(self, position);
    if (self.from >= self.end)
        return;
    if (shared.dimensions.drawn < shared.dimensions.ids) {
        find_steps(self, self.meets_from, self.norms[row], 1);
        find_steps(self, self.counts_from, self.norms[row], 1 - more_indexed);
    }
    const auto list = fetch_list(self, row, self.list);
    const std::size_t met = make_scores(self, seek_shingles(self, row, list));
    const std::size_t count = choose_met(self, row, met);
    std::sort(self.enough.values, self.enough.values + count);
    for (std::size_t i = 0; i < count; i++) {
        pause(owner);
        const std::uint64_t entry = self.enough.values[i];
        const std::uint32_t other = self.order[shared.first + static_cast<std::uint32_t>(entry >> 32)];
        assert(rows.leader[other] == other && other != row);
        if (!may_be_near(self, row, other, std::bit_cast<float>(static_cast<std::uint32_t>(entry))))
            continue;
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
    self.meets_from.fill(no_row); // unless any of the rarest shingles are indexed
    self.counts_from.fill(no_row);
    self.scores = allocate<float>(owner, shared.dimensions.rows);
    clear(owner, self.scores, shared.dimensions.rows);
    if (rows.search->parent != 0)
        self.parent = {find_shared<std::uint32_t>(rows, rows.search->parent), rows.count};
    found_pairs found;
    start_found(found, rows);
    const std::uint32_t end = shared.first + shared.dimensions.rows;
    each_range(found, [&](std::uint32_t range) {
        const std::uint32_t from = range * rows_looked_up_at_once;
        report(owner, "looking for near rows", from, end);
        for (std::uint32_t position = from; position < std::min(end, from + rows_looked_up_at_once); position++)
            look_up_rare_row(self, position, found);
    });
    end_found(found);
}

} // namespace minhash::bulk
