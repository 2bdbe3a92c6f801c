#include "bulk/candidates.h"
#include "bulk/comparisons.h"
#include "bulk/pairs.h"

#include <algorithm>

namespace minhash::bulk {

namespace {

// Rows of the largest bucket that is written as pairs.
constexpr std::size_t small_bucket = 32;

// Of buckets of these sizes, signatures are looked at before pairs are written: they are few in
// comparison with the pairs, and fit into the processor's cache.
constexpr std::size_t least_gathered = 8;
constexpr std::size_t most_gathered = 1024;

// Marks the number of a large bucket where a row's number could be. (There are no more rows.)
constexpr std::uint32_t bucket_mark = most_rows + 1;

constexpr std::size_t most_emitted = 512; // pairs at once

// How many candidates before its turn a row is fetched from memory.
constexpr std::size_t ahead = 4;

// Where the rows of a large bucket are.
struct large_bucket {
    std::uint64_t offset;
    std::uint64_t bytes;
};

struct pair_finder {
    row_set* rows;
    host* owner;
    pair_sink emit;
    found_pair* found; // not emitted yet
    std::size_t found_count;

    twins same;
    std::uint32_t* rights; // across two queries, the first row of the second one among each
                           // leader's rows, or no_row; else null
    int range_bits;        // rows per range, as a power of two
    std::size_t range_count;
    byte_store** ranges;      // of candidates: the row that verifies them in the upper half
    std::uint32_t* bucket_of; // the last bucket of each row; 0: none yet
    std::uint32_t bucket_count;
    growing<std::uint32_t> before; // a bucket's rows: their buckets before it
    byte_store* large_buckets;
    byte_store* large_rows;
    std::uint32_t large_count;

    verifier check;
    comparisons compared;
    std::uint32_t* met;             // for each row, the last one that met it
    void* buffer;                   // a piece of large_rows
    growing<std::uint32_t> buckets; // the large ones of a row, one of each band at most
};

// Whether a leader has rows of the first query, and of the second one.
bool is_left(const pair_finder& finder, std::uint32_t row)
{
    return finder.rights == nullptr || row < finder.rows->first_count;
}

bool is_right(const pair_finder& finder, std::uint32_t row)
{
    return finder.rights == nullptr || finder.rights[row] != no_row;
}

// Whether a left row verifies a right one that it meets: of two that are both, the first does.
bool verifies(const pair_finder& finder, std::uint32_t left, std::uint32_t right)
{
    return left < right || (left > right && !(is_right(finder, left) && is_left(finder, right)));
}

void record_candidate(pair_finder& finder, std::uint32_t row, std::uint32_t met)
{
    const std::uint64_t candidate = std::uint64_t{row} << 32 | met;
    append(*finder.ranges[row >> finder.range_bits], &candidate, sizeof(candidate));
}

// Records two rows of a bucket, by their places, unless they were together in an earlier one.
void record_two(pair_finder& finder,
                std::span<const std::uint32_t> bucket,
                std::size_t a,
                std::size_t b)
{
    const std::uint32_t* const before = finder.before.values;
    if (before[a] == before[b] && before[a] != 0)
        return;
    if (finder.rights == nullptr) {
        record_candidate(finder, bucket[a], bucket[b]);
        return;
    }
    for (const auto& [left, right] : {std::pair(bucket[a], bucket[b]), {bucket[b], bucket[a]}})
        if (is_left(finder, left) && is_right(finder, right) && verifies(finder, left, right))
            record_candidate(finder, left, right);
}

// Notes that these rows have been together.
void note_bucket(pair_finder& finder, std::span<const std::uint32_t> bucket)
{
    grow(*finder.owner, finder.before, 0, bucket.size());
    const std::uint32_t number = finder.bucket_count == no_row ? 0 : ++finder.bucket_count;
    for (std::size_t i = 0; i < bucket.size(); i++) {
        finder.before.values[i] = finder.bucket_of[bucket[i]];
        finder.bucket_of[bucket[i]] = number;
    }
}

void record_bucket(pair_finder& finder, std::span<const std::uint32_t> bucket)
{
    pause(*finder.owner);
    note_bucket(finder, bucket);
    if (bucket.size() >= least_gathered && bucket.size() <= most_gathered &&
        can_gather(finder.check)) {
        gather_starts(finder.check, bucket);
        for (std::size_t a = 0; a < bucket.size(); a++) {
            pause(*finder.owner);
            each_likely(finder.check, a, bucket.size(), [&finder, bucket, a](std::size_t b) {
                record_two(finder, bucket, a, b);
            });
        }
        return;
    }
    if (bucket.size() <= small_bucket) {
        for (std::size_t a = 0; a < bucket.size(); a++)
            for (std::size_t b = a + 1; b < bucket.size(); b++)
                record_two(finder, bucket, a, b);
        return;
    }
    const std::uint64_t start = finder.large_rows->size;
    for (const std::uint32_t row : bucket)
        if (is_right(finder, row))
            append(*finder.large_rows, &row, sizeof(row));
    const large_bucket at = {start, finder.large_rows->size - start};
    if (at.bytes == 0)
        return;
    append(*finder.large_buckets, &at, sizeof(at));
    for (const std::uint32_t row : bucket)
        if (is_left(finder, row))
            record_candidate(finder, row, bucket_mark | finder.large_count);
    finder.large_count++;
}

void emit_found(pair_finder& finder)
{
    finder.emit(*finder.owner, {finder.found, finder.found_count});
    finder.found_count = 0;
}

void add_found(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    finder.found[finder.found_count++] = {left, right, similarity};
    if (finder.found_count == most_emitted) {
        pause(*finder.owner);
        emit_found(finder);
    }
}

// The pairs of a leader's rows of the first query with another's of the second one. (The first
// query's rows come first.)
void add_across(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    const std::uint32_t first = finder.rights[right];
    if (first == no_row)
        return;
    for (std::uint32_t a = left; a < finder.rows->first_count; a = finder.same.next[a])
        for (std::uint32_t b = first; b != no_row; b = finder.same.next[b])
            add_found(finder, a, b, similarity);
}

void add_all(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    for (std::uint32_t a = left; a != no_row; a = finder.same.next[a])
        for (std::uint32_t b = right; b != no_row; b = finder.same.next[b])
            add_found(finder, a, b, similarity);
}

// The pairs among the rows that a leader stands for.
void add_twins(pair_finder& finder, std::uint32_t leader)
{
    if (finder.rights != nullptr) {
        add_across(finder, leader, leader, 1);
        return;
    }
    for (std::uint32_t a = leader; a != no_row; a = finder.same.next[a])
        for (std::uint32_t b = finder.same.next[a]; b != no_row; b = finder.same.next[b])
            add_found(finder, a, b, 1);
}

void add_near(void* self, std::uint32_t a, std::uint32_t b, double similarity)
{
    pair_finder& finder = *static_cast<pair_finder*>(self);
    if (finder.rights == nullptr) {
        add_all(finder, a, b, similarity);
    } else {
        add_across(finder, a, b, similarity);
        add_across(finder, b, a, similarity);
    }
}

// Verifies a candidate, once.
void verify_once(pair_finder& finder, std::uint32_t a, std::uint32_t b)
{
    if (finder.met[b] == a)
        return;
    finder.met[b] = a;
    pause(*finder.owner);
    verify_later(finder.compared, a, b);
}

void verify_bucket(pair_finder& finder, std::uint32_t row, std::uint32_t number)
{
    large_bucket copy;
    const large_bucket at = *static_cast<const large_bucket*>(
        fetch(*finder.large_buckets, number * std::uint64_t{sizeof(copy)}, sizeof(copy), &copy));
    for (std::uint64_t offset = at.offset; offset < at.offset + at.bytes;) {
        pause(*finder.owner);
        const void* piece;
        const std::size_t bytes =
            std::min<std::uint64_t>(fetch_piece(*finder.large_rows, offset, finder.buffer, piece),
                                    at.offset + at.bytes - offset);
        const std::uint32_t* const rows = static_cast<const std::uint32_t*>(piece);
        const std::size_t count = bytes / sizeof(std::uint32_t);
        // Of one query, a row verifies those after it, and rows come in their order.
        std::size_t i = 0;
        if (finder.rights == nullptr)
            i = static_cast<std::size_t>(std::upper_bound(rows, rows + count, row) - rows);
        for (; i < count; i++) {
            if (i + ahead < count && finder.met[rows[i + ahead]] != row)
                prefetch(finder.check, rows[i + ahead]);
            if (verifies(finder, row, rows[i]))
                verify_once(finder, row, rows[i]);
        }
        offset += bytes;
    }
}

// Verifies a row with others, in two steps: signatures, which are fetched ahead, and then sets.
void verify_rows(pair_finder& finder, std::uint32_t row, std::span<std::uint32_t> others)
{
    std::size_t likely = 0;
    for (std::size_t i = 0; i < others.size(); i++) {
        pause(*finder.owner);
        if (i + ahead < others.size())
            prefetch(finder.check, others[i + ahead]);
        const std::uint32_t other = others[i];
        if (!finder.rows->task.exact)
            verify_later(finder.compared, row, other);
        else if (may_be_near(finder.check, row, other))
            others[likely++] = other;
    }
    for (std::size_t i = 0; i < likely; i++) {
        pause(*finder.owner);
        if (i + 2 * ahead < likely)
            prefetch_place(finder.check.sets, others[i + 2 * ahead]);
        if (i + ahead < likely)
            prefetch_record(finder.check.sets, others[i + ahead]);
        compare_later(finder.compared, row, others[i]);
    }
}

// Verifies the candidates of one row, which come in any order and more than once.
void verify_row(pair_finder& finder, std::uint32_t row, std::span<std::uint32_t> candidates)
{
    std::size_t rows = 0;
    std::size_t buckets = 0;
    for (const std::uint32_t candidate : candidates) {
        if (candidate >= bucket_mark) {
            finder.buckets.values[buckets++] = candidate - bucket_mark;
        } else if (finder.met[candidate] != row) {
            finder.met[candidate] = row;
            candidates[rows++] = candidate;
        }
    }
    std::sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(rows));
    verify_rows(finder, row, candidates.first(rows));
    for (std::size_t i = 0; i < buckets; i++)
        verify_bucket(finder, row, finder.buckets.values[i]);
}

// The candidates of one range, row by row. They are read as often as memory makes necessary.
struct range_reader {
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

void verify_range(pair_finder& finder, byte_store& range, range_reader& reader)
{
    // starts[i + 1] counts the candidates of row i, and then says where they end.
    std::fill_n(reader.starts, reader.rows + 1, 0);
    each_pair(*finder.owner, range, reader.buffer, [&reader](std::uint32_t a, std::uint32_t) {
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
            grow(*finder.owner, reader.others, 0, std::max<std::size_t>(reader.room, wanted));
            std::uint32_t* const others = reader.others.values;
            // Where the next candidate of a row goes: the start moves, and is put back below.
            each_pair(*finder.owner, range, reader.buffer, [&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t row = a - reader.first;
                if (row >= from && row < to)
                    others[reader.starts[row]++ - base] = b;
            });
            for (std::uint32_t row = to; row-- > from;)
                reader.starts[row] = row == from ? base : reader.starts[row - 1];
            for (std::uint32_t row = from; row < to; row++) {
                report(*finder.owner,
                       "verifying candidates of rows",
                       reader.first + row,
                       finder.rows->count);
                verify_row(finder,
                           reader.first + row,
                           {others + (reader.starts[row] - base),
                            reader.starts[row + 1] - reader.starts[row]});
            }
        }
        from = to;
    }
}

void start_ranges(pair_finder& finder)
{
    constexpr std::size_t most_ranges = 256;
    memory_budget& budget = *finder.rows->budget;
    const std::uint32_t count = finder.rows->count;
    finder.range_bits = 12;
    while ((count >> finder.range_bits) >= most_ranges)
        finder.range_bits++;
    finder.range_count = (count >> finder.range_bits) + 1;
    finder.ranges = allocate<byte_store*>(*finder.owner, finder.range_count);
    const std::size_t chunk = chunk_for(budget, finder.range_count, 32 * 1024);
    for (std::size_t i = 0; i < finder.range_count; i++)
        finder.ranges[i] = open_store(budget, chunk);
    finder.bucket_of = allocate<std::uint32_t>(*finder.owner, count);
    std::fill_n(finder.bucket_of, count, 0);
    finder.large_buckets = open_store(budget, chunk);
    finder.large_rows = open_store(budget, chunk);
}

void verify_ranges(pair_finder& finder)
{
    row_set& rows = *finder.rows;
    host& owner = *finder.owner;
    const std::size_t range_rows = std::size_t{1} << finder.range_bits;
    const std::size_t least_room = 1024 * 1024;
    range_reader reader = {};
    reader.starts = allocate<std::uint64_t>(owner, range_rows + 1);
    reader.room = std::max(least_room, rows.budget->limit / 16);
    reader.buffer = allocate<char>(owner, finder.ranges[0]->chunk_bytes);
    finder.buffer = allocate<char>(owner, finder.large_rows->chunk_bytes);
    grow(owner, finder.buckets, 0, static_cast<std::size_t>(rows.task.shape.bands));
    finder.met = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(finder.met, rows.count, no_row);
    for (std::size_t i = 0; i < finder.range_count; i++) {
        reader.first = static_cast<std::uint32_t>(i << finder.range_bits);
        reader.rows = static_cast<std::uint32_t>(
            std::min<std::size_t>(range_rows, rows.count - reader.first));
        verify_range(finder, *finder.ranges[i], reader);
        close_store(finder.ranges[i]);
    }
    release(owner, reader.starts);
    release(owner, reader.others.values);
    release(owner, reader.buffer);
}

void find_rights(pair_finder& finder)
{
    const row_set& rows = *finder.rows;
    finder.rights = allocate<std::uint32_t>(*finder.owner, rows.count);
    std::fill_n(finder.rights, rows.count, no_row);
    for (std::uint32_t row = rows.count; row-- > rows.first_count;)
        finder.rights[finder.same.leader[row]] = row;
}

void end_finder(pair_finder& finder)
{
    host& owner = *finder.owner;
    end_comparisons(finder.compared);
    end_verifier(finder.check);
    close_store(finder.large_buckets);
    close_store(finder.large_rows);
    for (void* const memory : {static_cast<void*>(finder.found),
                               static_cast<void*>(finder.same.leader.data()),
                               static_cast<void*>(finder.same.next.data()),
                               static_cast<void*>(finder.rights),
                               static_cast<void*>(finder.ranges),
                               static_cast<void*>(finder.met),
                               static_cast<void*>(finder.buckets.values),
                               finder.buffer})
        release(owner, memory);
}

} // namespace

std::uint64_t find_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    pair_finder finder = {};
    finder.rows = &rows;
    finder.owner = rows.owner;
    finder.emit = emit;
    finder.found = allocate<found_pair>(*rows.owner, most_emitted);
    finish_rows(rows);
    start_verifier(finder.check, rows);
    start_comparisons(finder.compared, finder.check, &finder, add_near);

    bucket_walk walk;
    start_walk(walk, rows, "banding rows");
    finder.same = find_twins(walk, finder.check);
    if (crossing)
        find_rights(finder);
    start_ranges(finder);
    for (int band = 0; band < rows.task.shape.bands; band++) {
        walk_band(walk, band, [&finder](std::span<const std::uint32_t> bucket) {
            record_bucket(finder, bucket);
        });
        close_band(rows, band);
    }
    end_walk(walk);
    release(*rows.owner, finder.bucket_of);
    release(*rows.owner, finder.before.values);

    for (std::uint32_t row = 0; row < rows.count; row++)
        if (finder.same.leader[row] == row && finder.same.next[row] != no_row)
            add_twins(finder, row);
    verify_ranges(finder);
    finish_comparisons(finder.compared);
    emit_found(finder);
    end_finder(finder);
    return walk.large_buckets;
}

} // namespace minhash::bulk
