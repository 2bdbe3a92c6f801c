// The near pairs found by verifying ranges of candidates: each process keeps those that it finds, and at the end they
// are read in the order of the ranges.
#pragma once

#include "bulk/rows/steps.h"
#include "bulk/search/pairs.h"

namespace minhash::bulk {

// Where the pairs of a range are: in the store of a member.
struct found_range {
    std::uint32_t member;
    std::uint64_t first; // of its pairs
    std::uint64_t count;
};

constexpr std::size_t found_chunk = 64 * 1024;

// To be called before the step in which pairs are found.
void expect_pairs(row_set& rows);

// What a process has found.
struct found_pairs {
    row_set* rows;
    memory_budget budget;
    byte_store* store;
    found_range* ranges;
};

void start_found(found_pairs& found, row_set& rows);
void end_found(found_pairs& found);

inline void add_pair(found_pairs& found, const found_pair& pair)
{
    append(*found.store, &pair, sizeof(pair));
}

// Calls verify(range), which adds the pairs of a range, for the ranges that this process gets.
template <typename Verify>
void each_range(found_pairs& found, Verify&& verify)
{
    const row_set& rows = *found.rows;
    for (std::uint64_t range; (range = next_unit(rows)) < rows.shared->range_count;) {
        const std::uint64_t first = found.store->size / sizeof(found_pair);
        verify(static_cast<std::uint32_t>(range));
        found.ranges[range] = {static_cast<std::uint32_t>(rows.member),
                               first,
                               found.store->size / sizeof(found_pair) - first};
    }
}

// Calls take(pair) for all pairs that were found, range by range, and frees them.
template <typename Take>
void each_found(row_set& rows, Take&& take)
{
    host& owner = *rows.owner;
    const shared_rows& shared = *rows.shared;
    auto* const notes = find_shared<store_note>(rows, shared.found);
    const auto* const ranges = find_shared<found_range>(rows, shared.ranges);
    const auto processes = static_cast<std::size_t>(shared.processes);
    byte_store** const stores = allocate<byte_store*>(owner, processes);
    for (std::size_t member = 0; member < processes; member++)
        stores[member] = open_view(*rows.budget, notes[member]);
    auto* const buffer = allocate<found_pair>(owner, found_chunk / sizeof(found_pair));
    for (std::uint32_t range = 0; range < shared.range_count; range++) {
        byte_store& from = *stores[ranges[range].member];
        const std::uint64_t end = (ranges[range].first + ranges[range].count) * sizeof(found_pair);
        for (std::uint64_t at = ranges[range].first * sizeof(found_pair); at < end;) {
            pause(owner);
            const void* piece;
            const std::size_t bytes = std::min<std::uint64_t>(fetch_piece(from, at, buffer, piece), end - at);
            const auto* const pairs = static_cast<const found_pair*>(piece);
            for (std::size_t i = 0; i < bytes / sizeof(found_pair); i++)
                take(pairs[i]);
            at += bytes;
        }
    }
    for (std::size_t member = 0; member < processes; member++) {
        close_store(stores[member]);
        drop_noted(owner, notes[member]);
    }
    release(owner, stores);
    release(owner, buffer);
}

} // namespace minhash::bulk
