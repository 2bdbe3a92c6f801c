#include "core/bag.h"
#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace minhash {

namespace {

// How many words an entry of a table has: two for the shingle, and one for the number of its occurrences. If that
// number is 0, the entry is free.
constexpr std::size_t entry_words = 3;

// Most texts have few distinct shingles for their size, so it pays to start with a table that fits into the cache,
// although the pass may have to be repeated. The largest single table has 12 MiB.
constexpr std::size_t first_table = std::size_t{1} << 14;
constexpr std::size_t single_table = std::size_t{1} << 20;
constexpr std::size_t growth = 8;

// Each part has a table of 768 KiB, and room for enough waiting shingles to make it worthwhile to bring the table into
// the cache. All parts together take 64 MiB.
constexpr std::size_t part_table = std::size_t{1} << 16;
constexpr std::size_t part_waiting = std::size_t{1} << 15;
constexpr std::size_t waiting_words = 2 * bag_parts * part_waiting;
constexpr std::size_t room_of_parts = bag_parts * part_table * entry_words + waiting_words;

// How many of a table's entries may be used.
constexpr std::size_t limit_of(std::size_t entries) noexcept { return entries / 4 * 3; }

std::uint64_t load64(const std::uint32_t* words) noexcept
{
    std::uint64_t value;
    std::memcpy(&value, words, sizeof(value));
    return value;
}

void store64(std::uint32_t* words, std::uint64_t value) noexcept { std::memcpy(words, &value, sizeof(value)); }

std::uint64_t high_product(std::uint64_t a, std::uint64_t b) noexcept
{
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}

void start_pass(bag_counter& self) noexcept
{
    std::fill_n(self.waits, self.parts, 0);
    std::fill_n(self.used, self.parts, 0);
    self.shingles = 0;
    self.overflowed = false;
    self.part = 0;
    self.counted = 0;
}

// Brings an array into the cache by reading a word of each cache line in order, which is several times as fast as
// random lookups would be. (Prefetch instructions would not do: if there are many, the processor drops some.)
[[gnu::always_inline]] inline void fetch(const std::uint32_t* words, std::size_t count) noexcept
{
    for (std::size_t at = 0; at < count; at += 64 / sizeof(*words))
        (void)*static_cast<const volatile std::uint32_t*>(words + at);
}

} // namespace

std::size_t bag_room(std::size_t text_bytes) noexcept
{
    if (text_bytes > limit_of(single_table))
        return room_of_parts;
    return std::bit_ceil(2 * std::clamp<std::size_t>(text_bytes, 64, single_table / 2)) * entry_words;
}

void start(bag_counter& self, std::span<std::uint32_t> room) noexcept
{
    assert(room.size() >= 4 * entry_words); // room for at least a few entries
    self.room = room;
    self.tables = room.data();
    self.entries = std::min(first_table, std::bit_floor(room.size() / entry_words));
    self.waiting = self.few_waiting;
    self.most_waiting = max_batch;
    self.parts = 1;
    self.first = 0;
    self.factor = 1;
    start_pass(self);
}

bool start_next_pass(bag_counter& self) noexcept
{
    const std::size_t limit = limit_of(self.entries) * self.parts;
    const std::size_t largest = std::min(single_table, std::bit_floor(self.room.size() / entry_words));
    const bool can_grow = self.parts == 1 && self.entries < largest;
    const bool parts_fit = self.parts == 1 && self.room.size() >= room_of_parts;
    // In natural language, most shingles would be repetitions by now. If most are still new, the text is likely to
    // overflow even the largest single table.
    const bool mostly_new = self.entries > first_table && self.shingles < 2 * limit;
    if (!self.overflowed) {
        // The smallest distance from `first` at which a cell belongs to no part.
        const unsigned __int128 beyond = static_cast<unsigned __int128>(self.parts) << 64;
        const auto width = (beyond + self.factor - 1) / self.factor;
        if (width > ~self.first)
            return false;
        self.first += static_cast<std::uint64_t>(width);
        // Make the next range so wide that its shingles should fill the tables to nine tenths of their limits.
        std::size_t used = 0;
        for (std::size_t part = 0; part < self.parts; part++)
            used += self.used[part];
        self.factor = std::max(self.parts, self.factor * used / (limit - limit / 10) + 1);
    } else if (can_grow && !(parts_fit && mostly_new)) {
        self.entries = std::min(self.entries * growth, largest);
    } else if (parts_fit) {
        self.waiting = self.room.data();
        self.most_waiting = part_waiting;
        self.tables = self.waiting + waiting_words;
        self.entries = part_table;
        self.parts = bag_parts;
        self.factor = bag_parts;
    } else {
        self.factor *= 2;
    }
    start_pass(self);
    return true;
}

void set_aside(bag_counter& self, const shingle_batch& batch) noexcept
{
    if (self.overflowed)
        return;
    self.shingles += batch.count;
    if (self.parts == 1 && self.factor == 1) {
        assert(self.waits[0] == 0 && batch.count <= self.most_waiting);
        for (std::size_t index = 0; index < batch.count; index++)
            store64(self.waiting + 2 * index, join(batch.lo[index], batch.hi[index]));
        self.waits[0] = static_cast<std::uint32_t>(batch.count);
        return;
    }

    const std::size_t parts = self.parts;
    const std::uint64_t first = self.first;
    const std::uint64_t factor = self.factor;
    const probe_secret secret = probing;
    std::uint32_t* ends[bag_parts];
    for (std::size_t part = 0; part < parts; part++)
        ends[part] = self.waiting + 2 * (part * self.most_waiting + self.waits[part]);
    for (std::size_t index = 0; index < batch.count; index++) {
        const std::uint64_t shingle = join(batch.lo[index], batch.hi[index]);
        const std::uint64_t part = high_product(first_cell(shingle, secret) - first, factor);
        if (part >= parts)
            continue;
        store64(ends[part], shingle);
        __builtin_prefetch(ends[part] + 64, 1);
        ends[part] += 2;
    }
    for (std::size_t part = 0; part < parts; part++) {
        const std::uint32_t* const begin = self.waiting + 2 * part * self.most_waiting;
        self.waits[part] = static_cast<std::uint32_t>((ends[part] - begin) / 2);
        assert(self.waits[part] <= self.most_waiting);
    }
}

bool number_occurrences(bag_counter& self, bool complete, shingle_batch& batch) noexcept
{
    if (self.overflowed)
        return false;
    const std::size_t enough = complete ? 1 : self.most_waiting - max_batch + 1;
    while (self.counted == 0 && self.part < self.parts && self.waits[self.part] < enough)
        self.part++;
    if (self.part == self.parts) {
        self.part = 0;
        return false;
    }

    assert(std::has_single_bit(self.entries) && self.used[self.part] < self.entries);
    const std::size_t waits = self.waits[self.part];
    const std::size_t count = std::min(waits - self.counted, max_batch);
    const std::uint32_t* const shingles = self.waiting + 2 * (self.part * self.most_waiting + self.counted);
    std::uint32_t* const table = self.tables + self.part * self.entries * entry_words;
    const std::size_t mask = self.entries - 1;
    const std::size_t limit = limit_of(self.entries);
    const probe_secret secret = probing;
    const auto cell_of = [&](std::size_t index) { return first_cell(load64(shingles + 2 * index), secret) & mask; };
    std::size_t used = self.used[self.part];
    if (used == 0) // first use in this pass; a single call that cleared the tables of all parts would take too long
        std::fill_n(table, self.entries * entry_words, 0);
    else if (self.parts > 1 && self.counted == 0)
        fetch(table, self.entries * entry_words);

    alignas(64) std::uint32_t occurrences[max_batch + padding];
    for (std::size_t index = 0; index < count; index++) {
        constexpr std::size_t ahead = 32;
        if (self.parts == 1 && index + ahead < count)
            __builtin_prefetch(table + cell_of(index + ahead) * entry_words, 1);
        const std::uint64_t shingle = load64(shingles + 2 * index);
        const std::size_t found = probe(mask, cell_of(index), [=](std::size_t at) {
            const std::uint32_t* const entry = table + at * entry_words;
            return load64(entry) == shingle || entry[2] == 0;
        });
        std::uint32_t* const entry = table + found * entry_words;
        used += entry[2] == 0;
        if (used > limit) {
            self.overflowed = true;
            return false;
        }
        store64(entry, shingle);
        occurrences[index] = entry[2]++;
        split(shingle, batch.lo[index], batch.hi[index]);
    }
    self.used[self.part] = static_cast<std::uint32_t>(used);
    std::fill_n(occurrences + count, padding, 0);
    kernels->hash_occurrences(batch.lo, batch.hi, occurrences, count);
    batch.count = count;

    self.counted += count;
    if (self.counted == waits) {
        self.waits[self.part] = 0;
        self.counted = 0;
        self.part++;
    }
    return true;
}

} // namespace minhash
