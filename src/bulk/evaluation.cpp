// Rows that are the same stand as one, their leader, for its classes of anchors and of rows: so
// thousands of copies of one text take no longer than the text. True pairs are those that share a
// band, of enough bands that hardly any is lost, and are then verified as lsh_pairs() does. Bands
// are gone through one after the other: a table of the anchors' slots there, through which all rows
// pass. A pair counts in the first band that it shares.
#include "bulk/candidates.h"
#include "bulk/evaluation.h"

#include "core/compress.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

constexpr std::uint32_t none = 0xFFFFFFFF;

// The share of true pairs that the bands by which they are looked for find.
constexpr double truth_recall = 1 - 1e-6;

// In shorter bands nearly all rows meet.
constexpr int least_rows = 3;

// Fewer anchors are not used, whatever the number of pairs.
constexpr std::size_t least_anchors = 64;

// A leader of anchors, by its number, and another leader.
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
    host* owner;
    std::size_t most_pairs;
    verifier check;
    twins same;
    std::uint32_t* members; // of each leader, how many rows it stands for

    std::span<const std::uint32_t> anchors; // that are used
    std::uint32_t count;                    // their leaders, numbered as they come:
    std::uint32_t* leaders;                 // the rows that they are,
    std::uint32_t* first_anchor;            // the first anchor of each,
    std::uint32_t* anchors_of;              // how many each stands for,
    std::uint32_t* slots;                   // their signatures,
    std::uint32_t* number;                  // and of each row its number, or `none`

    // The table of a band: chains of leaders of anchors that have the same place.
    std::uint32_t* heads;
    std::size_t mask;
    std::uint32_t* next;
    std::uint32_t* keys; // of each leader

    growing<candidate> candidates;
    std::size_t candidate_count;
    growing<true_pair> pairs; // of different leaders
    std::size_t pair_count;
    double* near;       // of each leader of anchors: true pairs that one of its anchors is in,
    double* found;      // and of them those that a setting finds
    double* seen_near;  // of each row: anchors that it is near to,
    double* seen_found; // and of them those that a setting finds
    void* buffer;       // of slots
};

std::uint64_t hash_slots(const std::uint32_t* slots, int count)
{
    std::uint64_t hash = 0;
    for (int i = 0; i < count; i++)
        hash = (hash ^ slots[i]) * 0x9E3779B97F4A7C15;
    return place_of(hash);
}

// The first band that two signatures share, or the number of bands.
int first_shared(const std::uint32_t* a, const std::uint32_t* b, band_choice shape)
{
    int band = 0;
    while (band < shape.bands && !std::equal(a, a + shape.rows, b)) {
        band++;
        a += shape.rows;
        b += shape.rows;
    }
    return band;
}

const std::uint32_t* slots_of_anchor(const evaluation& job, std::uint32_t anchor)
{
    return job.slots + anchor * std::size_t{job.rows->task.scheme.num_hashes};
}

const std::uint32_t* slots_of_row(evaluation& job, std::uint32_t row)
{
    return static_cast<const std::uint32_t*>(fetch_start(*job.rows, row, job.buffer));
}

// Numbers the leaders of the anchors.
void number_anchors(evaluation& job)
{
    row_set& rows = *job.rows;
    host& owner = *job.owner;
    const std::size_t hashes = rows.task.scheme.num_hashes;
    const std::size_t most = job.anchors.size();
    job.members = allocate<std::uint32_t>(owner, rows.count);
    job.number = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(job.members, rows.count, 0);
    std::fill_n(job.number, rows.count, none);
    for (const std::uint32_t leader : job.same.leader)
        job.members[leader]++;
    job.leaders = allocate<std::uint32_t>(owner, most);
    job.first_anchor = allocate<std::uint32_t>(owner, most);
    job.slots = allocate<std::uint32_t>(owner, most * hashes);
    for (std::size_t i = 0; i < most; i++) {
        pause(owner);
        const std::uint32_t leader = job.same.leader[job.anchors[i]];
        if (job.number[leader] != none)
            continue;
        std::copy_n(slots_of_row(job, leader), hashes, job.slots + job.count * hashes);
        job.leaders[job.count] = leader;
        job.first_anchor[job.count] = static_cast<std::uint32_t>(i);
        job.number[leader] = job.count++;
    }
    const std::size_t entries = std::bit_ceil(4 * std::size_t{job.count} + 1);
    job.heads = allocate<std::uint32_t>(owner, entries);
    job.mask = entries - 1;
    job.next = allocate<std::uint32_t>(owner, job.count);
    job.keys = allocate<std::uint32_t>(owner, job.count);
}

// Calls visit(anchor, row) for leaders that meet in a band, and in none before it.
template <typename Visit>
void each_meeting(evaluation& job, band_choice shape, int band, Visit&& visit)
{
    row_set& rows = *job.rows;
    const std::size_t offset = static_cast<std::size_t>(band) * static_cast<unsigned>(shape.rows);
    std::fill_n(job.heads, job.mask + 1, none);
    for (std::uint32_t anchor = 0; anchor < job.count; anchor++) {
        pause(*job.owner);
        const std::uint64_t hash = hash_slots(slots_of_anchor(job, anchor) + offset, shape.rows);
        job.keys[anchor] = static_cast<std::uint32_t>(hash >> 32);
        job.next[anchor] = job.heads[hash & job.mask];
        job.heads[hash & job.mask] = anchor;
    }
    for (std::uint32_t row = 0; row < rows.count; row++) {
        pause(*job.owner);
        if (job.same.leader[row] != row)
            continue;
        const std::uint32_t* const slots = slots_of_row(job, row);
        const std::uint64_t hash = hash_slots(slots + offset, shape.rows);
        const auto key = static_cast<std::uint32_t>(hash >> 32);
        for (std::uint32_t anchor = job.heads[hash & job.mask]; anchor != none;
             anchor = job.next[anchor]) {
            pause(*job.owner);
            // Of two leaders of anchors, the first counts the pair.
            if (job.keys[anchor] == key && anchor < job.count && anchor < job.number[row] &&
                in_one_scope(rows, job.leaders[anchor], row) &&
                first_shared(slots_of_anchor(job, anchor), slots, shape) == band)
                visit(anchor, row);
        }
    }
}

// Goes on with the first half of the anchors.
void halve_anchors(evaluation& job)
{
    job.anchors = job.anchors.first(job.anchors.size() / 2);
    job.count = static_cast<std::uint32_t>(
        std::lower_bound(job.first_anchor, job.first_anchor + job.count, job.anchors.size()) -
        job.first_anchor);
    candidate* const all = job.candidates.values;
    job.candidate_count = static_cast<std::size_t>(
        std::remove_if(all,
                       all + job.candidate_count,
                       [&job](const candidate& each) { return each.anchor >= job.count; }) -
        all);
}

void add_candidate(evaluation& job, std::uint32_t anchor, std::uint32_t row)
{
    if (!may_be_near(job.check, row, job.leaders[anchor]))
        return;
    const std::size_t count = job.candidate_count++;
    grow(*job.owner, job.candidates, count, count + 1);
    job.candidates.values[count] = {anchor, row};
    if (job.candidate_count > job.most_pairs && job.anchors.size() / 2 >= least_anchors)
        halve_anchors(job);
}

// Where only very short bands find nearly all true pairs, or none do, all pairs are looked at.
void add_all_candidates(evaluation& job)
{
    for (std::uint32_t row = 0; row < job.rows->count; row++) {
        report(*job.owner, "comparing anchors with all rows", row, job.rows->count);
        if (job.same.leader[row] != row)
            continue;
        const std::uint32_t* const slots = slots_of_row(job, row);
        for (std::uint32_t anchor = 0; anchor < job.count && anchor < job.number[row]; anchor++) {
            pause(*job.owner);
            if (count_equal(job.check.start, slots, slots_of_anchor(job, anchor)) >=
                job.check.least_at_start)
                add_candidate(job, anchor, row);
        }
    }
}

void find_candidates(evaluation& job)
{
    const task& task = job.rows->task;
    const band_choice shape =
        choose_by_recall(task.threshold, task.scheme.num_hashes, truth_recall);
    if (shape.rows < least_rows) {
        add_all_candidates(job);
        return;
    }
    for (int band = 0; band < shape.bands; band++) {
        report(*job.owner,
               "looking for rows near to anchors",
               static_cast<unsigned>(band),
               static_cast<unsigned>(shape.bands));
        each_meeting(job, shape, band, [&job](std::uint32_t anchor, std::uint32_t row) {
            add_candidate(job, anchor, row);
        });
    }
}

void verify_candidates(evaluation& job)
{
    for (std::size_t i = 0; i < job.candidate_count; i++) {
        report(*job.owner, "comparing rows with anchors", i, job.candidate_count);
        const candidate each = job.candidates.values[i];
        const auto similarity = verify(job.check, job.leaders[each.anchor], each.row);
        if (!similarity)
            continue;
        const std::size_t count = job.pair_count++;
        grow(*job.owner, job.pairs, count, count + 1);
        job.pairs.values[count] = {each, *similarity};
    }
    job.anchors_of = allocate<std::uint32_t>(*job.owner, job.count);
    std::fill_n(job.anchors_of, job.count, 0);
    for (const std::uint32_t anchor : job.anchors)
        job.anchors_of[job.number[job.same.leader[anchor]]]++;
}

// How many anchors a leader stands for.
std::uint64_t anchors_in(const evaluation& job, std::uint32_t leader)
{
    const std::uint32_t number = job.number[leader];
    return number < job.count ? job.anchors_of[number] : 0;
}

// How many pairs with an anchor there are of rows of two leaders.
std::uint64_t pairs_between(const evaluation& job, std::uint32_t a, std::uint32_t b)
{
    const std::uint64_t in_a = anchors_in(job, a);
    const std::uint64_t in_b = anchors_in(job, b);
    return in_a * job.members[b] + in_b * job.members[a] - in_a * in_b;
}

// The same of rows of one leader, which meet in every band.
std::uint64_t pairs_within(const evaluation& job)
{
    std::uint64_t pairs = 0;
    for (std::uint32_t anchor = 0; anchor < job.count; anchor++) {
        const std::uint64_t in = job.anchors_of[anchor];
        pairs += in * (job.members[job.leaders[anchor]] - in) + in * (in - 1) / 2;
    }
    return pairs;
}

// Counts of pairs by anchor and by row, beginning with those of rows of one leader.
void start_counts(const evaluation& job, double* of_anchors, double* of_rows)
{
    std::fill_n(of_rows, job.rows->count, 0);
    for (std::uint32_t anchor = 0; anchor < job.count; anchor++) {
        of_anchors[anchor] = job.members[job.leaders[anchor]] - 1;
        of_rows[job.leaders[anchor]] = job.anchors_of[anchor];
    }
}

void add_to_counts(const evaluation& job,
                   const candidate& pair,
                   double* of_anchors,
                   double* of_rows)
{
    const std::uint32_t leader = job.leaders[pair.anchor];
    of_anchors[pair.anchor] += job.members[pair.row];
    of_rows[pair.row] += job.anchors_of[pair.anchor];
    if (job.number[pair.row] < job.count) {
        of_anchors[job.number[pair.row]] += job.members[leader];
        of_rows[leader] += job.anchors_of[job.number[pair.row]];
    }
}

// What a setting finds of the true pairs, and how many candidates it has.
void try_setting(evaluation& job, setting& tried, std::uint64_t done, std::uint64_t total)
{
    const band_choice shape = tried.shape;
    start_counts(job, job.found, job.seen_found);
    tried.candidates = tried.found = pairs_within(job);
    tried.predicted = static_cast<double>(tried.found);
    for (std::size_t i = 0; i < job.pair_count; i++) {
        pause(*job.owner);
        const true_pair& pair = job.pairs.values[i];
        const auto [anchor, row] = pair.rows;
        const std::uint64_t weight = pairs_between(job, job.leaders[anchor], row);
        tried.predicted += static_cast<double>(weight) *
                           band_probability(pair.similarity, shape.bands, shape.rows);
        if (first_shared(slots_of_anchor(job, anchor), slots_of_row(job, row), shape) ==
            shape.bands)
            continue;
        tried.found += weight;
        add_to_counts(job, pair.rows, job.found, job.seen_found);
    }
    for (int band = 0; band < shape.bands; band++) {
        report(*job.owner,
               "counting candidates of anchors",
               done + static_cast<unsigned>(band),
               total);
        each_meeting(job, shape, band, [&](std::uint32_t anchor, std::uint32_t row) {
            tried.candidates += pairs_between(job, job.leaders[anchor], row);
        });
    }
}

// By how much the rows that are no anchors differ: of each, the square of (found - recall * near)
// over all its pairs, which is estimated without bias from its pairs with anchors, as each other
// row is one with the same probability `drawn`.
double differences_of_rest(const evaluation& job, double recall, double drawn)
{
    const double missed = recall * recall;
    const double met = (1 - recall) * (1 - recall);
    double squares = 0;
    for (std::uint32_t row = 0; row < job.rows->count; row++) {
        pause(*job.owner);
        const double near = job.seen_near[row];
        if (job.same.leader[row] != row || near <= 0)
            continue;
        const double found = job.seen_found[row];
        const double difference = found - recall * near;
        const double rest = job.members[row] - static_cast<double>(anchors_in(job, row));
        squares += rest * (difference * difference -
                           (1 - drawn) * (found * met + (near - found) * missed));
    }
    return squares / (drawn * drawn);
}

// Between which bounds the recall of a setting lies. Anchors differ by more or less than what pairs
// that have nothing to do with each other would: so their pairs tell as much as more or fewer of
// such pairs. A row whose pairs are all missed is seldom an anchor itself, and then only the
// anchors near to it tell: so the variance is also estimated from all rows, and the larger one
// counts. Where all pairs are found, nothing tells how anchors differ, and the pairs of an anchor
// count as one.
interval recall_between(const evaluation& job, double recall)
{
    assert(recall >= 0 && recall <= 1);
    const auto used = static_cast<double>(job.anchors.size());
    const double drawn = used / job.rows->count;
    const double left_out = 1 - drawn;
    if (left_out <= 0)
        return {recall, recall};
    double pairs = 0;
    double squares = 0;
    double differences = 0;
    double paired = 0;
    for (std::uint32_t anchor = 0; anchor < job.count; anchor++) {
        const double weight = job.anchors_of[anchor];
        const double near = job.near[anchor];
        const double difference = job.found[anchor] - recall * near;
        pairs += weight * near;
        squares += weight * near * near;
        differences += weight * difference * difference;
        paired += near > 0 ? weight : 0;
    }
    double trials = pairs * pairs / squares / left_out;
    if (differences > 0) {
        const double of_all = drawn * (differences + differences_of_rest(job, recall, drawn));
        const double variance =
            std::max(differences * used / (used - 1), of_all) * left_out / (pairs * pairs);
        trials = std::min(pairs / left_out, recall * (1 - recall) / variance);
    }
    return wilson_interval(recall, adjust_trials(trials, paired - 1));
}

void end_evaluation(evaluation& job)
{
    host& owner = *job.owner;
    end_verifier(job.check);
    for (void* const memory : {static_cast<void*>(job.members),
                               static_cast<void*>(job.leaders),
                               static_cast<void*>(job.first_anchor),
                               static_cast<void*>(job.anchors_of),
                               static_cast<void*>(job.slots),
                               static_cast<void*>(job.number),
                               static_cast<void*>(job.heads),
                               static_cast<void*>(job.next),
                               static_cast<void*>(job.keys),
                               static_cast<void*>(job.candidates.values),
                               static_cast<void*>(job.pairs.values),
                               static_cast<void*>(job.near),
                               static_cast<void*>(job.found),
                               static_cast<void*>(job.seen_near),
                               static_cast<void*>(job.seen_found),
                               job.buffer})
        release(owner, memory);
}

} // namespace

evaluation_result evaluate(row_set& rows,
                           std::span<const std::uint32_t> anchors,
                           std::span<setting> settings,
                           std::size_t most_pairs)
{
    assert(rows.task.whole_slots || rows.kept.bits == bits_per_slot);
    host& owner = *rows.owner;
    finish_rows(rows);
    evaluation job = {};
    job.rows = &rows;
    job.owner = &owner;
    job.most_pairs = most_pairs;
    job.anchors = anchors;
    job.buffer = allocate<std::uint32_t>(owner, rows.task.scheme.num_hashes);
    start_verifier(job.check, rows);
    job.same = find_twins(rows);
    end_steps(rows);
    number_anchors(job);
    find_candidates(job);
    verify_candidates(job);

    evaluation_result result = {static_cast<std::uint32_t>(job.anchors.size()), pairs_within(job)};
    job.near = allocate<double>(owner, job.count);
    job.found = allocate<double>(owner, job.count);
    job.seen_near = allocate<double>(owner, rows.count);
    job.seen_found = allocate<double>(owner, rows.count);
    start_counts(job, job.near, job.seen_near);
    for (std::size_t i = 0; i < job.pair_count; i++) {
        const candidate pair = job.pairs.values[i].rows;
        result.true_pairs += pairs_between(job, job.leaders[pair.anchor], pair.row);
        add_to_counts(job, pair, job.near, job.seen_near);
    }
    std::uint64_t total = 0;
    for (const setting& each : settings)
        total += static_cast<unsigned>(each.shape.bands);
    std::uint64_t done = 0;
    for (setting& each : settings) {
        try_setting(job, each, done, total);
        done += static_cast<unsigned>(each.shape.bands);
        if (result.true_pairs > 0)
            each.recall = recall_between(job,
                                         static_cast<double>(each.found) /
                                             static_cast<double>(result.true_pairs));
    }
    end_evaluation(job);
    return result;
}

} // namespace minhash::bulk
