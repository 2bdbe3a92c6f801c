#include "core/exact.h"
#include "core/hash.h"
#include "core/probe.h"
#include "core/unicode.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace minhash {

namespace {

// The end of the unit that starts at `at`: a character, or a word without the space after it.
std::uint32_t unit_end(const shingle_walk& walk, std::uint32_t at) noexcept
{
    const std::uint8_t* const here = walk.buffer + at;
    if (walk.how.of == unit::character)
        return at + decode_utf8(here, walk.end - at).bytes;
    const void* const space = std::memchr(here, ' ', walk.end - at);
    return space == nullptr ? walk.end
                            : at + static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(space) - here);
}

// The start of the next unit, if a unit ends at `at`.
std::uint32_t unit_start(const shingle_walk& walk, std::uint32_t at) noexcept
{
    return walk.how.of == unit::word && at < walk.end ? at + 1 : at;
}

// Hashes are made with a secret, so that nobody can write a text in which many shingles have the same hash.
std::int64_t secret_seed() noexcept { return static_cast<std::int64_t>(probing.flip); }

// Different shingles of up to this many bytes have different hashes.
constexpr std::uint32_t told_by_hash = 8;

bool is_entry_of(const shingle_counts& counts,
                 const counted_shingle& entry,
                 std::uint64_t hash,
                 const shingle_range& shingle) noexcept
{
    return entry.hash == hash && entry.first.bytes == shingle.bytes &&
           (shingle.bytes <= told_by_hash ||
            std::memcmp(counts.buffer + entry.first.offset, counts.buffer + shingle.offset, shingle.bytes) == 0);
}

// The cell in the table that has a shingle's number. If the shingle is new, the free cell where its number would go.
std::uint32_t&
find_cell(const shingle_counts& counts, std::uint64_t hash, std::uint64_t cell, const shingle_range& shingle) noexcept
{
    const auto ends = [&](std::size_t at) {
        return counts.table[at] == 0 || is_entry_of(counts, counts.entries[counts.table[at] - 1], hash, shingle);
    };
    return counts.table[probe(counts.table.size() - 1, cell, ends)];
}

// The number in a cell, or the number of the next entry if the cell is free; without a branch.
std::uint32_t number_at(std::uint32_t cell, std::uint32_t used) noexcept
{
    return cell | ((used + 1) & -static_cast<std::uint32_t>(cell == 0));
}

std::uint64_t hash_at(const shingle_group& group, std::size_t i) noexcept { return join(group.lo[i], group.hi[i]); }

// If units are characters, and the next characters are all ASCII, makes a group of the next shingles. Otherwise, and at
// the end of the text, the group is empty.
void group_ascii(shingle_walk& walk, shingle_group& out) noexcept
{
    const std::size_t size = walk.how.size;
    const std::size_t bytes = std::min<std::size_t>(walk.end - walk.from, most_grouped + size);
    const std::uint32_t first = walk.from + walk.started;
    out.count = 0;
    if (walk.how.of != unit::character || first + size > walk.from + bytes ||
        !kernels->is_ascii(walk.buffer + walk.from, bytes))
        return;
    out.count = std::min<std::size_t>(walk.from + bytes - size + 1 - first, most_grouped);
    for (std::uint32_t i = 0; i < out.count; i++) {
        out.begin[i] = first + i;
        out.end[i] = first + i + static_cast<std::uint32_t>(size);
    }
    kernels->hash_windows(walk.buffer + first, out.count, size, secret_seed(), out.lo, out.hi);
    walk.started = true;
    walk.from = out.begin[out.count - 1];
    walk.to = out.end[out.count - 1];
}

// The next shingle; false at the end.
bool next_one(shingle_walk& walk, shingle_range& out) noexcept
{
    if (walk.started) {
        if (walk.to == walk.end)
            return false;
        walk.from = unit_start(walk, unit_end(walk, walk.from));
        walk.to = unit_end(walk, unit_start(walk, walk.to));
    } else {
        if (walk.from == walk.end)
            return false;
        walk.started = true;
        walk.to = unit_end(walk, walk.from);
        for (int units = 1; units < walk.how.size && walk.to < walk.end; units++)
            walk.to = unit_end(walk, unit_start(walk, walk.to));
    }
    out = {walk.from, walk.to - walk.from};
    return true;
}

} // namespace

shingle_walk
start_walk(const std::uint8_t* buffer, std::uint32_t from, std::uint32_t end, const shingling& how) noexcept
{
    return {buffer, how, from, from, end, false};
}

bool next(shingle_walk& walk, shingle_group& out) noexcept
{
    constexpr std::size_t enough_bytes = 1 << 16;
    group_ascii(walk, out);
    if (out.count > 0)
        return true;
    shingle_range shingle;
    for (std::size_t bytes = 0; out.count < most_grouped && bytes < enough_bytes && next_one(walk, shingle);) {
        out.begin[out.count] = shingle.offset;
        out.end[out.count] = shingle.offset + shingle.bytes;
        out.count++;
        bytes += shingle.bytes;
    }
    kernels->hash_ranges(walk.buffer, out.begin, out.end, out.count, secret_seed(), out.lo, out.hi);
    return out.count > 0;
}

std::size_t table_size(std::size_t entries) noexcept { return std::bit_ceil(2 * entries); }

bool has_room(const shingle_counts& counts, std::size_t shingles) noexcept
{
    assert(counts.table.size() >= table_size(counts.entries.size()));
    return counts.used + shingles <= counts.entries.size();
}

void enter(shingle_counts& counts, std::size_t first, std::size_t end) noexcept
{
    for (std::size_t i = first; i < end; i++) {
        const counted_shingle& entry = counts.entries[i];
        find_cell(counts, entry.hash, first_cell(entry.hash), entry.first) = static_cast<std::uint32_t>(i + 1);
    }
}

void count(shingle_counts& counts, const shingle_group& group, int text) noexcept
{
    assert(has_room(counts, group.count) && (text == 0 || text == 1));
    std::uint64_t cells[most_grouped];
    const std::size_t mask = counts.table.size() - 1;
    for (std::size_t i = 0; i < group.count; i++) {
        cells[i] = first_cell(hash_at(group, i));
        __builtin_prefetch(&counts.table[cells[i] & mask], 1);
    }
    auto used = static_cast<std::uint32_t>(counts.used);
    std::uint64_t counted = 0;
    std::uint64_t shared = 0;
    for (std::size_t i = 0; i < group.count; i++) {
        const std::uint64_t hash = hash_at(group, i);
        const shingle_range shingle = group.at(i);
        // Nearly always, the shingle's first cell is free or has its number. Which of the two is hard to foresee, so
        // no branch depends on it: the entry of a new shingle is written in any case.
        counts.entries[used] = {hash, shingle, {0, 0}};
        std::uint32_t* cell = &counts.table[cells[i] & mask];
        std::uint32_t number = number_at(*cell, used);
        if (!is_entry_of(counts, counts.entries[number - 1], hash, shingle)) [[unlikely]] {
            cell = &find_cell(counts, hash, cells[i], shingle);
            number = number_at(*cell, used);
        }
        *cell = number;
        used += number > used;
        std::uint32_t(&occurrences)[2] = counts.entries[number - 1].occurrences;
        const std::uint32_t own = occurrences[text]++;
        const auto counts_more = static_cast<std::uint64_t>(counts.bag | (own == 0));
        counted += counts_more;
        shared += counts_more & static_cast<std::uint64_t>(own < occurrences[1 - text]);
    }
    counts.used = used;
    (text == 0 ? counts.sizes.first : counts.sizes.second) += counted;
    counts.sizes.shared += shared;
}

void forget(shingle_counts& counts, std::size_t first, std::size_t end, int text) noexcept
{
    for (std::size_t i = first; i < end; i++)
        counts.entries[i].occurrences[text] = 0;
}

void remove(shingle_counts& counts, std::size_t first, std::size_t end) noexcept
{
    constexpr std::size_t ahead = 16;
    const std::size_t mask = counts.table.size() - 1;
    for (std::size_t i = first; i < end; i++) {
        if (i + ahead < end)
            __builtin_prefetch(&counts.table[first_cell(counts.entries[i + ahead].hash) & mask], 1);
        // Cells that earlier entries have left free do not end the search: the entry is in the table.
        const auto is_its = [&](std::size_t at) { return counts.table[at] == i + 1; };
        counts.table[probe(mask, first_cell(counts.entries[i].hash), is_its)] = 0;
    }
}

counted_shingle& entry_of(const shingle_counts& counts, const shingle_group& group, std::size_t i) noexcept
{
    const std::uint64_t hash = hash_at(group, i);
    const std::uint32_t number = find_cell(counts, hash, first_cell(hash), group.at(i));
    assert(number > 0);
    return counts.entries[number - 1];
}

bool take_shared(shingle_counts& counts, const shingle_group& group, std::size_t i, int text) noexcept
{
    counted_shingle& entry = entry_of(counts, group, i);
    assert(entry.occurrences[text] > 0 || counts.bag);
    std::uint32_t& left = entry.occurrences[1 - text];
    if (left == 0)
        return false;
    left -= counts.bag;
    return true;
}

} // namespace minhash
