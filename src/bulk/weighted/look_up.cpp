// The step that looks up rows in the index of rare shingles. A row's shingles bring the rows that have them among their
// rare ones; each adds to the score of such a row (rarest.h). Rows with enough score are compared by their lists.
#include "bulk/components/union_find.h"
#include "bulk/search/found_pairs.h"
#include "bulk/weighted/look_up.h"
#include "bulk/weighted/part.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

struct rare_lookup : weighted_part {
    index_of_rare index;
    float* scores; // for each place: the weight, or the number of draws, that the current row has of its indexed ones
    growing<std::uint32_t> met;
    growing<std::uint64_t> enough; // places with enough score, and their scores
    growing<listed_shingle> list;
    growing<listed_shingle> other;
    std::span<std::uint32_t> parent; // for clusters: rows that are connected are not compared
};

// The places whose rows come after a row in the order and have norms large enough to be near it.
struct place_range {
    std::uint32_t from;
    std::uint32_t end;
};

place_range places_for(const rare_lookup& self, std::uint32_t position)
{
    const shared_weights& shared = *self.shared;
    const std::uint32_t first = shared.first;
    const std::uint32_t places = shared.shape.places;
    const std::uint32_t from = position < first ? 0 : std::min(position - first + 1, places);
    const double threshold = self.rows->task.threshold;
    constexpr double rounding = 1 - 1e-9;
    const double least = threshold * threshold * self.norms[self.order[position]] * rounding;
    const std::uint32_t* const order = self.order + first;
    const auto* const end =
        std::partition_point(order + from, order + places, [&](std::uint32_t row) { return self.norms[row] >= least; });
    return {from, static_cast<std::uint32_t>(end - order)};
}

// Adds the shingle's weight to the scores of the places in a bucket. Places that were not met before are added to
// self.met. Returns how many there are then.
std::size_t add_scores(
    rare_lookup& self, std::span<const std::uint32_t> bucket, const place_range& range, float weight, std::size_t met)
{
    constexpr std::size_t few = 8;
    constexpr std::uint32_t place_mask = drawn_mark - 1;
    grow(*self.rows->owner, self.met, met, met + bucket.size());
    const std::uint32_t* at = bucket.data();
    const std::uint32_t* const end = at + bucket.size();
    if (bucket.size() > few)
        at = std::partition_point(at, end, [&](std::uint32_t each) { return (each & place_mask) < range.from; });
    float* const scores = self.scores;
    std::uint32_t* const list = self.met.values;
    for (; at < end; at++) {
        const std::uint32_t place = *at & place_mask;
        if (place >= range.end)
            break;
        if (place < range.from)
            continue;
        list[met] = place;
        met += scores[place] == 0;
        scores[place] += (*at & drawn_mark) != 0 ? 1 : weight;
    }
    return met;
}

// Whether a row with enough score may be near. If its rarest shingles are indexed, the norms of both rows say how much
// weight they share at least; at most this share of it is not indexed.
bool may_be_near(const rare_lookup& self, std::uint32_t row, std::uint32_t other, float score)
{
    const rare_plan& plan = self.plans[other];
    const double least = self.rows->task.threshold * std::sqrt(self.norms[row] * self.norms[other]);
    return plan.drawn || score + plan.rest >= least * static_cast<double>(enough_score);
}

void look_up(rare_lookup& self, std::uint32_t position, found_pairs& found)
{
    constexpr std::size_t ahead = 8;
    const shared_weights& shared = *self.shared;
    const row_set& rows = *self.rows;
    host& owner = *rows.owner;
    const std::uint32_t row = self.order[position];
    if (rows.leader[row] != row)
        return;
    const place_range range = places_for(self, position);
    if (range.from >= range.end)
        return;
    const auto list = fetch_list(self, row, self.list);
    const index_of_rare& index = self.index;
    const std::uint32_t side = shared.crossing && row < rows.first_count ? 1 : 0; // rows of the other query
    const std::uint32_t of_scope = scope_rows_of(self, row);
    std::size_t met = 0;
    for (std::size_t i = 0; i < list.size(); i++) {
        if (i + ahead < list.size())
            __builtin_prefetch(&index.starts[bucket_of(index, id_of(list[i + ahead]), side)]);
        const std::uint32_t* const start = index.starts + bucket_of(index, id_of(list[i]), side);
        if (start[0] == start[1])
            continue;
        pause(owner);
        const auto weight = static_cast<float>(square_of_weight(self, of_scope, frequency_of(list[i])));
        met = add_scores(self, {index.postings + start[0], index.postings + start[1]}, range, weight, met);
    }
    const std::uint32_t* const places = self.met.values;
    grow(owner, self.enough, 0, met + 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < met; i++) {
        const float score = std::exchange(self.scores[places[i]], 0.0F);
        self.enough.values[count] = make_entry(places[i], std::bit_cast<std::uint32_t>(score));
        count += score >= index.needed[places[i]];
    }
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
    self.index = open_index(find_shared<char>(rows, shared.index), shared.shape);
    self.scores = allocate<float>(owner, shared.shape.places);
    clear(owner, self.scores, shared.shape.places);
    if (rows.shared->parent != 0)
        self.parent = {find_shared<std::uint32_t>(rows, rows.shared->parent), rows.count};
    found_pairs found;
    start_found(found, rows);
    const std::uint32_t end = shared.first + shared.shape.places;
    each_range(found, [&](std::uint32_t range) {
        const std::uint32_t from = range * rows_looked_up_at_once;
        report(owner, "looking for near rows", from, end);
        for (std::uint32_t position = from; position < std::min(end, from + rows_looked_up_at_once); position++)
            look_up(self, position, found);
    });
    end_found(found);
}

} // namespace minhash::bulk
