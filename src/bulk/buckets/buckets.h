// Finds rows with equal band keys, while keeping the data within the CPU cache. The entries of a band are scattered by
// the top bits of their keys into partitions of a few thousand entries. Each partition is then grouped with a small
// hash table. An entry has 64 bits: the upper half of the key, and the row. Rows that share only this half (about a
// hundred pairs in a band of a million rows) are false candidates, which verification drops.
#pragma once

#include "bulk/memory/host.h"

#include "core/sort.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

constexpr std::uint32_t no_row = 0xFFFFFFFF;

// The maximum number of rows. Even if all rows are in one partition, 32 bits suffice to number the slots of its hash
// table.
constexpr std::uint32_t most_rows = 0x7FFFFFFF;

constexpr std::uint64_t make_entry(std::uint32_t key, std::uint32_t row) noexcept
{
    return std::uint64_t{key} << 32 | row;
}

// How many top bits of the key choose the partition of a row.
constexpr int partition_bits(std::size_t rows) noexcept
{
    constexpr std::size_t wanted = 2048; // this many entries and their table fit into the L1 cache
    constexpr int most = 12;             // with more partitions to write to, scattering misses the cache
    const int bits = rows <= wanted ? 0 : static_cast<int>(std::bit_width((rows - 1) / wanted));
    return bits < most ? bits : most;
}

constexpr std::size_t partition_of(std::uint32_t key, int bits) noexcept
{
    assert(bits >= 0 && bits < 32);
    return bits == 0 ? 0 : key >> (32 - bits);
}

// How many slots the hash table has for a partition of `entries` entries.
constexpr std::size_t bucket_table_size(std::size_t entries) noexcept { return std::bit_ceil(entries * 2 + 1); }

// The caller's memory for each_bucket(). `table` has bucket_table_size() elements; the other arrays are as long as the
// partition.
struct bucket_room {
    std::uint32_t* table;
    std::uint32_t* next;
    std::uint32_t* shared;
    std::uint32_t* rows;
};

// Calls visit(std::span<const std::uint32_t> rows) for each key that at least two rows of a partition share. The rows
// are in the order of their entries.
template <typename Visit>
void each_bucket(std::span<const std::uint64_t> entries, const bucket_room& room, Visit&& visit)
{
    const auto key_of = [](std::uint64_t entry) { return static_cast<std::uint32_t>(entry >> 32); };
    assert(entries.size() <= most_rows);
    const std::size_t slots = bucket_table_size(entries.size());
    for (std::size_t slot = 0; slot < slots; slot++)
        room.table[slot] = no_row;

    std::size_t shared = 0;
    // Go from the last entry to the first, so that chains are in the order of the entries.
    for (std::size_t i = entries.size(); i-- > 0;) {
        const std::uint32_t key = key_of(entries[i]);
        std::size_t slot = key & (slots - 1);
        std::uint32_t head = room.table[slot];
        while (head != no_row && key_of(entries[head]) != key) {
            slot = (slot + 1) & (slots - 1);
            head = room.table[slot];
        }
        room.next[i] = head;
        room.table[slot] = static_cast<std::uint32_t>(i);
        if (head != no_row && room.next[head] == no_row)
            room.shared[shared++] = static_cast<std::uint32_t>(slot);
    }
    while (shared-- > 0) {
        std::size_t count = 0;
        for (std::uint32_t i = room.table[room.shared[shared]]; i != no_row; i = room.next[i])
            room.rows[count++] = static_cast<std::uint32_t>(entries[i]);
        visit(std::span<const std::uint32_t>(room.rows, count));
    }
}

} // namespace minhash::bulk
