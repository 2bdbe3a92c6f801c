#include "bulk/search/row_candidates.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// A bucket with more likely pairs than this for each of its rows counts as large.
constexpr std::size_t most_likely = 16;

// Marks a number as that of a large bucket, and not of a row. (No row has so high a number.)
constexpr std::uint32_t bucket_mark = most_rows + 1;

// The state of a process while it collects.
struct collector {
    row_set* rows;
    host* owner;
    verifier* check;
    bool for_clusters;
    const std::uint32_t* rights;
    int range_bits;
    byte_store** ranges;      // candidates: the upper half is the row that verifies
    std::uint32_t* bucket_of; // the last bucket of each row; 0: none yet
    std::uint32_t bucket_count;
    growing<std::uint32_t> before; // of a bucket's rows: the last bucket of each before it
    growing<two_places> likely;    // pairs of a bucket that may be near
    byte_store* large_buckets;
    byte_store* large_rows;
    std::uint32_t large_count;
    std::uint64_t recorded; // candidates
};

// How many stores a process leaves besides those of ranges.
constexpr std::size_t stores_of_buckets = 2;

std::size_t notes_of_member(const shared_rows& shared)
{
    return shared.range_count + stores_of_buckets;
}

std::span<store_note> notes_of(const row_set& rows, std::size_t member)
{
    const std::size_t count = notes_of_member(*rows.shared);
    return {find_shared<store_note>(rows, rows.shared->candidates) + member * count, count};
}

void record_candidate(collector& all, std::uint32_t row, std::uint32_t met)
{
    assert(row != met && row < all.rows->count);
    const std::uint64_t candidate = std::uint64_t{row} << 32 | met;
    append(*all.ranges[row >> all.range_bits], &candidate, sizeof(candidate));
    all.recorded++;
}

// Whether two rows of a bucket, by their places in it, are known to have shared an earlier bucket.
bool were_together(const collector& all, std::size_t a, std::size_t b)
{
    const std::uint32_t* const before = all.before.values;
    return before[a] == before[b] && before[a] != 0;
}

// Whether a left row of a bucket verifies a right one.
bool records(const collector& all, std::uint32_t left, std::uint32_t right)
{
    row_candidates across = {};
    across.rows = all.rows;
    across.rights = all.rights;
    return is_left(across, left) && is_right(across, right) && verifies(across, left, right);
}

// Records two rows of a bucket, by their places in it, unless they shared an earlier bucket.
void record_two(collector& all, std::span<const std::uint32_t> bucket, std::size_t a, std::size_t b)
{
    if (were_together(all, a, b))
        return;
    if (all.rights == nullptr) {
        record_candidate(all, bucket[a], bucket[b]);
        return;
    }
    for (const auto& [left, right] : {std::pair(bucket[a], bucket[b]), {bucket[b], bucket[a]}})
        if (records(all, left, right))
            record_candidate(all, left, right);
}

// Notes that these rows have shared a bucket.
void note_bucket(collector& all, std::span<const std::uint32_t> bucket)
{
    grow(*all.owner, all.before, 0, bucket.size());
    const std::uint32_t number = all.bucket_count == no_row ? 0 : ++all.bucket_count;
    for (std::size_t i = 0; i < bucket.size(); i++) {
        all.before.values[i] = all.bucket_of[bucket[i]];
        all.bucket_of[bucket[i]] = number;
    }
}

// Records the pairs that may be near. False if too many for clusters: then the bucket is large.
bool record_likely(collector& all, std::span<const std::uint32_t> bucket)
{
    const bool any_number = !all.for_clusters;
    const std::size_t most = any_number ? 0 : most_likely * bucket.size();
    std::size_t count = 0;
    grow(*all.owner, all.likely, 0, most);
    gather_starts(*all.check, bucket);
    for (std::size_t a = 0; a < bucket.size() && count <= most; a++) {
        pause(*all.owner);
        each_likely(*all.check, a, bucket.size(), [&](std::size_t b) {
            if (any_number)
                record_two(all, bucket, a, b);
            else if (!were_together(all, a, b) && ++count <= most)
                all.likely.values[count - 1] = {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)};
        });
    }
    if (count > most)
        return false;
    for (std::size_t i = 0; i < count; i++)
        record_two(all, bucket, all.likely.values[i].a, all.likely.values[i].b);
    return true;
}

void record_large(collector& all, std::span<const std::uint32_t> bucket)
{
    large_bucket at = {all.large_rows->size, 0};
    for (const std::uint32_t row : bucket)
        if (all.rights == nullptr || all.rights[row] != no_row) {
            append(*all.large_rows, &row, sizeof(row));
            at.count++;
        }
    if (at.count == 0)
        return;
    append(*all.large_buckets, &at, sizeof(at));
    const auto processes = static_cast<std::uint32_t>(all.rows->shared->processes);
    const std::uint32_t number = all.large_count * processes + static_cast<std::uint32_t>(all.rows->member);
    for (const std::uint32_t row : bucket)
        if (all.rights == nullptr || row < all.rows->shared->first_count)
            record_candidate(all, row, bucket_mark | number);
    all.large_count++;
}

void record_bucket(collector& all, std::span<const std::uint32_t> bucket)
{
    pause(*all.owner);
    note_bucket(all, bucket);
    if (bucket.size() >= least_gathered && bucket.size() <= most_gathered && can_gather(*all.check)) {
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

template <typename Take>
void each_pair(host& owner, byte_store& range, void* buffer, Take&& take)
{
    for (std::uint64_t offset = 0; offset < range.size;) {
        pause(owner);
        const void* piece;
        const std::size_t bytes = fetch_piece(range, offset, buffer, piece);
        const std::uint64_t* const pairs = static_cast<const std::uint64_t*>(piece);
        for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); i++)
            take(static_cast<std::uint32_t>(pairs[i] >> 32), static_cast<std::uint32_t>(pairs[i]));
        offset += bytes;
    }
}

using row_visitor = void (*)(void* self,
                             std::uint32_t row,
                             std::span<std::uint32_t> others,
                             std::span<const std::uint32_t> buckets);

// Visits a row with its candidates, which are unsorted and have duplicates.
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

// Chooses ranges small enough to keep all processes busy to the end, and few enough that each can have a chunk in
// memory.
void choose_ranges(shared_rows& shared)
{
    constexpr std::size_t most_ranges = 256;
    shared.range_bits = 8;
    while ((shared.count >> shared.range_bits) >= most_ranges)
        shared.range_bits++;
    shared.range_count = (shared.count >> shared.range_bits) + 1;
}

void open_stores(collector& all, memory_budget& budget)
{
    const std::uint32_t count = all.rows->count;
    const std::uint32_t ranges = all.rows->shared->range_count;
    const std::size_t chunk = chunk_for(budget, ranges, 32 * 1024);
    all.ranges = allocate<byte_store*>(*all.owner, ranges);
    for (std::uint32_t i = 0; i < ranges; i++)
        all.ranges[i] = open_shared_store(budget, chunk);
    all.bucket_of = allocate<std::uint32_t>(*all.owner, count);
    std::fill_n(all.bucket_of, count, 0);
    all.large_buckets = open_shared_store(budget, chunk);
    all.large_rows = open_shared_store(budget, chunk);
}

void leave_stores(collector& all)
{
    const row_set& rows = *all.rows;
    const std::span<store_note> notes = notes_of(rows, static_cast<std::size_t>(rows.member));
    const std::uint32_t ranges = rows.shared->range_count;
    for (std::uint32_t i = 0; i < ranges; i++)
        leave_store(all.ranges[i], notes[i]);
    leave_store(all.large_buckets, notes[ranges]);
    leave_store(all.large_rows, notes[ranges + 1]);
    find_shared<std::uint32_t>(rows, rows.shared->large_count)[rows.member] = all.large_count;
    for (void* const memory : {static_cast<void*>(all.ranges),
                               static_cast<void*>(all.bucket_of),
                               static_cast<void*>(all.before.values),
                               static_cast<void*>(all.likely.values)})
        release(*all.owner, memory);
}

} // namespace

void collect_candidates(row_set& rows, bool for_clusters, shared_number rights)
{
    shared_rows& shared = *rows.shared;
    const auto processes = static_cast<std::size_t>(shared.processes);
    shared.for_clusters = for_clusters;
    shared.rights = rights;
    choose_ranges(shared);
    allocate_shared<store_note>(*rows.owner, shared.candidates, processes * notes_of_member(shared));
    allocate_shared<std::uint32_t>(*rows.owner, shared.large_count, processes);
    do_step(rows, step::collect);
}

void collect_of_units(row_set& rows)
{
    const shared_rows& shared = *rows.shared;
    collector all = {};
    memory_budget budget = step_budget(rows);
    verifier check;
    start_verifier(check, rows);
    all.rows = &rows;
    all.owner = rows.owner;
    all.check = &check;
    all.for_clusters = shared.for_clusters;
    all.rights = find_shared<std::uint32_t>(rows, shared.rights);
    all.range_bits = shared.range_bits;
    open_stores(all, budget);
    bucket_walk walk;
    start_walk(walk, rows, find_shared<std::uint32_t>(rows, shared.leader));
    const std::uint64_t units = static_cast<std::uint64_t>(rows.task.shape.bands) << shared.slice_bits;
    for (std::uint64_t unit; (unit = next_unit(rows)) < units;) {
        report(*all.owner, "looking for candidates", unit, units);
        walk_slice(walk,
                   unit >> shared.slice_bits,
                   static_cast<std::uint32_t>(unit & ((1U << shared.slice_bits) - 1)),
                   [&all](std::span<const std::uint32_t> bucket) { record_bucket(all, bucket); });
        expect_candidates(rows, all.recorded);
    }
    end_walk(walk);
    end_verifier(check);
    leave_stores(all);
    end_budget(budget, *rows.budget);
}

void start_candidates(row_candidates& all, row_set& rows)
{
    host& owner = *rows.owner;
    const shared_rows& shared = *rows.shared;
    const auto processes = static_cast<std::size_t>(shared.processes);
    all = {};
    all.rows = &rows;
    all.owner = &owner;
    all.rights = find_shared<std::uint32_t>(rows, shared.rights);
    all.large_buckets = allocate<byte_store*>(owner, processes);
    all.large_rows = allocate<byte_store*>(owner, processes);
    std::size_t chunk = 1;
    for (std::size_t member = 0; member < processes; member++) {
        const std::span<store_note> notes = notes_of(rows, member);
        all.large_buckets[member] = open_view(*rows.budget, notes[shared.range_count]);
        all.large_rows[member] = open_view(*rows.budget, notes[shared.range_count + 1]);
        chunk = std::max(chunk, notes[shared.range_count].chunk_bytes);
    }
    all.buffer = allocate<char>(owner, chunk);
    all.met = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(all.met, rows.count, no_row);
    grow(owner, all.buckets, 0, static_cast<std::size_t>(rows.task.shape.bands));
    all.starts = allocate<std::uint64_t>(owner, (std::size_t{1} << shared.range_bits) + 1);
    all.collected = allocate<std::uint64_t>(owner, shared.range_count + std::size_t{1});
    all.collected[0] = 0;
    for (std::uint32_t range = 0; range < shared.range_count; range++) {
        all.collected[range + 1] = all.collected[range];
        for (std::size_t member = 0; member < processes; member++)
            all.collected[range + 1] += notes_of(rows, member)[range].size / sizeof(std::uint64_t);
    }
}

void end_candidates(row_candidates& all)
{
    for (int member = 0; member < all.rows->shared->processes; member++) {
        close_store(all.large_buckets[member]);
        close_store(all.large_rows[member]);
    }
    for (void* const memory : {static_cast<void*>(all.large_buckets),
                               static_cast<void*>(all.large_rows),
                               static_cast<void*>(all.met),
                               static_cast<void*>(all.buffer),
                               static_cast<void*>(all.buckets.values),
                               static_cast<void*>(all.others.values),
                               static_cast<void*>(all.starts),
                               static_cast<void*>(all.collected)})
        release(*all.owner, memory);
}

void each_row(row_candidates& all,
              std::uint32_t range,
              void* self,
              void (*visit)(void* self,
                            std::uint32_t row,
                            std::span<std::uint32_t> others,
                            std::span<const std::uint32_t> buckets))
{
    row_set& rows = *all.rows;
    host& owner = *all.owner;
    const shared_rows& shared = *rows.shared;
    const auto processes = static_cast<std::size_t>(shared.processes);
    const std::uint32_t first = range << shared.range_bits;
    const std::uint32_t count = std::min(rows.count - first, 1U << shared.range_bits);
    const std::size_t room = std::max<std::size_t>(1024 * 1024, shared.memory / processes / 16);
    std::uint64_t* const starts = all.starts;
    const auto each = [&](auto&& take) {
        for (std::size_t member = 0; member < processes; member++) {
            if (notes_of(rows, member)[range].size == 0)
                continue;
            byte_store* const from = open_view(*rows.budget, notes_of(rows, member)[range]);
            each_pair(owner, *from, all.buffer, take);
            close_store(from);
        }
    };

    // starts[i + 1] counts the candidates of row i, and then says where they end.
    std::fill_n(starts, count + 1, 0);
    each([&](std::uint32_t a, std::uint32_t) { starts[a - first + 1]++; });
    for (std::uint32_t row = 0; row < count; row++)
        starts[row + 1] += starts[row];

    // Candidates are read once for as many rows as fit into memory at a time.
    for (std::uint32_t from = 0; from < count;) {
        // As many rows as fit, and at least one.
        const std::uint64_t base = starts[from];
        std::uint32_t to = from + 1;
        while (to < count && starts[to + 1] - base <= room)
            to++;
        const std::uint64_t wanted = starts[to] - base;
        if (wanted > 0) {
            grow(owner, all.others, 0, wanted);
            std::uint32_t* const others = all.others.values;
            // Where the next candidate of a row goes: the start moves, and is put back below.
            each([&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t row = a - first;
                if (row >= from && row < to)
                    others[starts[row]++ - base] = b;
            });
            for (std::uint32_t row = to; row-- > from;)
                starts[row] = row == from ? base : starts[row - 1];
            for (std::uint32_t row = from; row < to; row++) {
                report(owner,
                       "verifying candidates",
                       all.collected[range] + starts[row],
                       all.collected[shared.range_count]);
                visit_row(all,
                          first + row,
                          {others + (starts[row] - base), starts[row + 1] - starts[row]},
                          self,
                          visit);
            }
        }
        from = to;
    }
    // The notes stay as they are: a process that comes later adds their sizes up, too (start_candidates()).
    for (std::size_t member = 0; member < processes; member++)
        free_noted(owner, notes_of(rows, member)[range]);
}

void drop_candidates(row_set& rows)
{
    const std::uint32_t ranges = rows.shared->range_count;
    for (int member = 0; member < rows.shared->processes; member++)
        for (std::size_t i = 0; i < stores_of_buckets; i++)
            drop_noted(*rows.owner, notes_of(rows, static_cast<std::size_t>(member))[ranges + i]);
}

large_bucket find_bucket(const row_candidates& all, std::uint32_t number)
{
    const auto processes = static_cast<std::uint32_t>(all.rows->shared->processes);
    large_bucket copy;
    return *static_cast<const large_bucket*>(fetch(*all.large_buckets[number % processes],
                                                   number / processes * std::uint64_t{sizeof(copy)},
                                                   sizeof(copy),
                                                   &copy));
}

} // namespace minhash::bulk
