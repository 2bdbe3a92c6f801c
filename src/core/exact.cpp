#include "core/exact.h"
#include "core/hash.h"
#include "core/probe.h"
#include "core/unicode.h"

#include <algorithm>
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

// The start of the unit after one that ends at `at`.
std::uint32_t unit_start(const shingle_walk& walk, std::uint32_t at) noexcept
{
    return walk.how.of == unit::word && at < walk.end ? at + 1 : at;
}

std::uint64_t hash_of(const shingle_counts& counts, const shingle_range& shingle) noexcept
{
    return XXH3_64bits(counts.buffer + shingle.offset, shingle.bytes);
}

counted_shingle& find(shingle_counts& counts, std::uint64_t hash, const shingle_range& shingle) noexcept
{
    const auto ends = [&](std::size_t at) {
        const counted_shingle& entry = counts.table[at];
        return entry.first.bytes == 0 ||
               (entry.hash == hash && entry.first.bytes == shingle.bytes &&
                std::memcmp(counts.buffer + entry.first.offset, counts.buffer + shingle.offset, shingle.bytes) == 0);
    };
    return counts.table[probe(counts.table.size() - 1, place_of(hash), ends)];
}

} // namespace

shingle_walk
start_walk(const std::uint8_t* buffer, std::uint32_t from, std::uint32_t end, const shingling& how) noexcept
{
    return {buffer, how, from, from, end, false};
}

bool next(shingle_walk& walk, shingle_range& out) noexcept
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

bool full(const shingle_counts& counts) noexcept { return counts.used >= counts.table.size() / 4 * 3; }

void move(std::span<const counted_shingle> part, shingle_counts& into) noexcept
{
    for (const counted_shingle& entry : part) {
        if (entry.first.bytes > 0) {
            assert(!full(into));
            find(into, entry.hash, entry.first) = entry;
            into.used++;
        }
    }
}

counted_shingle& count(shingle_counts& counts, const shingle_range& shingle, int text) noexcept
{
    assert(!full(counts) && shingle.bytes > 0 && (text == 0 || text == 1));
    const std::uint64_t hash = hash_of(counts, shingle);
    counted_shingle& entry = find(counts, hash, shingle);
    if (entry.first.bytes == 0) {
        entry.hash = hash;
        entry.first = shingle;
        counts.used++;
    }
    entry.occurrences[text]++;
    return entry;
}

bool take_shared(shingle_counts& counts, const shingle_range& shingle, int text, bool bag) noexcept
{
    counted_shingle& entry = find(counts, hash_of(counts, shingle), shingle);
    assert(entry.occurrences[text] > 0 || bag);
    std::uint32_t& left = entry.occurrences[1 - text];
    if (left == 0)
        return false;
    left -= bag;
    return true;
}

void measure(std::span<const counted_shingle> part, bool bag, overlap& sizes) noexcept
{
    const std::uint32_t most = bag ? 0xFFFFFFFF : 1;
    for (const counted_shingle& entry : part) {
        const std::uint32_t first = std::min(entry.occurrences[0], most);
        const std::uint32_t second = std::min(entry.occurrences[1], most);
        sizes.first += first;
        sizes.second += second;
        sizes.shared += std::min(first, second);
    }
}

} // namespace minhash
