// The near pairs that were found by verifying ranges of candidates. Each process keeps the pairs that it finds. At the
// end, all pairs are read in the order of the ranges.
#pragma once

#include "bulk/search/pairs.h"
#include "bulk/search/shared_search.h"

namespace minhash::bulk {

// Where the pairs of a range are: in the store of process `member`.
struct found_range {
    std::uint32_t member;
    std::uint64_t first; // the number of the range's first pair in the store
    std::uint64_t count;
};

constexpr std::size_t found_chunk = 64 * 1024;

// Call this before the step in which pairs are found.
inline void expect_pairs(row_set& rows)
{
    shared_search& shared = *rows.search;
    expect_stores(rows, shared.found);
    allocate_shared<found_range>(*rows.owner, shared.ranges, shared.range_count);
}

// The pairs that one process has found.
struct found_pairs {
    row_set* rows;
    byte_store* store;
    found_range* ranges;
};

inline void start_found(found_pairs& found, row_set& rows)
{
    found.rows = &rows;
    found.store = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, found_chunk));
    found.ranges = find_shared<found_range>(rows, rows.search->ranges);
}

inline void end_found(found_pairs& found) { leave_store(*found.rows, found.store, found.rows->search->found); }

inline void add_pair(found_pairs& found, const found_pair& pair) { append(*found.store, &pair, sizeof(pair)); }

// Calls verify(range) for each range that is this process's work. verify() must call add_pair() for the near pairs that
// it finds.
template <typename Verify>
void each_range(found_pairs& found, Verify&& verify)
{
    const row_set& rows = *found.rows;
    for (std::uint64_t range; (range = next_unit(rows)) < rows.search->range_count;) {
        const std::uint64_t first = found.store->size / sizeof(found_pair);
        verify(static_cast<std::uint32_t>(range));
        found.ranges[range] = {rows.member, first, found.store->size / sizeof(found_pair) - first};
    }
}

inline std::uint64_t count_found(const row_set& rows)
{
    std::uint64_t count = 0;
    for (const found_range& range :
         std::span(find_shared<found_range>(rows, rows.search->ranges), rows.search->range_count))
        count += range.count;
    return count;
}

// Passes a pair to the caller of the engine, unless its rows must stay apart.
inline void emit_pair(const row_set& rows, pair_sink emit, const found_pair& pair)
{
    pause(*rows.owner);
    if (rows.apart == nullptr || !are_apart(*rows.apart, pair.left, pair.right))
        emit(*rows.owner, pair);
}

// Calls take(pair) for all pairs that were found, range by range. Then frees the stores of these pairs.
template <typename Take>
void each_found(row_set& rows, Take&& take)
{
    const shared_search& shared = *rows.search;
    byte_store** const stores = open_left(rows, shared.found);
    for (const found_range& range : std::span(find_shared<found_range>(rows, shared.ranges), shared.range_count))
        each_piece<found_pair>(*stores[range.member],
                               range.first * sizeof(found_pair),
                               (range.first + range.count) * sizeof(found_pair),
                               [&take](std::span<const found_pair> pairs) {
                                   for (const found_pair& pair : pairs)
                                       take(pair);
                               });
    for (std::uint32_t member = 0; member < rows.shared->processes; member++)
        free_noted(*rows.owner, find_shared<store_note>(rows, shared.found)[member]);
}

} // namespace minhash::bulk
