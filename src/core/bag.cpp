#include "core/bag.h"
#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace minhash {

namespace {

// How many words an entry of the table has: two for the shingle, and one for the number of its occurrences. If that
// number is 0, the entry is free.
constexpr std::size_t entry_words = 3;

// Most texts have few distinct shingles for their size, so it pays to start with a table that fits into the cache,
// although the pass may have to be repeated. The largest table has 48 MiB.
constexpr std::size_t first_table = std::size_t{1} << 14;
constexpr std::size_t largest_table = std::size_t{1} << 22;
constexpr std::size_t growth = 16;

// How many of a table's entries may be used.
constexpr std::size_t limit_of(std::size_t entries) noexcept { return entries / 4 * 3; }

std::uint64_t load64(const std::uint32_t* words) noexcept
{
    std::uint64_t value;
    std::memcpy(&value, words, sizeof(value));
    return value;
}

void start_pass(bag_counter& self) noexcept
{
    std::fill_n(self.room.data(), self.entries * entry_words, 0);
    self.used = 0;
    self.overflowed = false;
}

// Keeps only the shingles that belong to the pass, and computes their cells.
void find_cells(const bag_counter& self, shingle_batch& batch, std::uint64_t* cells) noexcept
{
    const probe_secret secret = probing;
    std::size_t count = 0;
    for (std::size_t index = 0; index < batch.count; index++) {
        const std::uint64_t cell = first_cell(join(batch.lo[index], batch.hi[index]), secret);
        cells[count] = cell;
        batch.lo[count] = batch.lo[index];
        batch.hi[count] = batch.hi[index];
        count += cell >> 1 >> (63 - self.range_bits) == self.range;
    }
    batch.count = count;
}

} // namespace

std::size_t bag_room(std::size_t text_bytes) noexcept
{
    return std::bit_ceil(2 * std::clamp<std::size_t>(text_bytes, 64, largest_table / 2)) * entry_words;
}

void start(bag_counter& self, std::span<std::uint32_t> room) noexcept
{
    assert(room.size() >= 4 * entry_words); // room for at least a few entries
    self.room = room;
    self.entries = std::min(first_table, std::bit_floor(room.size() / entry_words));
    self.range_bits = 0;
    self.range = 0;
    start_pass(self);
}

bool start_next_pass(bag_counter& self) noexcept
{
    const std::size_t most = std::bit_floor(self.room.size() / entry_words);
    if (self.overflowed && self.entries < most) {
        self.entries = std::min(self.entries * growth, most);
    } else if (self.overflowed) {
        assert(self.range_bits < 63); // only shingles of one cell have all bits in common
        self.range_bits++;
        self.range *= 2;
    } else {
        self.range++;
        if (self.range >> self.range_bits != 0)
            return false;
    }
    start_pass(self);
    return true;
}

bool number_occurrences(bag_counter& self, shingle_batch& batch) noexcept
{
    if (self.overflowed)
        return false;
    std::uint64_t cells[max_batch];
    find_cells(self, batch, cells);
    std::uint32_t* const table = self.room.data();
    const std::size_t mask = self.entries - 1;
    const std::size_t limit = limit_of(self.entries);
    alignas(64) std::uint32_t occurrences[max_batch + padding];
    for (std::size_t index = 0; index < batch.count; index++) {
        constexpr std::size_t ahead = 32;
        if (index + ahead < batch.count)
            __builtin_prefetch(table + (cells[index + ahead] & mask) * entry_words, 1);
        const std::uint64_t shingle = join(batch.lo[index], batch.hi[index]);
        const std::size_t found = probe(mask, cells[index], [=](std::size_t at) {
            const std::uint32_t* const entry = table + at * entry_words;
            return load64(entry) == shingle || entry[2] == 0;
        });
        std::uint32_t* const entry = table + found * entry_words;
        self.used += entry[2] == 0;
        if (self.used > limit) {
            self.overflowed = true;
            return false;
        }
        std::memcpy(entry, &shingle, sizeof(shingle));
        occurrences[index] = entry[2]++;
    }
    std::fill_n(occurrences + batch.count, padding, 0);
    kernels->hash_occurrences(batch.lo, batch.hi, occurrences, batch.count);
    return true;
}

} // namespace minhash
