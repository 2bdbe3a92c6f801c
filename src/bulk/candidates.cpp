// The rows of a band are sorted by the upper bits of their keys into partitions that fit into the
// processor's cache, by counting first and placing then; inside a partition a small hash table
// brings the rows of each key together (buckets.h). Rows that are the same are found in the same
// way, by the key of the whole signature, and then compared.
#include "bulk/candidates.h"

#include <algorithm>

namespace minhash::bulk {

namespace {

// Calls take(key, row) for the rows of a band that stand for themselves.
template <typename Take>
void each_key(bucket_walk& walk, int band, Take&& take)
{
    byte_store& keys = *walk.rows->keys[band];
    std::uint32_t row = 0;
    for (std::uint64_t offset = 0; offset < keys.size;) {
        pause(*walk.rows->owner);
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
    host& owner = *walk.rows->owner;
    for (std::uint32_t* const memory :
         {walk.room.table, walk.room.next, walk.room.shared, walk.room.rows})
        release(owner, memory);
    walk.room = {};
}

void enlarge_room(bucket_walk& walk, std::size_t entries)
{
    if (entries <= walk.room_entries)
        return;
    free_room(walk);
    host& owner = *walk.rows->owner;
    const std::size_t room = entries + entries / 4;
    walk.room.table = allocate<std::uint32_t>(owner, bucket_table_size(room));
    walk.room.next = allocate<std::uint32_t>(owner, room);
    walk.room.shared = allocate<std::uint32_t>(owner, room);
    walk.room.rows = allocate<std::uint32_t>(owner, room);
    walk.room_entries = room;
}

} // namespace

void start_walk(bucket_walk& walk, row_set& rows, const char* phase)
{
    host& owner = *rows.owner;
    walk = {};
    walk.rows = &rows;
    walk.phase = phase;
    walk.bits = partition_bits(rows.count);
    walk.entries = allocate<std::uint64_t>(owner, rows.count);
    walk.starts = allocate<std::uint32_t>(owner, (std::size_t{1} << walk.bits) + 2);
    walk.buffer = allocate<char>(owner, rows.keys[0]->chunk_bytes);
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
    host& owner = *walk.rows->owner;
    free_room(walk);
    release(owner, walk.entries);
    release(owner, walk.starts);
    release(owner, walk.buffer);
}

twins find_twins(bucket_walk& walk, verifier& same)
{
    row_set& rows = *walk.rows;
    host& owner = *rows.owner;
    const std::size_t count = rows.count;
    const twins found = {
        {allocate<std::uint32_t>(owner, count), count},
        {allocate<std::uint32_t>(owner, count), count},
    };
    for (std::uint32_t row = 0; row < count; row++) {
        found.leader[row] = row;
        found.next[row] = no_row;
    }
    walk_band(walk, rows.task.shape.bands, [&](std::span<const std::uint32_t> bucket) {
        const std::uint32_t leader = bucket[0];
        std::uint32_t last = leader;
        for (const std::uint32_t row : bucket.subspan(1)) {
            pause(owner);
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

} // namespace minhash::bulk
