// Counts how many rows have each shingle. In a pass, all processes count the shingles of a range of keys in one hash
// table. If the table becomes too full, the pass starts again with half the range. At the end of a pass, the shingles
// that several rows have are sorted by their keys. So the ids of shingles depend neither on the secret of hash tables
// nor on the order of the rows, nor on how large the ranges are. Keys in a range are spread evenly (they are hashes),
// so a directory of their first bits finds a key at once. Somebody could craft texts whose keys are not spread evenly;
// then binary search finds them.
#include "bulk/weighted/part.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

constexpr std::uint32_t rows_at_once = 64;
constexpr std::size_t fetched_ahead = 8;

// A process adds up to this many entries before it looks whether the table is full.
constexpr std::size_t added_at_once = 64;

// The smallest table has room for what 64 processes add at once. Tables of shared memory grow with the budget.
constexpr std::size_t least_entries = std::size_t{1} << 14;
constexpr std::size_t most_entries = std::size_t{1} << 30;

std::size_t limit_of(std::size_t entries) { return entries / 8 * 5; }

// The entry of a key. If the key is new, a free entry becomes its entry, and `fresh` is incremented.
frequency&
entry_of(frequency* table, std::size_t mask, std::uint64_t cell, std::uint64_t key, bool alone, std::size_t& fresh)
{
    for (std::size_t at = cell & mask;; at = (at + 1) & mask) {
        const std::atomic_ref stored(table[at].key);
        std::uint64_t known = stored.load(std::memory_order_relaxed);
        if (known == 0) {
            if (alone) {
                table[at].key = key;
                fresh++;
                return table[at];
            }
            if (stored.compare_exchange_strong(known, key, std::memory_order_relaxed)) {
                fresh++;
                return table[at];
            }
        }
        if (known == key)
            return table[at];
    }
}

// Reports new entries to the other processes. Returns false if the table is too full.
bool add_used(shared_weights& shared, std::size_t fresh)
{
    const std::uint64_t before = std::atomic_ref(shared.used).fetch_add(fresh, std::memory_order_relaxed);
    if (before + fresh <= limit_of(shared.mask + 1))
        return true;
    std::atomic_ref(shared.full).store(1, std::memory_order_relaxed);
    return false;
}

void count_keys(weighted_part& self, frequency* table, std::size_t count)
{
    shared_weights& shared = *self.shared;
    const bool alone = self.rows->shared->processes == 1;
    const std::size_t mask = shared.mask;
    const probe_secret secret = shared.secret;
    const std::uint64_t* const keys = self.keys.values;
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (i + fetched_ahead < count)
            __builtin_prefetch(&table[first_cell(keys[i + fetched_ahead], secret) & mask]);
        frequency& found = entry_of(table, mask, first_cell(keys[i], secret), keys[i], alone, fresh);
        if (alone)
            found.rows++;
        else
            std::atomic_ref(found.rows).fetch_add(1, std::memory_order_relaxed);
        if (fresh == added_at_once) {
            pause(*self.rows->owner);
            if (!add_used(shared, fresh))
                return;
            fresh = 0;
        }
    }
    add_used(shared, fresh);
}

// Sorts by key, in parts, so that sorting can be cancelled.
void sort_frequencies(host& owner, std::span<frequency> all, int bit)
{
    constexpr std::size_t at_once = 8192;
    pause(owner);
    if (all.size() <= at_once || bit < 32) {
        std::sort(all.begin(), all.end(), [](const frequency& a, const frequency& b) { return a.key < b.key; });
        return;
    }
    const auto middle =
        std::partition(all.begin(), all.end(), [bit](const frequency& each) { return (each.key >> bit & 1) == 0; });
    sort_frequencies(owner, {all.begin(), middle}, bit - 1);
    sort_frequencies(owner, {middle, all.end()}, bit - 1);
}

// Keeps only the shingles that several rows have, sorts them, and makes the directory.
void make_directory(host& owner, shared_weights& shared, frequency* table)
{
    std::size_t known = 0;
    for (std::size_t at = 0; at <= shared.mask; at++) {
        if (at % 65536 == 0)
            pause(owner);
        if (table[at].key != 0 && table[at].rows > 1)
            table[known++] = table[at];
    }
    sort_frequencies(owner, {table, known}, 31 + shared.range.bits);
    shared.known = known;
    shared.directory_bits = std::min(shared.range.bits, static_cast<int>(std::bit_width(shared.mask)));
    auto* const directory = const_cast<std::uint32_t*>(directory_of(shared, table));
    const std::size_t cells = std::size_t{1} << shared.directory_bits;
    assert(known * sizeof(frequency) + (cells + 1) * sizeof(std::uint32_t) <= (shared.mask + 1) * sizeof(frequency));
    std::size_t at = 0;
    for (std::size_t cell = 0; cell <= cells; cell++) {
        if (cell % 65536 == 0)
            pause(owner);
        while (at < known && directory_entry(shared, table[at].key) < cell)
            at++;
        directory[cell] = static_cast<std::uint32_t>(at);
    }
}

// Allocates the table, of a quarter of the budget if there is so much memory.
void allocate_table(row_set& rows, shared_weights& shared)
{
    host& owner = *rows.owner;
    std::size_t entries = std::bit_floor(rows.budget->limit / 4 / sizeof(frequency));
    for (entries = std::clamp(entries, least_entries, most_entries); shared.table == 0; entries /= 2) {
        shared.mask = entries - 1;
        shared.table = owner.allocate_shared(owner, table_bytes(shared), entries <= least_entries);
    }
    rows.budget->used += table_bytes(shared);
}

} // namespace

void count_frequencies_of_units(row_set& rows)
{
    weighted_part self = start_part(rows);
    shared_weights& shared = *self.shared;
    auto* const table = find_shared<frequency>(rows, shared.table);
    each_unit(rows, "counting shingles", rows.count, rows_at_once, [&](auto row, auto end) {
        for (; row < end && std::atomic_ref(shared.full).load(std::memory_order_relaxed) == 0; row++)
            count_keys(self, table, read_keys(self, row));
    });
}

void count_range(row_set& rows, shared_weights& shared)
{
    host& owner = *rows.owner;
    if (shared.table == 0)
        allocate_table(rows, shared);
    auto* const table = find_shared<frequency>(rows, shared.table);
    for (;;) {
        for (std::size_t at = 0; at <= shared.mask; at++) {
            if (at % 65536 == 0)
                pause(owner);
            table[at] = {};
        }
        shared.used = 0;
        shared.full = 0;
        do_step(rows, count_frequencies_of_units);
        if (shared.full == 0)
            break;
        if (shared.range.bits == 0)
            owner.fail_too_many_shingles(owner, limit_of(shared.mask + 1));
        shared.range.bits--;
    }
    make_directory(owner, shared, table);
}

const frequency* find_frequency(const shared_weights& shared, const frequency* table, std::uint64_t key)
{
    constexpr std::uint32_t few = 8;
    const std::uint32_t* const directory = directory_of(shared, table);
    const std::size_t cell = directory_entry(shared, key);
    const frequency* at = table + directory[cell];
    const frequency* const end = table + directory[cell + 1];
    if (end - at > few)
        at = std::lower_bound(at, end, key, [](const frequency& each, std::uint64_t to) { return each.key < to; });
    while (at < end && at->key < key)
        at++;
    return at < end && at->key == key ? at : nullptr;
}

} // namespace minhash::bulk
