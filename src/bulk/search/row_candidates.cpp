#include "bulk/search/row_candidates.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// For clusters, a bucket with more than this many likely pairs per row counts as large.
constexpr std::size_t most_likely = 16;

// This bit is set in a candidate that is a large bucket, and never in a row, because the numbers of rows are lower.
constexpr std::uint32_t bucket_mark = most_rows + 1;

// The state of a process while it collects.
struct collector {
    row_set* rows;
    verifier check;
    byte_store** ranges;      // for each range, its store; the upper half of a candidate is the row that verifies
    std::uint32_t* bucket_of; // for each row, the number of the last bucket that had this row; 0: not known
    std::uint32_t bucket_count;
    growing<std::uint32_t> before;                // for each row of a bucket: the last earlier bucket that had the row
    growing<std::array<std::uint32_t, 2>> likely; // a bucket's pairs that may be near, as positions in the bucket
    byte_store* large_buckets;
    byte_store* large_rows;
};

// A member has a store with the candidates that it has collected for a range. Returns the note of this store: what
// other processes need to open it (store.h).
store_note& note_of(const row_set& rows, std::size_t member, std::uint32_t range)
{
    return find_shared<store_note>(rows, rows.search->candidates)[member * rows.search->range_count + range];
}

void record_candidate(collector& all, std::uint32_t row, std::uint32_t met)
{
    assert(row != met && row < all.rows->count);
    const std::uint64_t candidate = std::uint64_t{row} << 32 | met;
    append(*all.ranges[row >> all.rows->search->range_bits], &candidate, sizeof(candidate));
}

// Whether the rows at positions a and b of a bucket are known to have shared an earlier bucket.
bool were_together(const collector& all, std::size_t a, std::size_t b)
{
    const std::uint32_t* const before = all.before.values;
    return before[a] == before[b] && before[a] != 0;
}

// Records the rows at positions a and b of a bucket as candidates, unless they are known to have shared an earlier
// bucket.
void record_two(collector& all, std::span<const std::uint32_t> bucket, std::size_t a, std::size_t b)
{
    const row_set& rows = *all.rows;
    if (were_together(all, a, b))
        return;
    if (rows.rights == nullptr) {
        record_candidate(all, bucket[a], bucket[b]);
        return;
    }
    for (const auto& [left, right] : {std::pair(bucket[a], bucket[b]), {bucket[b], bucket[a]}})
        if (is_left(rows, left) && is_right(rows, right) && verifies(rows, left, right))
            record_candidate(all, left, right);
}

// For each row of a bucket, copies the number of the row's previous bucket to all.before. Then records the current
// bucket in all.bucket_of.
void note_bucket(collector& all, std::span<const std::uint32_t> bucket)
{
    grow(*all.rows->owner, all.before, 0, bucket.size());
    const std::uint32_t number = all.bucket_count == no_row ? 0 : ++all.bucket_count;
    for (std::size_t i = 0; i < bucket.size(); i++) {
        all.before.values[i] = all.bucket_of[bucket[i]];
        all.bucket_of[bucket[i]] = number;
    }
}

// Records a bucket's pairs that may be near. For clusters, there can be too many pairs that may be near and were not
// together in an earlier bucket. In that case, records none, and returns false; the bucket then counts as large.
bool record_likely(collector& all, std::span<const std::uint32_t> bucket)
{
    const bool any_number = !all.rows->search->for_clusters;
    const std::size_t most = any_number ? 0 : most_likely * bucket.size();
    std::size_t count = 0;
    grow(*all.rows->owner, all.likely, 0, most);
    gather_starts(all.check, bucket);
    for (std::size_t a = 0; a < bucket.size() && count <= most; a++) {
        pause(*all.rows->owner);
        each_likely(all.check, a, bucket.size(), [&](std::size_t b) {
            if (any_number || were_together(all, a, b))
                record_two(all, bucket, a, b);
            else if (++count <= most)
                all.likely.values[count - 1] = {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)};
        });
    }
    if (count > most)
        return false;
    for (const auto& [a, b] : std::span(all.likely.values, count))
        record_two(all, bucket, a, b);
    return true;
}

void record_large(collector& all, std::span<const std::uint32_t> bucket)
{
    const row_set& rows = *all.rows;
    large_bucket at = {all.large_rows->size, 0};
    for (const std::uint32_t row : bucket)
        if (is_right(rows, row)) {
            append(*all.large_rows, &row, sizeof(row));
            at.count++;
        }
    if (at.count == 0)
        return;
    const auto count = static_cast<std::uint32_t>(all.large_buckets->size / sizeof(at));
    append(*all.large_buckets, &at, sizeof(at));
    for (const std::uint32_t row : bucket)
        if (is_left(rows, row))
            record_candidate(all, row, bucket_mark | (count * rows.shared->processes + rows.member));
}

void record_bucket(collector& all, std::span<const std::uint32_t> bucket)
{
    pause(*all.rows->owner);
    note_bucket(all, bucket);
    if (bucket.size() >= least_gathered && bucket.size() <= most_gathered && can_gather(all.check)) {
        if (!record_likely(all, bucket))
            record_large(all, bucket);
    } else if (bucket.size() <= small_bucket) {
        for (std::size_t a = 0; a < bucket.size(); a++)
            for (std::size_t b = a + 1; b < bucket.size(); b++)
                record_two(all, bucket, a, b);
    } else {
        record_large(all, bucket);
    }
}

// Calls visit() for a row that has candidates. `candidates` may be unsorted and have duplicates, and some of them may
// be large buckets.
void visit_row(
    row_candidates& all, std::uint32_t row, std::span<std::uint32_t> candidates, void* self, row_visitor visit)
{
    std::size_t rows = 0;
    std::size_t buckets = 0;
    for (const std::uint32_t candidate : candidates) {
        if (candidate >= bucket_mark) {
            all.buckets.values[buckets++] = candidate - bucket_mark;
        } else if (all.met[candidate] != row) {
            all.met[candidate] = row;
            candidates[rows++] = candidate;
        }
    }
    assert(buckets <= all.buckets.room);
    if (candidates.empty())
        return;
    std::sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(rows));
    visit(self, row, candidates.first(rows), {all.buckets.values, buckets});
}

// Chooses ranges. Each range must be small, so that all processes are busy to the end. There must be few ranges, so
// that the store of each range can have a chunk in memory.
void choose_ranges(row_set& rows)
{
    constexpr std::size_t most_ranges = 256;
    shared_search& shared = *rows.search;
    shared.range_bits = 8;
    while ((rows.count >> shared.range_bits) >= most_ranges)
        shared.range_bits++;
    shared.range_count = (rows.count >> shared.range_bits) + 1;
}

void start_collector(collector& all, row_set& rows)
{
    all = {};
    all.rows = &rows;
    start_verifier(all.check, rows);
    memory_budget& budget = *rows.budget;
    const std::uint32_t ranges = rows.search->range_count;
    const std::size_t chunk = chunk_for(budget, ranges, 32 * 1024);
    all.ranges = allocate<byte_store*>(*all.rows->owner, ranges);
    for (std::uint32_t i = 0; i < ranges; i++)
        all.ranges[i] = open_shared_store(budget, chunk);
    all.bucket_of = allocate<std::uint32_t>(*all.rows->owner, rows.count);
    std::fill_n(all.bucket_of, rows.count, 0);
    all.large_buckets = open_shared_store(budget, chunk);
    all.large_rows = open_shared_store(budget, chunk);
}

void leave_stores(const collector& all)
{
    const row_set& rows = *all.rows;
    for (std::uint32_t range = 0; range < rows.search->range_count; range++)
        leave_store(all.ranges[range], note_of(rows, rows.member, range));
    leave_store(rows, all.large_buckets, rows.search->large_bucket_list);
    leave_store(rows, all.large_rows, rows.search->large_bucket_rows);
}

void collect_of_units(row_set& rows)
{
    collector all;
    start_collector(all, rows);
    bucket_walk walk;
    start_walk(walk, rows, rows.leader);
    while (walk_next(walk, "looking for candidates", [&all](auto bucket) { record_bucket(all, bucket); }))
        ;
    leave_stores(all);
}

} // namespace

void collect_candidates(row_set& rows, bool for_clusters)
{
    shared_search& shared = *rows.search;
    shared.for_clusters = for_clusters;
    choose_ranges(rows);
    allocate_shared<store_note>(*rows.owner,
                                shared.candidates,
                                rows.shared->processes * std::size_t{shared.range_count});
    expect_stores(rows, shared.large_bucket_list);
    expect_stores(rows, shared.large_bucket_rows);
    do_step(rows, collect_of_units);
}

void start_candidates(row_candidates& all, row_set& rows)
{
    host& owner = *rows.owner;
    const shared_search& shared = *rows.search;
    all = {};
    all.rows = &rows;
    all.large_buckets = open_left(rows, shared.large_bucket_list);
    all.large_rows = open_left(rows, shared.large_bucket_rows);
    all.met = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(all.met, rows.count, no_row);
    grow(owner, all.buckets, 0, static_cast<std::size_t>(rows.task.banding.bands));
    all.ends = allocate<std::uint64_t>(owner, (std::size_t{1} << shared.range_bits) + 1);
    all.collected = allocate<std::uint64_t>(owner, shared.range_count + std::size_t{1});
    all.collected[0] = 0;
    for (std::uint32_t range = 0; range < shared.range_count; range++) {
        all.collected[range + 1] = all.collected[range];
        for (std::uint32_t member = 0; member < rows.shared->processes; member++)
            all.collected[range + 1] += note_of(rows, member, range).size / sizeof(std::uint64_t);
    }
}

void each_row(row_candidates& all, std::uint32_t range, void* self, row_visitor visit)
{
    row_set& rows = *all.rows;
    host& owner = *rows.owner;
    const shared_search& shared = *rows.search;
    const std::uint32_t first = range << shared.range_bits;
    const std::uint32_t count = std::min(rows.count - first, 1U << shared.range_bits);
    const std::size_t room = std::max<std::size_t>(1024 * 1024, rows.shared->memory / rows.shared->processes / 16);
    const auto each = [&](auto&& take) {
        for (std::uint32_t member = 0; member < rows.shared->processes; member++) {
            const store_note& note = note_of(rows, member, range);
            if (note.size == 0)
                continue;
            byte_store* const from = open_view(*rows.budget, note);
            each_piece<std::uint64_t>(*from, 0, note.size, [&take](std::span<const std::uint64_t> pairs) {
                for (const std::uint64_t pair : pairs)
                    take(static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair));
            });
            close_view(from);
        }
    };

    std::uint64_t* const ends = all.ends;
    std::fill_n(ends, count + 1, 0);
    each([&](std::uint32_t a, std::uint32_t) { ends[a - first]++; });
    sum_counts(std::span(ends, count + std::size_t{1}));

    // Process the rows in groups. The candidates of a group fit into memory. All candidates of the range are read once
    // for each group.
    for (std::uint32_t from = 0; from < count;) {
        // The group has as many rows as fit, and at least one.
        const std::uint64_t base = ends[from];
        std::uint32_t to = from + 1;
        while (to < count && ends[to + 1] - base <= room)
            to++;
        const std::uint64_t wanted = ends[to] - base;
        if (wanted > 0) {
            grow(owner, all.others, 0, wanted);
            std::uint32_t* const others = all.others.values;
            each([&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t row = a - first;
                if (row >= from && row < to)
                    others[ends[row]++ - base] = b;
            });
            for (std::uint32_t row = from; row < to; row++) {
                const std::uint64_t start = row == from ? base : ends[row - 1];
                report(owner, "verifying candidates", all.collected[range] + start, all.collected[shared.range_count]);
                visit_row(all, first + row, {others + (start - base), ends[row] - start}, self, visit);
            }
        }
        from = to;
    }
    // Free the stores, but keep their notes: a process that starts this step later still adds up the sizes in the notes
    // (start_candidates()).
    for (std::uint32_t member = 0; member < rows.shared->processes; member++)
        free_noted(owner, note_of(rows, member, range));
}

} // namespace minhash::bulk
