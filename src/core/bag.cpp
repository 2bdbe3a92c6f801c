#include "core/bag.h"

#include <algorithm>
#include <bit>

namespace minhash {

namespace {

constexpr std::size_t largest_table = std::size_t{1} << 22; // 64 MiB
constexpr std::uint64_t last_hash = ~std::uint64_t{0};

bag_entry& entry_of(bag_counter& state, std::uint64_t shingle) noexcept
{
    const std::size_t mask = state.table.size() - 1;
    std::size_t at = fmix64(shingle) & mask;
    while (state.table[at].occurrences > 0 && state.table[at].shingle != shingle)
        at = (at + 1) & mask;
    return state.table[at];
}

void clear(bag_counter& state) noexcept
{
    std::fill(state.table.begin(), state.table.end(), bag_entry{0, 0});
    state.used = 0;
    state.overflowed = false;
}

} // namespace

std::size_t bag_table_size(std::size_t text_bytes) noexcept
{
    return std::bit_ceil(2 * std::clamp<std::size_t>(text_bytes, 64, largest_table / 2));
}

void start(bag_counter& state, std::span<bag_entry> table) noexcept
{
    state.table = table;
    state.first = 0;
    state.last = last_hash;
    clear(state);
}

bool start_next_pass(bag_counter& state) noexcept
{
    const std::uint64_t width = state.last - state.first;
    if (state.overflowed) {
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
    std::size_t kept = 0;
    for (std::size_t index = 0; index < batch.count && !state.overflowed; index++) {
        const std::uint64_t shingle = join(batch.lo[index], batch.hi[index]);
        if (shingle < state.first || shingle > state.last)
            continue;
        bag_entry& entry = entry_of(state, shingle);
        state.used += entry.occurrences == 0;
        state.overflowed = state.used > state.table.size() / 4 * 3;
        entry.shingle = shingle;
        const std::uint64_t element = hash_occurrence(shingle, entry.occurrences++);
        split(element, batch.lo[kept], batch.hi[kept]);
        kept++;
    }
    batch.count = kept;
}

} // namespace minhash
