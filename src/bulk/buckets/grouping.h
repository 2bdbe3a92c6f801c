// Groups the rows of a band by their keys, or those of a slice, whose keys begin with the same bits. Rows are counted
// and then placed, by the upper bits of their keys, into partitions that fit into the processor's cache; inside a
// partition a small hash table groups the rows of each key (buckets.h).
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/memory/host.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

// Memory that is reused from band to band.
struct grouping {
    host* owner;
    int bits;
    growing<std::uint64_t> entries;
    std::uint32_t* starts; // where partitions start, and the end of the last
    bucket_room room;
    std::size_t room_entries;
};

// For bands of about `rows` rows.
void start_grouping(grouping& fresh, host& owner, std::size_t rows);

// Makes room for partitions of at most this many entries.
void enlarge_room(grouping& state, std::size_t entries);

inline std::size_t partition_count(const grouping& state)
{
    return std::size_t{1} << state.bits;
}

inline std::span<const std::uint64_t> partition(const grouping& state, std::size_t number)
{
    assert(number < partition_count(state));
    return {state.entries.values + state.starts[number], state.starts[number + 1] - state.starts[number]};
}

// Puts rows into partitions. each_key(take) calls take(key, row) for all rows; it is called twice.
template <typename EachKey>
void scatter(grouping& state, EachKey&& each_key)
{
    const int bits = state.bits;
    const std::size_t partitions = partition_count(state);
    std::uint32_t* const starts = state.starts;
    std::fill_n(starts, partitions + 2, 0);
    // starts[i + 2] counts partition i; summing makes starts[i + 1] its start, and placing moves that on to its end,
    // the start of partition i + 1: so starts[i] ends as the start of i.
    each_key([=](std::uint32_t key, std::uint32_t) { starts[partition_of(key, bits) + 2]++; });
    std::size_t largest = 0;
    for (std::size_t i = 2; i < partitions + 2; i++) {
        largest = std::max<std::size_t>(largest, starts[i]);
        starts[i] += starts[i - 1];
    }
    enlarge_room(state, largest);
    grow(*state.owner, state.entries, 0, starts[partitions + 1]);
    std::uint64_t* const entries = state.entries.values;
    each_key([=](std::uint32_t key, std::uint32_t row) {
        entries[starts[partition_of(key, bits) + 1]++] = make_entry(key, row);
    });
    assert(starts[partitions] == starts[partitions + 1]); // both calls gave the same rows
}

} // namespace minhash::bulk
