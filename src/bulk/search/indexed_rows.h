// What searches share that look rows up in an index of rare shingles (containment/, weighted/). Rows get an order, and
// equal rows a leader. The index and the pairs found with it identify a row by its position in the order. If the index
// does not fit into memory, it is made in parts, one after another.
#pragma once

#include "bulk/components/numbering.h"
#include "bulk/search/found_pairs.h"

#include "core/probe.h"

namespace minhash::bulk {

// A process takes this many rows at a time to look them up.
constexpr std::uint32_t looked_up_at_once = 64;

// A number to mix into the shingles of rows of a scope. So two rows of different scopes have a mixed shingle in common
// only by chance.
constexpr std::uint64_t salt_of_scope(std::uint32_t scope) { return (scope + std::uint64_t{1}) * 0x9E3779B97F4A7C15; }

inline std::uint64_t salt_of(const row_set& rows, std::uint32_t row)
{
    return rows.task.scoped ? salt_of_scope(rows.scopes.values[row]) : 0;
}

// Where a row's bytes are in the stores of the members: the member, and from this bit down the offset.
constexpr int member_shift = 48;

inline std::uint64_t offset_in_stores(std::uint32_t member, std::uint64_t offset)
{
    return std::uint64_t{member} << member_shift | offset;
}

template <typename Value>
std::span<const Value>
fetch_values(byte_store* const* stores, std::uint64_t at, std::size_t count, growing<Value>& buffer, host& owner)
{
    if (count == 0)
        return {};
    byte_store& store = *stores[at >> member_shift];
    const std::uint64_t offset = at & ((std::uint64_t{1} << member_shift) - 1);
    if (!in_place(store, offset, count * sizeof(Value)))
        grow(owner, buffer, 0, count);
    return {static_cast<const Value*>(fetch(store, offset, count * sizeof(Value), buffer.values)), count};
}

// Makes the first of some equal rows the leader of all of them. is_same(a, b) compares two of the first `count` rows
// which may have equal digests. Rows for which is_alone(row) returns true lead themselves, and so do those after
// `count`.
template <typename Alone, typename Same>
void find_leaders(row_set& rows, std::uint32_t count, const std::uint64_t* digests, Alone&& is_alone, Same&& is_same)
{
    host& owner = *rows.owner;
    std::uint32_t* const leaders = allocate<std::uint32_t>(owner, count); // the first row with each number
    numbering numbers = start_numbering(owner);
    for (std::uint32_t row = 0; row < rows.count; row++) {
        pause(owner);
        rows.leader[row] = row;
        if (row >= count || is_alone(row))
            continue;
        const auto hash = static_cast<std::uint32_t>(first_cell(digests[row]) >> 32);
        const std::uint32_t before = numbers.count;
        const std::uint32_t number =
            number_of(numbers, hash, [&](std::uint32_t known) { return is_same(leaders[known], row); });
        if (number == before)
            leaders[number] = row;
        rows.leader[row] = leaders[number];
    }
    release(owner, numbers.entries);
    release(owner, leaders);
}

// Sets rows.next: for each row, the next one with the same leader.
inline void link_same(row_set& rows)
{
    rows.next = allocate<std::uint32_t>(*rows.owner, rows.count);
    std::uint32_t* const last = allocate<std::uint32_t>(*rows.owner, rows.count); // of each leader's rows so far
    for (std::uint32_t row = 0; row < rows.count; row++) {
        pause(*rows.owner);
        const std::uint32_t leader = rows.leader[row];
        if (leader != row)
            rows.next[last[leader]] = row;
        last[leader] = row;
        rows.next[row] = no_row;
    }
    release(*rows.owner, last);
}

// The pairs that were found with each part of the index.
struct pairs_of_parts {
    growing<byte_store*> stores;
    std::size_t count;
};

// Looks up `count` rows in a part of the index, by a step, and keeps the pairs that are found. Frees the part, of which
// `counted` bytes count as used.
inline void look_up_in_part(row_set& rows,
                            pairs_of_parts& found,
                            std::uint32_t count,
                            step& look_up,
                            shared_number index,
                            std::size_t counted = 0)
{
    shared_search& all = *rows.search;
    all.range_count = (count + looked_up_at_once - 1) / looked_up_at_once;
    expect_pairs(rows);
    rows.budget->used += counted;
    do_step(rows, look_up);
    rows.budget->used -= counted;
    rows.owner->release_shared(*rows.owner, index);
    byte_store* const store = open_store(*rows.budget, chunk_for(*rows.budget, found.count + 1, found_chunk));
    add(*rows.owner, found.stores, found.count, store);
    each_found(rows, [store](const found_pair& pair) { append(*store, &pair, sizeof(pair)); });
    for (const shared_number number : {all.found, all.ranges})
        rows.owner->release_shared(*rows.owner, number);
}

} // namespace minhash::bulk
