// The rows of one band brought together by their keys, all of them or a slice whose keys begin with
// the same bits: sorted by the upper bits of the keys into
// partitions that fit into the processor's cache, first counted, then placed. Inside a
// partition a small hash table brings the rows of each key together (buckets.h).
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/memory/host.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

// Memory for one band after the other.
struct grouping {
    host* owner;
    int bits;
    growing<std::uint64_t> entries;
    std::uint32_t* starts; // of partitions, and the end
    bucket_room room;
    std::size_t room_entries;
};

// For bands of about `rows` rows.
void start_grouping(grouping& fresh, host& owner, std::size_t rows);

void end_grouping(grouping& state);

// Makes room for partitions of at most this many entries.
void enlarge_room(grouping& state, std::size_t entries);

inline std::size_t partition_count(const grouping& state)
{
    return std::size_t{1} << state.bits;
}

inline std::span<const std::uint64_t> partition(const grouping& state, std::size_t number)
{
    assert(number < partition_count(state));
    return {state.entries.values + state.starts[number],
            state.starts[number + 1] - state.starts[number]};
}

// Brings rows into partitions. each_key(take) calls take(key, row) for all rows; it is called
// twice.
template <typename EachKey>
void scatter(grouping& state, EachKey&& each_key)
{
    const int bits = state.bits;
    const std::size_t partitions = partition_count(state);
    std::uint32_t* const starts = state.starts;
    std::fill_n(starts, partitions + 2, 0);
    // starts[i + 2] counts partition i, becomes the start of i + 1, and while scattering runs
    // ahead as the end of i: then starts[i] is the start again.
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
    assert(starts[partitions] == starts[partitions + 1]); // both times the same rows came
}

} // namespace minhash::bulk
