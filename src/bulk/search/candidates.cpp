// Equal rows are found in the same way as rows with equal band keys (bulk/buckets/buckets.h), but by the key of the
// whole signature. Then the rows with equal keys are compared.
#include "bulk/search/candidates.h"

#include <bit>
#include <numeric>

namespace minhash::bulk {

namespace {

// Calls take(key, row) for the rows of a slice. Rows that are not their own leaders are skipped, unless walk.leader is
// null. The upper bits that all keys of the slice have in common are shifted out of `key`.
template <typename Take>
void each_key(bucket_walk& walk, std::size_t band, std::uint32_t slice, Take&& take)
{
    byte_store& keys = *walk.rows->keys[band];
    const int bits = walk.rows->search->slice_bits;
    const std::uint32_t* const leader = walk.leader;
    std::uint32_t row = 0;
    each_piece<std::uint32_t>(keys, 0, keys.size, [&](std::span<const std::uint32_t> values) {
        for (const std::uint32_t key : values) {
            if ((bits == 0 || key >> (32 - bits) == slice) && (leader == nullptr || leader[row] == row))
                take(key << bits, row);
            row++;
        }
    });
}

// How many bits of a key choose its slice. All bands together must have enough slices to keep all processes busy.
int slice_bits_for(const row_set& rows, std::size_t bands)
{
    constexpr std::size_t units_for_each = 4;
    constexpr std::uint32_t least_rows = 16 * 1024;
    const std::size_t processes = rows.shared->processes;
    if (processes == 1 || rows.count < least_rows)
        return 0;
    return static_cast<int>(std::bit_width((units_for_each * processes - 1) / bands));
}

} // namespace

void start_walk(bucket_walk& walk, row_set& rows, const std::uint32_t* leader)
{
    walk = {};
    walk.rows = &rows;
    walk.leader = leader;
    walk.bits = partition_bits((rows.count >> rows.search->slice_bits) + std::size_t{1});
    walk.starts = allocate<std::uint32_t>(*rows.owner, (std::size_t{1} << walk.bits) + 1);
}

void scatter(bucket_walk& walk, std::size_t band, std::uint32_t slice)
{
    host& owner = *walk.rows->owner;
    const int bits = walk.bits;
    const std::size_t partitions = std::size_t{1} << bits;
    std::fill_n(walk.starts, partitions + 1, 0);
    std::uint32_t* const ends = walk.starts + 1;
    each_key(walk, band, slice, [=](std::uint32_t key, std::uint32_t) { ends[partition_of(key, bits)]++; });
    const std::size_t largest = *std::max_element(ends, ends + partitions);
    const std::uint32_t count = sum_counts(std::span(ends, partitions));
    const std::size_t table = bucket_table_size(largest);
    grow(owner, walk.memory, 0, table + 3 * largest);
    std::uint32_t* const memory = walk.memory.values;
    walk.room = {memory, memory + table, memory + table + largest, memory + table + 2 * largest};
    grow(owner, walk.entries, 0, count);
    std::uint64_t* const entries = walk.entries.values;
    each_key(walk, band, slice, [=](std::uint32_t key, std::uint32_t row) {
        entries[ends[partition_of(key, bits)]++] = make_entry(key, row);
    });
    assert(walk.starts[partitions] == count); // both calls of each_key() visited the same rows
}

namespace {

void find_twins_of_units(row_set& rows)
{
    host& owner = *rows.owner;
    const std::uint64_t slices = std::uint64_t{1} << rows.search->slice_bits;
    verifier same;
    start_verifier(same, rows);
    bucket_walk walk;
    start_walk(walk, rows, nullptr);
    const auto band = static_cast<std::size_t>(rows.task.banding.bands);
    for (std::uint64_t slice; (slice = next_unit(rows)) < slices;) {
        report(owner, "looking for rows that are the same", slice, slices);
        walk_slice(walk, band, static_cast<std::uint32_t>(slice), [&](std::span<const std::uint32_t> bucket) {
            const std::uint32_t leader = bucket[0];
            std::uint32_t last = leader;
            for (const std::uint32_t row : bucket.subspan(1)) {
                pause(owner);
                if (!is_same(same, leader, row))
                    continue;
                rows.leader[row] = leader;
                rows.next[last] = row;
                last = row;
            }
        });
    }
}

} // namespace

void find_twins(row_set& rows)
{
    host& owner = *rows.owner;
    start_search(rows);
    rows.leader = allocate_shared<std::uint32_t>(owner, shared_of(rows).leader, rows.count);
    rows.next = allocate_shared<std::uint32_t>(owner, shared_of(rows).next, rows.count);
    std::iota(rows.leader, rows.leader + rows.count, 0);
    std::fill_n(rows.next, rows.count, no_row);
    const int bits = slice_bits_for(rows, static_cast<std::size_t>(rows.task.banding.bands));
    rows.search->slice_bits = bits;
    bring_documents(rows);
    rows.search->slice_bits = slice_bits_for(rows, 1);
    do_step(rows, find_twins_of_units);
    rows.search->slice_bits = bits;
}

} // namespace minhash::bulk
