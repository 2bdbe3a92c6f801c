// Large buckets come first. In each, the rows are kept in groups that are connected; the next row
// is compared with the members of a group only until it belongs to it. Then each row is compared
// with the candidates that it met in any band, as pairs are found; but those that are connected
// with it by then are skipped. As rows come in their order, the first row of a component is
// compared with all that it met, and few others are. At the end the components are put out, split
// around their representatives where that is asked for, each row with its similarity to its
// representative: that of the two when they met, or else looked for now.
#include "bulk/clusters.h"
#include "bulk/comparisons.h"
#include "bulk/components.h"
#include "bulk/row_candidates.h"
#include "bulk/union_find.h"

#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

namespace minhash::bulk {

namespace {

// Rows of one bucket that are connected with each other: places in the bucket, chained.
struct group {
    std::uint32_t first;
    std::uint32_t last;
};

struct cluster_finder {
    row_set* rows;
    host* owner;
    cluster_options options;
    cluster_sink to;
    twins same;
    std::span<std::uint32_t> parent;
    row_candidates candidates;
    std::uint32_t* met;     // of each row, the first row that it is known to be near to;
    double* met_similarity; // and their similarity

    growing<std::uint32_t> bucket; // a large one
    growing<group> groups;         // of it
    growing<std::uint32_t> next;   // for each place in it the next of its group
    std::uint64_t* verified; // pairs of large buckets that were compared, each at its place or
                             // displaced by another one; null before the first
    std::size_t verified_mask;

    verifier check;
    comparisons compared;

    // Clusters to be put out, for each of their rows the similarity to its representative, and the
    // places of those that are not known yet.
    growing<std::uint32_t> waiting;
    growing<double> similarities;
    std::size_t waiting_count;
    growing<std::size_t> ends; // of these clusters
    std::size_t end_count;
    growing<std::size_t> asked;
    std::size_t asked_count;
    std::size_t answered; // of them
};

// Pairs that are remembered to have been verified: powers of two.
constexpr std::size_t least_remembered = 64 * 1024;
constexpr std::size_t most_remembered = 4 * 1024 * 1024;

// Rows that wait, so that workers have something to do, and little memory is needed.
constexpr std::size_t most_waiting = 32 * 1024;

void join_near(void* self, std::uint32_t a, std::uint32_t b, double similarity)
{
    cluster_finder& finder = *static_cast<cluster_finder*>(self);
    join(finder.parent, a, b);
    const std::uint32_t first = std::min(a, b);
    const std::uint32_t second = std::max(a, b);
    if (first < finder.met[second]) {
        finder.met[second] = first;
        finder.met_similarity[second] = similarity;
    }
}

// The similarity of two rows, if it is known without comparing them. Most clusters have two rows,
// which have met.
std::optional<double>
known_similarity(const cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    const std::uint32_t first = std::min(finder.same.leader[a], finder.same.leader[b]);
    const std::uint32_t second = std::max(finder.same.leader[a], finder.same.leader[b]);
    if (first == second)
        return 1;
    return finder.met[second] == first ? std::optional(finder.met_similarity[second])
                                       : std::nullopt;
}

bool are_connected(cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    return find_root(finder.parent, a) == find_root(finder.parent, b);
}

// Compares two rows now. Whoever comes next wants to know whether they are connected.
bool connect_now(cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    const std::optional<double> similarity = verify(finder.check, a, b);
    if (similarity)
        join_near(&finder, a, b, *similarity);
    return similarity.has_value();
}

void remember_verified(cluster_finder& finder)
{
    finder.verified_mask =
        std::clamp<std::size_t>(std::bit_ceil(std::size_t{finder.rows->count} + 1),
                                least_remembered,
                                most_remembered) -
        1;
    finder.verified = allocate<std::uint64_t>(*finder.owner, finder.verified_mask + 1);
    std::fill_n(finder.verified, finder.verified_mask + 1, 0);
}

// Whether two rows have been verified before, as far as that is remembered; from now on they have.
// Rows that are not near, but nearly, meet in several bands.
bool verified_before(cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    const std::uint64_t pair = std::uint64_t{a} << 32 | b;
    std::uint64_t& place = finder.verified[place_of(pair) & finder.verified_mask];
    return std::exchange(place, pair) == pair;
}

// Whether a row is connected with a group, perhaps by comparing it with all members.
bool belongs(cluster_finder& finder, std::uint32_t row, const group& members)
{
    const std::uint32_t* const bucket = finder.bucket.values;
    if (are_connected(finder, row, bucket[members.first]))
        return true;
    for (std::uint32_t place = members.first; place != no_row; place = finder.next.values[place]) {
        pause(*finder.owner);
        if (may_be_near(finder.check, bucket[place], row) &&
            !verified_before(finder, bucket[place], row) && connect_now(finder, bucket[place], row))
            return true;
    }
    return false;
}

// Row by row: each joins the groups of those before it, which thereby become one. The first of a
// group is compared first, so that it is at hand for the next row, too.
void connect_bucket(cluster_finder& finder, std::uint32_t number)
{
    host& owner = *finder.owner;
    std::uint32_t size = 0;
    each_piece(finder.candidates, number, [&](std::span<const std::uint32_t> rows) {
        grow(owner, finder.bucket, size, size + rows.size());
        std::copy(rows.begin(), rows.end(), finder.bucket.values + size);
        size += static_cast<std::uint32_t>(rows.size());
    });
    grow(owner, finder.groups, 0, size);
    grow(owner, finder.next, 0, size);
    if (finder.verified == nullptr)
        remember_verified(finder);
    group* const groups = finder.groups.values;
    std::uint32_t* const next = finder.next.values;
    std::size_t count = 0;
    for (std::uint32_t place = 0; place < size; place++) {
        pause(owner);
        group own = {place, place};
        next[place] = no_row;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; i++) {
            const group other = groups[i];
            if (belongs(finder, finder.bucket.values[place], other)) {
                next[other.last] = own.first;
                own.first = other.first;
            } else {
                groups[kept++] = other;
            }
        }
        groups[kept] = own;
        count = kept + 1;
    }
}

// Buckets of one first row, which tend to have the same rows, one after the other, as far as it is
// easy to have them so.
void connect_buckets(cluster_finder& finder)
{
    constexpr std::uint32_t most_sorted = 64 * 1024;
    host& owner = *finder.owner;
    row_candidates& candidates = finder.candidates;
    const std::uint32_t count = candidates.large_count;
    std::uint64_t* const order = allocate<std::uint64_t>(owner, std::min(count, most_sorted));
    for (std::uint32_t from = 0; from < count; from += most_sorted) {
        const std::uint32_t part = std::min(count - from, most_sorted);
        for (std::uint32_t i = 0; i < part; i++)
            order[i] = make_entry(find_bucket(candidates, from + i).first, from + i);
        std::sort(order, order + part);
        for (std::uint32_t i = 0; i < part; i++) {
            report(owner, "verifying large buckets", from + i, count);
            connect_bucket(finder, static_cast<std::uint32_t>(order[i]));
        }
    }
    release(owner, order);
}

// Verifies a row with its candidates. Where only one may be near, as most have, nobody waits for
// the answer; else it may spare the next comparison.
void connect_row(void* self,
                 std::uint32_t row,
                 std::span<std::uint32_t> others,
                 std::span<const std::uint32_t>)
{
    cluster_finder& finder = *static_cast<cluster_finder*>(self);
    verify_row(
        finder.check,
        row,
        others,
        [&](std::uint32_t other) { return are_connected(finder, row, other); },
        [&](std::uint32_t other) { verify_later(finder.compared, row, other); },
        [&](std::uint32_t other, std::size_t likely) {
            if (likely == 1)
                compare_later(finder.compared, row, other);
            else
                connect_now(finder, row, other);
        });
}

void take_similarity(void* self, std::uint32_t, std::uint32_t, double similarity)
{
    cluster_finder& finder = *static_cast<cluster_finder*>(self);
    assert(finder.answered < finder.asked_count);
    finder.similarities.values[finder.asked.values[finder.answered++]] = similarity;
}

void emit_waiting(cluster_finder& finder)
{
    finish_comparisons(finder.compared);
    assert(finder.answered == finder.asked_count);
    std::size_t start = 0;
    for (std::size_t i = 0; i < finder.end_count; i++) {
        const std::size_t size = finder.ends.values[i] - start;
        finder.to.emit(*finder.owner,
                       {finder.waiting.values + start, size},
                       {finder.similarities.values + start, size});
        start += size;
    }
    finder.waiting_count = 0;
    finder.end_count = 0;
    finder.asked_count = 0;
    finder.answered = 0;
}

// Adds a row to the cluster that is being made.
void add_row(cluster_finder& finder, std::uint32_t row, double similarity)
{
    host& owner = *finder.owner;
    const std::size_t count = finder.waiting_count;
    grow(owner, finder.waiting, count, count + 1);
    grow(owner, finder.similarities, count, count + 1);
    finder.waiting.values[count] = row;
    finder.similarities.values[count] = similarity;
    finder.waiting_count++;
}

// Ends the cluster to which rows have been added since the last one.
void end_cluster(cluster_finder& finder)
{
    const std::size_t start = finder.end_count == 0 ? 0 : finder.ends.values[finder.end_count - 1];
    if (finder.waiting_count - start == 1 && !finder.options.singletons) {
        finder.waiting_count = start;
        return;
    }
    grow(*finder.owner, finder.ends, finder.end_count, finder.end_count + 1);
    finder.ends.values[finder.end_count++] = finder.waiting_count;
    if (finder.waiting_count >= most_waiting)
        emit_waiting(finder);
}

// A component, whose rows are in order, as a cluster.
void add_whole(cluster_finder& finder, std::span<const std::uint32_t> rows)
{
    const std::span<const std::uint32_t> leader = finder.same.leader;
    for (const std::uint32_t row : rows) {
        pause(*finder.owner);
        const std::optional<double> similarity = known_similarity(finder, rows[0], row);
        add_row(finder, row, similarity.value_or(0));
        if (similarity)
            continue;
        const std::size_t count = finder.asked_count++;
        grow(*finder.owner, finder.asked, count, count + 1);
        finder.asked.values[count] = finder.waiting_count - 1;
        verify_later(finder.compared, leader[rows[0]], leader[row]);
    }
    end_cluster(finder);
}

// The similarity of two rows if they are near.
std::optional<double> near(cluster_finder& finder, std::uint32_t a, std::uint32_t b)
{
    if (const std::optional<double> known = known_similarity(finder, a, b))
        return known;
    return verify(finder.check, finder.same.leader[a], finder.same.leader[b]);
}

// Splits a component, whose rows are in order: rows near its best row, then near the best of the
// rest, and so on.
void add_split(cluster_finder& finder, std::span<std::uint32_t> rows)
{
    while (!rows.empty()) {
        const std::uint32_t best = rows[0];
        std::size_t left = 0;
        for (const std::uint32_t row : rows) {
            pause(*finder.owner);
            if (const auto similarity = near(finder, best, row))
                add_row(finder, row, *similarity);
            else
                rows[left++] = row;
        }
        end_cluster(finder);
        rows = rows.first(left);
    }
}

void emit_components(cluster_finder& finder)
{
    const std::span<std::uint32_t> parent = finder.parent;
    if (!finder.options.near_representative)
        take_all(finder.compared, &finder, take_similarity);
    // Roots come before their rows, and leaders before those that are the same.
    for (std::uint32_t row = 0; row < parent.size(); row++)
        parent[row] = find_root(parent, finder.same.leader[row]);
    each_component(*finder.owner,
                   parent,
                   finder.options.singletons ? 1 : 2,
                   [&finder](std::span<std::uint32_t> component, std::size_t) {
                       finder.to.order(*finder.owner, component);
                       if (finder.options.near_representative)
                           add_split(finder, component);
                       else
                           add_whole(finder, component);
                   });
    emit_waiting(finder);
}

void end_finder(cluster_finder& finder)
{
    host& owner = *finder.owner;
    end_candidates(finder.candidates);
    end_comparisons(finder.compared);
    end_verifier(finder.check);
    release(owner, finder.same.leader.data());
    release(owner, finder.same.next.data());
    release(owner, finder.parent.data());
    release(owner, finder.verified);
    release(owner, finder.met);
    release(owner, finder.met_similarity);
    release(owner, finder.bucket.values);
    release(owner, finder.groups.values);
    release(owner, finder.next.values);
    release(owner, finder.waiting.values);
    release(owner, finder.similarities.values);
    release(owner, finder.ends.values);
    release(owner, finder.asked.values);
}

} // namespace

std::uint64_t find_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to)
{
    cluster_finder finder = {};
    finder.rows = &rows;
    finder.owner = rows.owner;
    finder.options = options;
    finder.to = to;
    finish_rows(rows);
    start_verifier(finder.check, rows);
    start_comparisons(finder.compared, finder.check, &finder, join_near);

    bucket_walk walk;
    start_walk(walk, rows, "banding rows");
    finder.same = find_twins(walk, finder.check);
    collect_candidates(finder.candidates, walk, finder.check, large_buckets_for::caller);

    finder.parent = {allocate<std::uint32_t>(*rows.owner, rows.count), rows.count};
    start_components(finder.parent);
    finder.met = allocate<std::uint32_t>(*rows.owner, rows.count);
    std::fill_n(finder.met, rows.count, no_row);
    finder.met_similarity = allocate<double>(*rows.owner, rows.count);
    connect_buckets(finder);
    each_row(finder.candidates, &finder, connect_row);
    finish_comparisons(finder.compared);
    emit_components(finder);
    end_finder(finder);
    return walk.large_buckets;
}

} // namespace minhash::bulk
