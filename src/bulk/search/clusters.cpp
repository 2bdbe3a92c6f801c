// Large buckets are processed first. Each row of a large bucket is compared with a few other rows of the bucket, which
// connects most of the near rows. The bucket is then stored as groups of connected rows. After that, each row is
// compared with its candidates from all bands, as in a search for pairs. But candidates that are already connected with
// the row are skipped. In a large bucket, a whole group is skipped at once. Rows are processed in order, so the first
// row of a component is compared with most of its candidates, and later rows of the component skip most of their
// candidates. Finally the components are emitted; on request, they are first split around representatives. The
// similarity of a row to its representative is computed at this point, unless it is already known from connecting the
// two rows.
#include "bulk/components/union_find.h"
#include "bulk/search/cluster_emitter.h"
#include "bulk/search/clusters.h"
#include "bulk/search/found_pairs.h"
#include "bulk/search/row_candidates.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace minhash::bulk {

namespace {

// The state of a process while it connects rows.
struct connector {
    row_set* rows;
    std::span<std::uint32_t> parent;
    row_candidates candidates;
    verifier check;
    found_pairs found;

    byte_store** groups;            // for each member, its store of groups
    growing<std::uint32_t> bucket;  // the rows of the current large bucket
    growing<std::uint32_t> roots;   // the root of each row of the bucket
    growing<std::uint32_t> grouped; // the bucket's groups, in the form in which they are written
    std::uint32_t* next_of_root;    // for each root in the bucket: its number of rows, then where its next row goes
};

bool are_connected(const connector& self, std::uint32_t a, std::uint32_t b)
{
    return find_root(self.parent, a) == find_root(self.parent, b);
}

// Where the groups of a large bucket are: in the store of process `member`, from `offset` on. First come the rows that
// are connected with no other row of the bucket. Then come the groups. Each group starts with a number that is its size
// and has size_mark set; the rows of the group follow in ascending order.
struct bucket_groups {
    std::uint32_t member;
    std::uint32_t count; // how many numbers are written: rows and sizes together
    std::uint64_t offset;
};

constexpr std::uint32_t size_mark = most_rows + 1;
constexpr std::size_t groups_chunk = 64 * 1024;

// How many large buckets a member has collected.
std::uint32_t bucket_count(const row_set& rows, std::uint32_t member)
{
    const auto* const notes = find_shared<store_note>(rows, rows.search->large_bucket_list);
    return static_cast<std::uint32_t>(notes[member].size / sizeof(large_bucket));
}

// Large buckets have numbers below this one, but not every such number belongs to a bucket (has_bucket()).
std::uint32_t bucket_units(const row_set& rows)
{
    std::uint32_t most = 0;
    for (std::uint32_t member = 0; member < rows.shared->processes; member++)
        most = std::max(most, bucket_count(rows, member));
    return most * rows.shared->processes;
}

bool has_bucket(const row_set& rows, std::uint32_t number)
{
    return number / rows.shared->processes < bucket_count(rows, number % rows.shared->processes);
}

// Compares rows of the current bucket with the bucket's heads. The heads are the first few rows that are not connected
// with an earlier head. A row that is connected with no head yet is joined to the first head to which it is near.
void connect_some(connector& self, std::uint32_t size)
{
    constexpr std::size_t most_heads = 4;
    std::uint32_t heads[most_heads];
    std::size_t count = 0;
    for (std::uint32_t ordinal = 0; ordinal < size; ordinal++) {
        const std::uint32_t row = self.bucket.values[ordinal];
        assert(ordinal == 0 || self.bucket.values[ordinal - 1] < row);
        bool connected = false;
        for (std::size_t i = 0; i < count && !connected; i++)
            connected = are_connected(self, heads[i], row);
        for (std::size_t i = 0; i < count && !connected; i++) {
            pause(*self.rows->owner);
            connected = verify(self.check, heads[i], row).has_value();
            if (connected)
                join(self.parent, heads[i], row);
        }
        if (!connected && count < most_heads)
            heads[count++] = row;
    }
}

// Writes the groups of the current bucket to self.grouped, and returns how many numbers it wrote.
std::uint32_t group_bucket(connector& self, std::uint32_t size)
{
    host& owner = *self.rows->owner;
    grow(owner, self.roots, 0, size);
    grow(owner, self.grouped, 0, std::size_t{size} + size / 2 + 1);
    const std::span<const std::uint32_t> roots(self.roots.values, size);
    std::uint32_t* const ordinals = self.next_of_root;
    for (std::uint32_t i = 0; i < size; i++) {
        pause(owner);
        self.roots.values[i] = find_root(self.parent, self.bucket.values[i]);
        ordinals[roots[i]]++;
    }
    std::uint32_t end = 0;
    for (std::uint32_t i = 0; i < size; i++)
        if (ordinals[roots[i]] == 1)
            self.grouped.values[end++] = self.bucket.values[i];
    for (std::uint32_t i = 0; i < size; i++) {
        pause(owner);
        std::uint32_t& ordinal = ordinals[roots[i]];
        if (ordinal == 1)
            continue;
        if (!(ordinal & size_mark)) {
            self.grouped.values[end] = size_mark | ordinal;
            const std::uint32_t rows = ordinal;
            ordinal = size_mark | (end + 1);
            end += rows + 1;
        }
        self.grouped.values[ordinal++ & ~size_mark] = self.bucket.values[i];
    }
    assert(end <= size + size / 2);
    for (const std::uint32_t root : roots)
        ordinals[root] = 0;
    return end;
}

// Reads single numbers from the stored groups of a bucket. The store returns the numbers in pieces.
struct group_reader {
    byte_store* from;
    std::uint64_t begin; // the offset of `piece` in the store
    std::span<const char> piece;

    std::uint32_t at(std::uint64_t offset)
    {
        assert(offset % sizeof(std::uint32_t) == 0);
        if (offset < begin || offset >= begin + piece.size()) {
            begin = offset;
            piece = fetch_piece(*from, offset);
        }
        return *reinterpret_cast<const std::uint32_t*>(piece.data() + (offset - begin));
    }
};

// Compares a row with the later rows of a large bucket, group by group. The rest of a group is skipped as soon as the
// row is connected with the group.
void connect_in_bucket(connector& self, std::uint32_t row, std::uint32_t number)
{
    const bucket_groups groups = find_shared<bucket_groups>(*self.rows, self.rows->search->bucket_group_lists)[number];
    group_reader reader = {self.groups[groups.member], 0, {}};
    std::uint32_t* const met = self.candidates.met;
    const auto entry = [&](std::uint32_t i) {
        return reader.at(groups.offset + i * std::uint64_t{sizeof(std::uint32_t)});
    };
    for (std::uint32_t i = 0; i < groups.count;) {
        const std::uint32_t first = entry(i);
        const bool single = !(first & size_mark);
        const std::uint32_t size = single ? 1 : first & ~size_mark;
        i += single ? 0 : 1;
        const std::uint32_t end = i + size;
        assert(size > 0 && end <= groups.count);
        if (!single && are_connected(self, row, entry(i)))
            i = end;
        for (; i < end; i++) {
            const std::uint32_t other = entry(i);
            if (other <= row || met[other] == row)
                continue;
            met[other] = row;
            pause(*self.rows->owner);
            if (are_connected(self, row, other))
                break;
            if (const auto similarity = verify(self.check, row, other)) {
                join(self.parent, row, other);
                add_pair(self.found, {row, other, *similarity});
                break;
            }
        }
        i = end;
    }
}

void connect_row(void* of, std::uint32_t row, std::span<std::uint32_t> others, std::span<const std::uint32_t> buckets)
{
    connector& self = *static_cast<connector*>(of);
    verify_row(
        self.check,
        row,
        others,
        [&](std::uint32_t other) { return are_connected(self, row, other); },
        [&](std::uint32_t other, double similarity) {
            join(self.parent, row, other);
            add_pair(self.found, {row, other, similarity});
        });
    for (const std::uint32_t bucket : buckets)
        connect_in_bucket(self, row, bucket);
}

void start_connector(connector& self, row_set& rows)
{
    self = {};
    self.rows = &rows;
    self.parent = {find_shared<std::uint32_t>(rows, rows.search->parent), rows.count};
    start_candidates(self.candidates, rows);
    start_verifier(self.check, rows);
}

void connect_bucket_units(row_set& rows)
{
    connector self;
    start_connector(self, rows);
    host& owner = *rows.owner;
    byte_store* const groups = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, groups_chunk));
    auto* const ordinals = find_shared<bucket_groups>(rows, rows.search->bucket_group_lists);
    self.next_of_root = allocate<std::uint32_t>(owner, rows.count);
    std::fill_n(self.next_of_root, rows.count, 0);
    const std::uint32_t units = bucket_units(rows);
    for (std::uint64_t unit; (unit = next_unit(rows)) < units;) {
        report(owner, "verifying large buckets", unit, units);
        const auto number = static_cast<std::uint32_t>(unit);
        if (!has_bucket(rows, number))
            continue;
        std::uint32_t size = 0;
        each_piece_of_bucket(self.candidates, number, [&](std::span<const std::uint32_t> piece) {
            grow(owner, self.bucket, size, size + piece.size());
            std::copy(piece.begin(), piece.end(), self.bucket.values + size);
            size += static_cast<std::uint32_t>(piece.size());
        });
        connect_some(self, size);
        const std::uint32_t count = group_bucket(self, size);
        ordinals[unit] = {rows.member, count, groups->size};
        append(*groups, self.grouped.values, count * sizeof(std::uint32_t));
    }
    leave_store(rows, groups, rows.search->groups);
}

void connect_row_units(row_set& rows)
{
    connector self;
    start_connector(self, rows);
    self.groups = open_left(rows, rows.search->groups);
    start_found(self.found, rows);
    each_range(self.found, [&self](std::uint32_t range) { each_row(self.candidates, range, &self, connect_row); });
    end_found(self.found);
}

void connect(row_set& rows, cluster_emitter& emitter)
{
    host& owner = *rows.owner;
    shared_search& shared = *rows.search;
    start_components({allocate_shared<std::uint32_t>(owner, shared.parent, rows.count), rows.count});
    expect_stores(rows, shared.groups);
    allocate_shared<bucket_groups>(owner, shared.bucket_group_lists, bucket_units(rows));
    do_step(rows, connect_bucket_units);
    expect_pairs(rows);
    do_step(rows, connect_row_units);
    end_steps(rows);
    start_emitter(emitter);
    each_found(rows, [&emitter](const found_pair& pair) { note_similarity(emitter, pair); });
}

std::optional<double> compare_rows(void* with, std::uint32_t a, std::uint32_t b)
{
    return verify(*static_cast<verifier*>(with), a, b);
}

} // namespace

std::uint64_t find_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to)
{
    assert(rows.apart == nullptr || options.near_representative);
    verifier check;
    cluster_emitter emitter = {};
    emitter.rows = &rows;
    emitter.options = options;
    emitter.to = to;
    emitter.compare = compare_rows;
    emitter.with = &check;
    start_steps(rows);
    find_twins(rows);
    collect_candidates(rows, true);
    connect(rows, emitter);
    start_verifier(check, rows);
    if (!options.near_representative)
        accept_all(check);
    emit_components(emitter);
    return rows.search->large_buckets;
}

} // namespace minhash::bulk
