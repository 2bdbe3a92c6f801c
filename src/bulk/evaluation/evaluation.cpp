// Equal rows, anchors or not, are represented by one of them, their leader. So thousands of copies of a text are
// compared as fast as a single copy. The search for true pairs uses enough bands to reach the task's recall, which is
// nearly 1. Rows that share a band are verified as in lsh_pairs(). The bands are processed one by one. For each band,
// the leaders of anchors are put into a hash table by their slots in this band. Then all leaders are looked up in the
// table. A pair of leaders counts only in the first band that they share.
#include "bulk/evaluation/evaluation.h"
#include "bulk/search/candidates.h"

#include "core/compress.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

// The minimum number of slots in a band. With fewer slots, nearly every row would share a band with every other row.
constexpr int least_rows = 3;

// However many pairs there are, halving never leaves fewer anchors than this.
constexpr std::size_t least_anchors = 64;

// About how many bytes the tables of bands may have together, so that they are in the CPU's cache.
constexpr std::size_t tables_bytes = 1024 * 1024;

// A pair of leaders. `anchor` is the number of an anchor's leader (evaluation::number), and `row` is the row number of
// any leader.
struct candidate {
    std::uint32_t anchor;
    std::uint32_t row;
};

struct true_pair {
    candidate rows;
    double similarity;
};

struct evaluation {
    row_set* rows;
    std::size_t most_pairs;
    verifier check;
    std::uint32_t* members; // how many rows each leader represents

    std::span<const std::uint32_t> anchors; // the anchors in use
    std::uint32_t count;                    // how many different leaders the anchors have; they are numbered from 0
    std::uint32_t* leaders;                 // the row number of each of these leaders
    std::uint32_t* first_anchor;            // for each of these leaders, the index of its first anchor
    std::uint32_t* anchors_of;              // how many anchors each of these leaders represents
    std::uint32_t* slots;                   // the signature of each of these leaders
    std::uint32_t* number;                  // for each row: its number if it is one of these leaders, else no_row

    // Tables, each of a band: the anchors' leaders, chained if they hash to the same cell in `heads`.
    int tables;           // how many tables there is room for
    std::size_t room;     // how many leaders a table has room for
    std::uint32_t* heads; // of each table, mask + 1 cells
    std::size_t mask;
    std::uint32_t* next; // for each table and leader
    std::uint32_t* keys; // the key of each leader in the table's band

    growing<candidate> candidates;
    std::size_t candidate_count;
    growing<true_pair> pairs; // true pairs of different leaders
    std::size_t pair_count;
    double* near;       // for each leader of anchors: how many true pairs each of its anchors has
    double* found;      // for each leader of anchors: how many of these pairs the current setting finds
    double* seen_near;  // for each leader: how many anchors are near each of its rows that is not an anchor
    double* seen_found; // for each leader: how many of these anchors the current setting finds
    void* buffer;       // a buffer for slots
};

std::uint64_t hash_slots_of_band(const std::uint32_t* slots, int count)
{
    std::uint64_t hash = 0;
    for (int i = 0; i < count; i++)
        hash = (hash ^ slots[i]) * 0x9E3779B97F4A7C15;
    return first_cell(hash);
}

// The first band in which two signatures agree, or the number of bands if there is none.
int first_shared(const std::uint32_t* a, const std::uint32_t* b, banding banding)
{
    int band = 0;
    while (band < banding.bands && !std::equal(a, a + banding.rows, b)) {
        band++;
        a += banding.rows;
        b += banding.rows;
    }
    return band;
}

const std::uint32_t* slots_of_anchor(const evaluation& self, std::uint32_t anchor)
{
    return self.slots + anchor * std::size_t{self.rows->task.scheme.num_hashes};
}

const std::uint32_t* slots_of_row(evaluation& self, std::uint32_t row)
{
    return static_cast<const std::uint32_t*>(fetch_start(*self.rows, row, self.buffer));
}

// Numbers the leaders of the anchors.
void number_anchors(evaluation& self)
{
    row_set& rows = *self.rows;
    host& owner = *self.rows->owner;
    const std::size_t hashes = rows.task.scheme.num_hashes;
    const std::size_t most = self.anchors.size();
    self.members = allocate<std::uint32_t>(owner, rows.count);
    self.number = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(self.members, rows.count, 0);
    std::fill_n(self.number, rows.count, no_row);
    for (std::uint32_t row = 0; row < rows.count; row++)
        self.members[rows.leader[row]]++;
    self.leaders = allocate<std::uint32_t>(owner, most);
    self.first_anchor = allocate<std::uint32_t>(owner, most);
    self.slots = allocate<std::uint32_t>(owner, most * hashes);
    for (std::size_t i = 0; i < most; i++) {
        pause(owner);
        const std::uint32_t leader = rows.leader[self.anchors[i]];
        if (self.number[leader] != no_row)
            continue;
        std::copy_n(slots_of_row(self, leader), hashes, self.slots + self.count * hashes);
        self.leaders[self.count] = leader;
        self.first_anchor[self.count] = static_cast<std::uint32_t>(i);
        self.number[leader] = self.count++;
    }
    const std::size_t cells = std::bit_ceil(4 * std::size_t{self.count} + 1);
    self.room = self.count;
    const std::size_t most_tables =
        std::max<std::size_t>(tables_bytes / ((cells + 2 * self.room) * sizeof(std::uint32_t)), 1);
    self.tables = static_cast<int>(std::min<std::size_t>(most_tables, max_num_hashes));
    self.mask = cells - 1;
    self.heads = allocate<std::uint32_t>(owner, most_tables * cells);
    self.next = allocate<std::uint32_t>(owner, most_tables * self.room);
    self.keys = allocate<std::uint32_t>(owner, most_tables * self.room);
}

// The table of a band: pointers to its parts in `evaluation`.
struct band_table {
    std::uint32_t* heads;
    std::uint32_t* next;
    std::uint32_t* keys;
};

band_table table_at(const evaluation& self, int table)
{
    const auto number = static_cast<std::size_t>(table);
    return {self.heads + number * (self.mask + 1), self.next + number * self.room, self.keys + number * self.room};
}

std::size_t first_slot(banding banding, int band)
{
    return static_cast<std::size_t>(band) * static_cast<unsigned>(banding.rows);
}

void fill_table(const evaluation& self, banding banding, int band, const band_table& table)
{
    std::fill_n(table.heads, self.mask + 1, no_row);
    for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
        pause(*self.rows->owner);
        const std::uint64_t hash =
            hash_slots_of_band(slots_of_anchor(self, anchor) + first_slot(banding, band), banding.rows);
        table.keys[anchor] = static_cast<std::uint32_t>(hash >> 32);
        table.next[anchor] = table.heads[hash & self.mask];
        table.heads[hash & self.mask] = anchor;
    }
}

// Looks a row up in the tables of the bands from `first` to `end`. Calls visit(anchor) for each leader of anchors with
// which the row shares one of them, but no band before.
template <typename Visit>
void look_up(evaluation& self, std::uint32_t row, banding banding, int first, int end, Visit&& visit)
{
    const std::uint32_t* const slots = slots_of_row(self, row);
    for (int band = first; band < end; band++) {
        const band_table table = table_at(self, band - first);
        const std::uint64_t hash = hash_slots_of_band(slots + first_slot(banding, band), banding.rows);
        const auto key = static_cast<std::uint32_t>(hash >> 32);
        for (std::uint32_t anchor = table.heads[hash & self.mask]; anchor != no_row; anchor = table.next[anchor]) {
            pause(*self.rows->owner);
            // If `row` is an anchor's leader, too, the pair is met twice. It is visited only when the leader with the
            // lower number is `anchor`.
            if (table.keys[anchor] == key && anchor < self.count && anchor < self.number[row] &&
                in_one_scope(*self.rows, self.leaders[anchor], row) &&
                first_shared(slots_of_anchor(self, anchor), slots, banding) == band)
                visit(anchor);
        }
    }
}

// How many bands of all settings have been looked at.
struct band_progress {
    std::uint64_t done;
    std::uint64_t total;
};

// Calls visit(anchor, row) for each pair of leaders (see `candidate`) that share a band. The signatures of the rows do
// not fit into the cache, so they are read once for as many bands as there are tables.
template <typename Visit>
void each_meeting(evaluation& self, const char* phase, banding banding, band_progress progress, Visit&& visit)
{
    for (int first = 0; first < banding.bands; first += self.tables) {
        report(*self.rows->owner, phase, progress.done + static_cast<unsigned>(first), progress.total);
        const int end = std::min(first + self.tables, banding.bands);
        for (int band = first; band < end; band++)
            fill_table(self, banding, band, table_at(self, band - first));
        for (std::uint32_t row = 0; row < self.rows->count; row++) {
            pause(*self.rows->owner);
            if (self.rows->leader[row] == row)
                look_up(self, row, banding, first, end, [&](std::uint32_t anchor) { visit(anchor, row); });
        }
    }
}

// Drops the second half of the anchors.
void halve_anchors(evaluation& self)
{
    self.anchors = self.anchors.first(self.anchors.size() / 2);
    self.count = static_cast<std::uint32_t>(
        std::lower_bound(self.first_anchor, self.first_anchor + self.count, self.anchors.size()) - self.first_anchor);
    candidate* const all = self.candidates.values;
    self.candidate_count =
        static_cast<std::size_t>(std::remove_if(all,
                                                all + self.candidate_count,
                                                [&self](const candidate& each) { return each.anchor >= self.count; }) -
                                 all);
}

void add_candidate(evaluation& self, std::uint32_t anchor, std::uint32_t row)
{
    if (!may_be_near(self.check, row, self.leaders[anchor]))
        return;
    add(*self.rows->owner, self.candidates, self.candidate_count, {anchor, row});
    if (self.candidate_count > self.most_pairs && self.anchors.size() / 2 >= least_anchors)
        halve_anchors(self);
}

// Makes candidates of all pairs whose signatures agree enough in the slots that are compared first. Used if the
// threshold is so low that only very short bands, or none, would reach the recall.
void add_all_candidates(evaluation& self)
{
    for (std::uint32_t row = 0; row < self.rows->count; row++) {
        report(*self.rows->owner, "comparing anchors with all rows", row, self.rows->count);
        if (self.rows->leader[row] != row)
            continue;
        const std::uint32_t* const slots = slots_of_row(self, row);
        for (std::uint32_t anchor = 0; anchor < self.count && anchor < self.number[row]; anchor++) {
            pause(*self.rows->owner);
            if (count_equal(self.check.first_slots_scheme, slots, slots_of_anchor(self, anchor)) >=
                self.check.least_at_start)
                add_candidate(self, anchor, row);
        }
    }
}

void find_candidates(evaluation& self)
{
    const task& task = self.rows->task;
    const banding banding = choose_by_recall(task.threshold, task.scheme.num_hashes, task.recall);
    if (banding.rows < least_rows) {
        add_all_candidates(self);
        return;
    }
    each_meeting(self,
                 "looking for rows near to anchors",
                 banding,
                 {0, static_cast<unsigned>(banding.bands)},
                 [&self](std::uint32_t anchor, std::uint32_t row) { add_candidate(self, anchor, row); });
}

void compare_candidates(evaluation& self)
{
    for (std::size_t i = 0; i < self.candidate_count; i++) {
        report(*self.rows->owner, "comparing rows with anchors", i, self.candidate_count);
        const candidate each = self.candidates.values[i];
        if (const auto similarity = verify(self.check, self.leaders[each.anchor], each.row))
            add(*self.rows->owner, self.pairs, self.pair_count, {each, *similarity});
    }
    self.anchors_of = allocate<std::uint32_t>(*self.rows->owner, self.count);
    std::fill_n(self.anchors_of, self.count, 0);
    for (const std::uint32_t anchor : self.anchors)
        self.anchors_of[self.number[self.rows->leader[anchor]]]++;
}

// How many anchors a leader represents.
std::uint64_t anchors_in(const evaluation& self, std::uint32_t leader)
{
    const std::uint32_t number = self.number[leader];
    return number < self.count ? self.anchors_of[number] : 0;
}

// How many pairs consist of a row whose leader is `a` and a row whose leader is `b`, at least one of them an anchor.
std::uint64_t pairs_between(const evaluation& self, std::uint32_t a, std::uint32_t b)
{
    const std::uint64_t in_a = anchors_in(self, a);
    const std::uint64_t in_b = anchors_in(self, b);
    return in_a * self.members[b] + in_b * self.members[a] - in_a * in_b;
}

// How many pairs consist of two rows with the same leader, at least one of them an anchor. Such pairs share every band.
std::uint64_t pairs_within(const evaluation& self)
{
    std::uint64_t pairs = 0;
    for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
        const std::uint64_t in = self.anchors_of[anchor];
        pairs += in * (self.members[self.leaders[anchor]] - in) + in * (in - 1) / 2;
    }
    return pairs;
}

// Initializes the counts of pairs, by anchor and by row: only the pairs of equal rows are counted so far.
void start_counts(const evaluation& self, double* of_anchors, double* of_rows)
{
    std::fill_n(of_rows, self.rows->count, 0);
    for (std::uint32_t anchor = 0; anchor < self.count; anchor++) {
        of_anchors[anchor] = self.members[self.leaders[anchor]] - 1;
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

// Counts how many of the true pairs a setting finds, and how many candidates it has.
void try_setting(evaluation& self, setting& tried, std::uint64_t done, std::uint64_t total)
{
    const banding banding = tried.banding;
    start_counts(self, self.found, self.seen_found);
    tried.candidates = tried.found = pairs_within(self);
    tried.predicted = static_cast<double>(tried.found);
    for (std::size_t i = 0; i < self.pair_count; i++) {
        pause(*self.rows->owner);
        const true_pair& pair = self.pairs.values[i];
        const auto [anchor, row] = pair.rows;
        const std::uint64_t weight = pairs_between(self, self.leaders[anchor], row);
        tried.predicted += static_cast<double>(weight) * band_probability(pair.similarity, banding.bands, banding.rows);
        if (first_shared(slots_of_anchor(self, anchor), slots_of_row(self, row), banding) == banding.bands)
            continue;
        tried.found += weight;
        add_to_counts(self, pair.rows, self.found, self.seen_found);
    }
    each_meeting(self,
                 "counting candidates of anchors",
                 banding,
                 {done, total},
                 [&](std::uint32_t anchor, std::uint32_t row) {
                     tried.candidates += pairs_between(self, self.leaders[anchor], row);
                 });
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
    evaluation self = {};
    self.rows = &rows;
    self.most_pairs = most_pairs;
    self.anchors = anchors;
    self.buffer = allocate<std::uint32_t>(owner, rows.task.scheme.num_hashes);
    start_verifier(self.check, rows);
    find_twins(rows);
    end_steps(rows);
    number_anchors(self);
    find_candidates(self);
    compare_candidates(self);

    evaluation_result result = {static_cast<std::uint32_t>(self.anchors.size()), pairs_within(self)};
    self.near = allocate<double>(owner, self.count);
    self.found = allocate<double>(owner, self.count);
    self.seen_near = allocate<double>(owner, rows.count);
    self.seen_found = allocate<double>(owner, rows.count);
    start_counts(self, self.near, self.seen_near);
    for (std::size_t i = 0; i < self.pair_count; i++) {
        const candidate pair = self.pairs.values[i].rows;
        result.true_pairs += pairs_between(self, self.leaders[pair.anchor], pair.row);
        add_to_counts(self, pair, self.near, self.seen_near);
    }
    std::uint64_t total = 0;
    for (const setting& each : settings)
        total += static_cast<unsigned>(each.banding.bands);
    std::uint64_t done = 0;
    for (setting& each : settings) {
        try_setting(self, each, done, total);
        done += static_cast<unsigned>(each.banding.bands);
        if (result.true_pairs > 0)
            each.recall =
                recall_between(self, static_cast<double>(each.found) / static_cast<double>(result.true_pairs));
    }
    return result;
}

} // namespace minhash::bulk
