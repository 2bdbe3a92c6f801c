// Numbers values in the order in which they first occur, with a hash table that uses open addressing (core/probe.h).
// The engine does not have the values, only 64-bit entries. An entry consists of 32 bits of a value's hash and of the
// value's number. The caller has the values, and decides whether two values are the same.
#pragma once

#include "bulk/buckets/buckets.h"

#include "core/probe.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace minhash::bulk {

struct numbering {
    host* owner;
    std::uint64_t* entries;
    std::size_t mask;
    std::uint32_t count; // how many values have a number
};

constexpr std::uint64_t no_entry = std::numeric_limits<std::uint64_t>::max();

inline std::uint64_t* make_free_entries(host& owner, std::size_t count)
{
    std::uint64_t* const entries = allocate<std::uint64_t>(owner, count);
    std::fill_n(entries, count, no_entry);
    return entries;
}

inline numbering start_numbering(host& owner)
{
    constexpr std::size_t entries = 1024; // a power of two
    return {&owner, make_free_entries(owner, entries), entries - 1, 0};
}

// Doubles the table. After its first doubling, the table is always between three eighths and three quarters full. So
// it has at most 22 bytes per value. While the old and the new table exist, they have 32 bytes per value together.
inline void widen(numbering& numbers)
{
    const std::size_t mask = numbers.mask * 2 + 1;
    std::uint64_t* const wider = make_free_entries(*numbers.owner, mask + 1);
    for (std::size_t i = 0; i <= numbers.mask; i++) {
        pause(*numbers.owner);
        const std::uint64_t entry = numbers.entries[i];
        if (entry != no_entry)
            wider[probe(mask, entry >> 32, [&](std::size_t at) { return wider[at] == no_entry; })] = entry;
    }
    release(*numbers.owner, numbers.entries);
    numbers.entries = wider;
    numbers.mask = mask;
}

// Prefetches the entry where a search for this hash begins.
[[gnu::always_inline]] inline void prefetch_entry(const numbering& numbers, std::uint32_t hash)
{
    __builtin_prefetch(&numbers.entries[hash & numbers.mask]);
}

// The number of the first value with this hash, or no_row if no value has it. The first value is most likely the one
// that is looked for.
inline std::uint32_t likely_number(const numbering& numbers, std::uint32_t hash)
{
    return static_cast<std::uint32_t>(numbers.entries[probe(numbers.mask, hash, [&](std::size_t cell) {
        return numbers.entries[cell] == no_entry || numbers.entries[cell] >> 32 == hash;
    })]);
}

// The entry of a value, or the free entry where it belongs.
template <typename IsSame>
std::size_t entry_of(const numbering& numbers, std::uint32_t hash, IsSame&& is_same)
{
    return probe(numbers.mask, hash, [&](std::size_t cell) {
        const std::uint64_t entry = numbers.entries[cell];
        return entry == no_entry || (entry >> 32 == hash && is_same(static_cast<std::uint32_t>(entry)));
    });
}

// The number of a value, or no_row if it has none.
template <typename IsSame>
std::uint32_t known_number(const numbering& numbers, std::uint32_t hash, IsSame&& is_same)
{
    return static_cast<std::uint32_t>(numbers.entries[entry_of(numbers, hash, is_same)]);
}

// The number of a value. A new value gets the next number: what numbers.count was before the call. is_same(number)
// returns whether the value with that number is the same. Users must not be able to predict the hash. No more than
// `most_rows` values can have numbers.
template <typename IsSame>
std::uint32_t number_of(numbering& numbers, std::uint32_t hash, IsSame&& is_same)
{
    const std::size_t at = entry_of(numbers, hash, is_same);
    if (numbers.entries[at] != no_entry)
        return static_cast<std::uint32_t>(numbers.entries[at]);
    assert(numbers.count <= most_rows);
    const std::uint32_t fresh = numbers.count++;
    numbers.entries[at] = make_entry(hash, fresh);
    if (numbers.count > numbers.mask / 4 * 3)
        widen(numbers);
    return fresh;
}

} // namespace minhash::bulk
