#include "bulk/row_candidates.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

// Rows of the largest bucket that is written as pairs.
constexpr std::size_t small_bucket = 32;

// Of buckets of these sizes, signatures are looked at before pairs are written: they are few in
// comparison with the pairs, and fit into the processor's cache.
constexpr std::size_t least_gathered = 8;
constexpr std::size_t most_gathered = 1024;

// Pairs that may be near, for each row of a bucket that is not large by them.
constexpr std::size_t most_likely = 16;

// Marks the number of a large bucket where a row's number could be. (There are no more rows.)
constexpr std::uint32_t bucket_mark = most_rows + 1;

void start_ranges(row_candidates& all)
{
    constexpr std::size_t most_ranges = 256;
    memory_budget& budget = *all.rows->budget;
    const std::uint32_t count = all.rows->count;
    all.range_bits = 12;
    while ((count >> all.range_bits) >= most_ranges)
        all.range_bits++;
    all.range_count = (count >> all.range_bits) + 1;
    all.ranges = allocate<byte_store*>(*all.owner, all.range_count);
    const std::size_t chunk = chunk_for(budget, all.range_count, 32 * 1024);
    for (std::size_t i = 0; i < all.range_count; i++)
        all.ranges[i] = open_store(budget, chunk);
    all.bucket_of = allocate<std::uint32_t>(*all.owner, count);
    std::fill_n(all.bucket_of, count, 0);
    all.large_buckets = open_store(budget, chunk);
    all.large_rows = open_store(budget, chunk);
}

void record_candidate(row_candidates& all, std::uint32_t row, std::uint32_t met)
{
    assert(row != met && row < all.rows->count);
    const std::uint64_t candidate = std::uint64_t{row} << 32 | met;
    append(*all.ranges[row >> all.range_bits], &candidate, sizeof(candidate));
}

// Whether two rows of a bucket, by their places, were together in an earlier one.
bool were_together(const row_candidates& all, std::size_t a, std::size_t b)
{
    const std::uint32_t* const before = all.before.values;
    return before[a] == before[b] && before[a] != 0;
}

// Records two rows of a bucket, by their places, unless they were together in an earlier one.
void record_two(row_candidates& all,
                std::span<const std::uint32_t> bucket,
                std::size_t a,
                std::size_t b)
{
    if (were_together(all, a, b))
        return;
    if (all.rights == nullptr) {
        record_candidate(all, bucket[a], bucket[b]);
        return;
    }
    for (const auto& [left, right] : {std::pair(bucket[a], bucket[b]), {bucket[b], bucket[a]}})
        if (is_left(all, left) && is_right(all, right) && verifies(all, left, right))
            record_candidate(all, left, right);
}

// Notes that these rows have been together.
void note_bucket(row_candidates& all, std::span<const std::uint32_t> bucket)
{
    grow(*all.owner, all.before, 0, bucket.size());
    const std::uint32_t number = all.bucket_count == no_row ? 0 : ++all.bucket_count;
    for (std::size_t i = 0; i < bucket.size(); i++) {
        all.before.values[i] = all.bucket_of[bucket[i]];
        all.bucket_of[bucket[i]] = number;
    }
}

// Records the pairs that may be near. False if there are too many: then the bucket is a large one.
bool record_likely(row_candidates& all, std::span<const std::uint32_t> bucket)
{
    const bool any_number = all.large_for == large_buckets_for::rows;
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
                all.likely.values[count - 1] = {static_cast<std::uint32_t>(a),
                                                static_cast<std::uint32_t>(b)};
        });
    }
    if (count > most)
        return false;
    for (std::size_t i = 0; i < count; i++)
        record_two(all, bucket, all.likely.values[i].a, all.likely.values[i].b);
    return true;
}

void record_large(row_candidates& all, std::span<const std::uint32_t> bucket)
{
    large_bucket at = {all.large_rows->size, 0, bucket[0]};
    for (const std::uint32_t row : bucket)
        if (is_right(all, row)) {
            append(*all.large_rows, &row, sizeof(row));
            at.count++;
        }
    if (at.count == 0)
        return;
    append(*all.large_buckets, &at, sizeof(at));
    if (all.large_for == large_buckets_for::rows)
        for (const std::uint32_t row : bucket)
            if (is_left(all, row))
                record_candidate(all, row, bucket_mark | all.large_count);
    all.large_count++;
}

void record_bucket(void* self, std::span<const std::uint32_t> bucket)
{
    row_candidates& all = *static_cast<row_candidates*>(self);
    pause(*all.owner);
    note_bucket(all, bucket);
    if (bucket.size() >= least_gathered && bucket.size() <= most_gathered &&
        can_gather(*all.check)) {
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

// The candidates of one range, row by row. They are read as often as memory makes necessary.
struct range_reader {
    void* self;
    void (*visit)(void* self,
                  std::uint32_t row,
                  std::span<std::uint32_t> others,
                  std::span<const std::uint32_t> buckets);
    std::uint32_t first; // row of the range
    std::uint32_t rows;
    std::uint64_t* starts;
    growing<std::uint32_t> others;
    std::size_t room; // candidates at once
    void* buffer;
};

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

// The candidates of one row, which come in any order and more than once.
void visit_row(row_candidates& all,
               const range_reader& reader,
               std::uint32_t row,
               std::span<std::uint32_t> candidates)
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
    reader.visit(reader.self, row, candidates.first(rows), {all.buckets.values, buckets});
}

void visit_range(row_candidates& all, byte_store& range, range_reader& reader)
{
    // starts[i + 1] counts the candidates of row i, and then says where they end.
    std::fill_n(reader.starts, reader.rows + 1, 0);
    each_pair(*all.owner, range, reader.buffer, [&reader](std::uint32_t a, std::uint32_t) {
        reader.starts[a - reader.first + 1]++;
    });
    for (std::uint32_t row = 0; row < reader.rows; row++)
        reader.starts[row + 1] += reader.starts[row];

    for (std::uint32_t from = 0; from < reader.rows;) {
        // As many rows as fit, and at least one.
        const std::uint64_t base = reader.starts[from];
        std::uint32_t to = from + 1;
        while (to < reader.rows && reader.starts[to + 1] - base <= reader.room)
            to++;
        const std::uint64_t wanted = reader.starts[to] - base;
        if (wanted > 0) {
            grow(*all.owner, reader.others, 0, std::max<std::size_t>(reader.room, wanted));
            std::uint32_t* const others = reader.others.values;
            // Where the next candidate of a row goes: the start moves, and is put back below.
            each_pair(*all.owner, range, reader.buffer, [&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t row = a - reader.first;
                if (row >= from && row < to)
                    others[reader.starts[row]++ - base] = b;
            });
            for (std::uint32_t row = to; row-- > from;)
                reader.starts[row] = row == from ? base : reader.starts[row - 1];
            for (std::uint32_t row = from; row < to; row++) {
                report(*all.owner,
                       "verifying candidates of rows",
                       reader.first + row,
                       all.rows->count);
                visit_row(all,
                          reader,
                          reader.first + row,
                          {others + (reader.starts[row] - base),
                           reader.starts[row + 1] - reader.starts[row]});
            }
        }
        from = to;
    }
}

} // namespace

void collect_candidates(row_candidates& all,
                        bucket_walk& walk,
                        verifier& check,
                        large_buckets_for large_for,
                        const std::uint32_t* rights)
{
    row_set& rows = *check.rows;
    all = {};
    all.rows = &rows;
    all.owner = rows.owner;
    all.check = &check;
    all.large_for = large_for;
    all.rights = rights;
    start_ranges(all);
    walk_bands(walk, &all, record_bucket);
    end_walk(walk);
    release(*all.owner, all.bucket_of);
    release(*all.owner, all.before.values);
    release(*all.owner, all.likely.values);
    all.buffer = allocate<char>(*all.owner, all.large_rows->chunk_bytes);
}

void each_row(row_candidates& all,
              void* self,
              void (*visit)(void* self,
                            std::uint32_t row,
                            std::span<std::uint32_t> others,
                            std::span<const std::uint32_t> buckets))
{
    row_set& rows = *all.rows;
    host& owner = *all.owner;
    const std::size_t range_rows = std::size_t{1} << all.range_bits;
    const std::size_t least_room = 1024 * 1024;
    range_reader reader = {};
    reader.self = self;
    reader.visit = visit;
    reader.starts = allocate<std::uint64_t>(owner, range_rows + 1);
    reader.room = std::max(least_room, rows.budget->limit / 16);
    reader.buffer = allocate<char>(owner, all.ranges[0]->chunk_bytes);
    grow(owner, all.buckets, 0, static_cast<std::size_t>(rows.task.shape.bands));
    all.met = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(all.met, rows.count, no_row);
    for (std::size_t i = 0; i < all.range_count; i++) {
        reader.first = static_cast<std::uint32_t>(i << all.range_bits);
        reader.rows = static_cast<std::uint32_t>(
            std::min<std::size_t>(range_rows, rows.count - reader.first));
        visit_range(all, *all.ranges[i], reader);
        close_store(all.ranges[i]);
    }
    release(owner, reader.starts);
    release(owner, reader.others.values);
    release(owner, reader.buffer);
}

large_bucket find_bucket(row_candidates& all, std::uint32_t number)
{
    assert(number < all.large_count);
    large_bucket copy;
    return *static_cast<const large_bucket*>(
        fetch(*all.large_buckets, number * std::uint64_t{sizeof(copy)}, sizeof(copy), &copy));
}

void end_candidates(row_candidates& all)
{
    host& owner = *all.owner;
    close_store(all.large_buckets);
    close_store(all.large_rows);
    for (void* const memory : {static_cast<void*>(all.ranges),
                               static_cast<void*>(all.met),
                               static_cast<void*>(all.buckets.values),
                               all.buffer})
        release(owner, memory);
}

} // namespace minhash::bulk
