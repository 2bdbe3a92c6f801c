#include "pg/bulk/candidates.h"

#include <algorithm>

namespace minhash::pg {

namespace {

template <typename Value>
Value* allocate_array(MemoryContext memory, std::size_t count)
{
    return static_cast<Value*>(allocate_large(memory, (count + 1) * sizeof(Value)));
}

// Calls take(key, row) for the rows of a band that stand for themselves.
template <typename Take>
void each_key(bucket_walk& walk, int band, Take&& take)
{
    byte_store& keys = walk.rows->keys[band];
    std::uint32_t row = 0;
    for (std::uint64_t offset = 0; offset < keys.size;) {
        CHECK_FOR_INTERRUPTS();
        const void* piece;
        const std::size_t bytes = fetch_piece(keys, offset, walk.buffer, piece);
        const std::uint32_t* const values = static_cast<const std::uint32_t*>(piece);
        for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); i++, row++)
            if (walk.leader.empty() || walk.leader[row] == row)
                take(values[i], row);
        offset += bytes;
    }
}

void free_room(bucket_walk& walk)
{
    if (walk.room_entries == 0)
        return;
    pfree(walk.room.table);
    pfree(walk.room.next);
    pfree(walk.room.shared);
    pfree(walk.room.rows);
}

void enlarge_room(bucket_walk& walk, std::size_t entries)
{
    if (entries <= walk.room_entries)
        return;
    free_room(walk);
    const MemoryContext memory = walk.rows->memory;
    walk.room_entries = entries + entries / 4;
    walk.room.table = allocate_array<std::uint32_t>(memory, bucket_table_size(walk.room_entries));
    walk.room.next = allocate_array<std::uint32_t>(memory, walk.room_entries);
    walk.room.shared = allocate_array<std::uint32_t>(memory, walk.room_entries);
    walk.room.rows = allocate_array<std::uint32_t>(memory, walk.room_entries);
}

} // namespace

void start_walk(bucket_walk& walk, bulk_rows& rows, const char* phase)
{
    walk = {};
    walk.rows = &rows;
    walk.bits = partition_bits(rows.count);
    walk.entries = allocate_array<std::uint64_t>(rows.memory, rows.count);
    walk.starts = allocate_array<std::uint32_t>(rows.memory, (std::size_t{1} << walk.bits) + 2);
    walk.buffer = MemoryContextAlloc(rows.memory, rows.keys[0].chunk_bytes);
    walk.progress_of =
        start_phase(phase, static_cast<std::uint64_t>(rows.count) * (rows.shape.bands + 1));
}

void scatter(bucket_walk& walk, int band)
{
    const int bits = walk.bits;
    const std::size_t partitions = std::size_t{1} << bits;
    std::uint32_t* const starts = walk.starts;
    std::fill_n(starts, partitions + 2, 0);
    // starts[i + 2] counts partition i, becomes the start of i + 1, and while scattering runs
    // ahead as the end of i: then starts[i] is the start again.
    each_key(walk, band, [=](std::uint32_t key, std::uint32_t) {
        starts[partition_of(key, bits) + 2]++;
    });
    std::size_t largest = 0;
    for (std::size_t i = 2; i < partitions + 2; i++) {
        largest = std::max<std::size_t>(largest, starts[i]);
        starts[i] += starts[i - 1];
    }
    enlarge_room(walk, largest);
    std::uint64_t* const entries = walk.entries;
    each_key(walk, band, [=](std::uint32_t key, std::uint32_t row) {
        entries[starts[partition_of(key, bits) + 1]++] = make_entry(key, row);
    });
}

void end_walk(bucket_walk& walk)
{
    free_room(walk);
    pfree(walk.entries);
    pfree(walk.starts);
    pfree(walk.buffer);
}

twins find_twins(bucket_walk& walk, verifier& same)
{
    bulk_rows& rows = *walk.rows;
    const std::size_t count = rows.count;
    const twins found = {
        {allocate_array<std::uint32_t>(rows.memory, count), count},
        {allocate_array<std::uint32_t>(rows.memory, count), count},
    };
    for (std::size_t row = 0; row < count; row++) {
        found.leader[row] = static_cast<std::uint32_t>(row);
        found.next[row] = no_row;
    }
    walk_band(walk, rows.shape.bands, [&](std::span<const std::uint32_t> bucket) {
        const std::uint32_t leader = bucket[0];
        std::uint32_t last = leader;
        for (const std::uint32_t row : bucket.subspan(1)) {
            CHECK_FOR_INTERRUPTS();
            if (!is_same(same, leader, row))
                continue;
            found.leader[row] = leader;
            found.next[last] = row;
            last = row;
        }
    });
    walk.leader = found.leader;
    return found;
}

} // namespace minhash::pg
