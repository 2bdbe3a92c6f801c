// Counts how many rows have each shingle. In a pass, all processes count the shingles of a range of keys in one hash
// table. If the table becomes too full, the pass starts again with half the range. A shingle gets a number when it is
// first met, so the common ones have low numbers, which are close together in memory. Each row's numbers are kept, so
// that no text has to be read twice in a pass, and no key looked up again.
//
// At the end of a pass, the shingles that several rows have are sorted by their keys, and their ids are assigned in
// this order. So ids depend neither on the secret of hash tables nor on the order of the rows, nor on how large the
// ranges are.
#include "bulk/weighted/part.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace minhash::bulk {

namespace {

constexpr std::uint32_t rows_at_once = 64;
constexpr std::size_t fetched_ahead = 8;

// A process takes this many numbers at a time for new shingles.
constexpr std::uint32_t numbers_at_once = 64;

// The smallest table has room for the numbers that 64 processes take at once. Tables of shared memory grow with the
// budget.
constexpr std::size_t least_entries = std::size_t{1} << 14;
constexpr std::size_t most_entries = std::size_t{1} << 30;

std::size_t limit_of(std::size_t entries) { return entries / 8 * 5; }

// The entry of a key. If the key is new, a free entry becomes its entry.
frequency& entry_of(frequency* table, std::size_t mask, std::uint64_t cell, std::uint64_t key, bool alone)
{
    for (std::size_t at = cell & mask;; at = (at + 1) & mask) {
        const std::atomic_ref stored(table[at].key);
        std::uint64_t known = stored.load(std::memory_order_relaxed);
        if (known == 0) {
            if (alone) {
                table[at].key = key;
                return table[at];
            }
            if (stored.compare_exchange_strong(known, key, std::memory_order_relaxed))
                return table[at];
        }
        if (known == key)
            return table[at];
    }
}

// The state of a process while it counts.
struct shingle_counter : weighted_part {
    frequency* table;
    byte_store* counted;
    std::uint32_t next_number; // numbers from this one on, up to end_number, are this process's for new shingles
    std::uint32_t end_number;
    growing<std::uint32_t> numbers; // how many shingles the row has, and then their numbers
};

// Takes numbers for new shingles. Returns false if the table is too full.
bool take_numbers(shingle_counter& self)
{
    shared_weights& shared = *self.shared;
    pause(*self.rows->owner);
    const auto before = std::atomic_ref(shared.used).fetch_add(numbers_at_once, std::memory_order_relaxed);
    if (before + numbers_at_once > limit_of(shared.mask + 1)) {
        std::atomic_ref(shared.full).store(1, std::memory_order_relaxed);
        return false;
    }
    self.next_number = static_cast<std::uint32_t>(before);
    self.end_number = self.next_number + numbers_at_once;
    return true;
}

// The number of an entry that may have none yet. Any process that meets the entry may give it one.
std::uint32_t number_entry(shingle_counter& self, frequency& entry, bool alone)
{
    if (alone)
        return entry.number = self.next_number++;
    std::uint32_t known = 0;
    if (std::atomic_ref(entry.number).compare_exchange_strong(known, self.next_number, std::memory_order_relaxed))
        return self.next_number++;
    return known;
}

// Counts the shingles of a row, and appends their numbers to self.counted. Returns false if the table is too full.
bool count_row(shingle_counter& self, std::uint32_t row)
{
    const bool alone = self.rows->shared->processes == 1;
    const std::size_t count = read_keys(self, row);
    const std::size_t mask = self.shared->mask;
    const probe_secret secret = self.shared->secret;
    const std::uint64_t* const keys = self.keys.values;
    frequency* const table = self.table;
    grow(*self.rows->owner, self.numbers, 0, count + 1);
    std::uint32_t* const numbers = self.numbers.values;
    numbers[0] = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; i++) {
        if (i + fetched_ahead < count)
            __builtin_prefetch(&table[first_cell(keys[i + fetched_ahead], secret) & mask]);
        frequency& found = entry_of(table, mask, first_cell(keys[i], secret), keys[i], alone);
        if (alone)
            found.rows++;
        else
            std::atomic_ref(found.rows).fetch_add(1, std::memory_order_relaxed);
        std::uint32_t number = std::atomic_ref(found.number).load(std::memory_order_relaxed);
        if (number == 0) [[unlikely]] {
            if (self.next_number == self.end_number && !take_numbers(self))
                return false;
            number = number_entry(self, found, alone);
        }
        numbers[i + 1] = number;
    }
    self.known[row].counted_at = offset_in_stores(self.rows->member, self.counted->size);
    append(*self.counted, numbers, (count + 1) * sizeof(std::uint32_t));
    return true;
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

// Assigns ids to the shingles that several rows have, and lists the shingles by number.
void list_by_number(host& owner, shared_weights& shared, frequency* table)
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
    listed_shingle* const by_number = by_number_of(shared, table);
    assert(known * sizeof(frequency) + shared.used * sizeof(listed_shingle) <= table_bytes(shared));
    clear(owner, by_number, shared.used);
    for (std::size_t at = 0; at < known; at++) {
        if (at % 65536 == 0)
            pause(owner);
        const auto id = static_cast<std::uint32_t>(shared.first_id + at);
        by_number[table[at].number] = std::uint64_t{table[at].rows} << 32 | id;
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
    shingle_counter self = {};
    static_cast<weighted_part&>(self) = start_part(rows);
    shared_weights& shared = *self.shared;
    self.table = find_shared<frequency>(rows, shared.table);
    self.counted = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, found_chunk), reading::in_order);
    each_unit(rows, "counting shingles", rows.count, rows_at_once, [&](auto row, auto end) {
        while (row < end && std::atomic_ref(shared.full).load(std::memory_order_relaxed) == 0 && count_row(self, row))
            row++;
    });
    leave_store(rows, self.counted, shared.counted);
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
        shared.used = 1; // number 0 stands for none
        shared.full = 0;
        expect_stores(rows, shared.counted);
        do_step(rows, count_frequencies_of_units);
        if (shared.full == 0)
            break;
        if (shared.range.bits == 0)
            owner.fail_too_many_shingles(owner, limit_of(shared.mask + 1));
        shared.range.bits--;
        free_left(rows, shared.counted);
    }
    list_by_number(owner, shared, table);
}

} // namespace minhash::bulk
