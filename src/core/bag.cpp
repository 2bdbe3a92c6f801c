#include "core/bag.h"
#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>

namespace minhash {

namespace {

constexpr std::size_t largest_table = std::size_t{1} << 22; // 64 MiB
constexpr std::uint64_t last_hash = ~std::uint64_t{0};

// Most texts have few distinct shingles for their size, and a table that fits the cache is worth
// a pass that has to be started again.
constexpr std::size_t first_table = std::size_t{1} << 14; // 256 KiB
constexpr std::size_t growth = 8;

void clear(bag_counter& state) noexcept
{
    std::fill(state.table.begin(), state.table.end(), bag_entry{0, 0});
    state.used = 0;
    state.overflowed = false;
}

// Shingles that are looked up at once: their entries are asked for together, as most of them are
// not in the cache.
constexpr std::size_t block = 128;

// Counts the shingles of a block that lie in the pass's range, moves them to kept_lo and kept_hi,
// and notes how often each occurred before. Returns how many.
std::size_t count_block(bag_counter& state,
                        const std::uint32_t* lo,
                        const std::uint32_t* hi,
                        std::size_t count,
                        std::uint32_t* kept_lo,
                        std::uint32_t* kept_hi,
                        std::uint32_t* occurrences) noexcept
{
    bag_entry* const table = state.table.data();
    const std::size_t mask = state.table.size() - 1;
    const std::size_t limit = state.table.size() / 4 * 3;
    std::uint64_t shingles[block];
    std::uint64_t places[block];
    std::size_t kept = 0;
    for (std::size_t index = 0; index < count; index++) {
        const std::uint64_t shingle = join(lo[index], hi[index]);
        shingles[kept] = shingle;
        places[kept] = place_of(shingle);
        __builtin_prefetch(table + (places[kept] & mask), 1);
        kept += shingle >= state.first && shingle <= state.last;
    }
    for (std::size_t index = 0; index < kept && !state.overflowed; index++) {
        const std::uint64_t shingle = shingles[index];
        bag_entry& entry = table[probe(mask, places[index], [=](std::size_t at) {
            return table[at].occurrences == 0 || table[at].shingle == shingle;
        })];
        state.used += entry.occurrences == 0;
        state.overflowed = state.used > limit;
        entry.shingle = shingle;
        occurrences[index] = entry.occurrences++;
        split(shingle, kept_lo[index], kept_hi[index]);
    }
    return kept;
}

} // namespace

std::size_t bag_table_size(std::size_t text_bytes) noexcept
{
    return std::bit_ceil(2 * std::clamp<std::size_t>(text_bytes, 64, largest_table / 2));
}

void start(bag_counter& state, std::span<bag_entry> room) noexcept
{
    state.room = room;
    state.table = room.first(std::min(room.size(), first_table));
    state.first = 0;
    state.last = last_hash;
    clear(state);
}

bool start_next_pass(bag_counter& state) noexcept
{
    const std::uint64_t width = state.last - state.first;
    if (state.overflowed && state.table.size() < state.room.size()) {
        state.table = state.room.first(std::min(state.room.size(), state.table.size() * growth));
    } else if (state.overflowed) {
        state.last = state.first + width / 2;
    } else {
        if (state.last == last_hash)
            return false;
        // Twice as wide, or one crowded range would leave its width to all others.
        state.first = state.last + 1;
        const std::uint64_t left = last_hash - state.first;
        state.last = left / 2 < width ? last_hash : state.first + 2 * width;
    }
    clear(state);
    return true;
}

void number_occurrences(bag_counter& state, shingle_batch& batch) noexcept
{
    alignas(64) std::uint32_t occurrences[max_batch + padding] = {};
    std::size_t kept = 0;
    for (std::size_t from = 0; from < batch.count && !state.overflowed; from += block)
        kept += count_block(state,
                            batch.lo + from,
                            batch.hi + from,
                            std::min(block, batch.count - from),
                            batch.lo + kept,
                            batch.hi + kept,
                            occurrences + kept);
    batch.count = state.overflowed ? 0 : kept;
    kernels->hash_occurrences(batch.lo, batch.hi, occurrences, batch.count);
}

} // namespace minhash
