#include "bulk/shared_elements.h"

#include "core/probe.h"

namespace minhash::bulk {

namespace {

enum mark : std::uint8_t { in_first = 0, in_both = 1, in_second = 2 };

std::uint64_t element(std::uint32_t lo, std::uint32_t hi) noexcept
{
    const std::uint64_t value = std::uint64_t{hi} << 32 | lo;
    return value != 0 ? value : 1; // 0 is a free entry
}

// The entry of an element, or the free one where it belongs.
std::size_t find(const std::uint64_t* table, std::size_t mask, std::uint64_t value) noexcept
{
    return probe(mask, place_of(value), [=](std::size_t entry) {
        return table[entry] == value || table[entry] == 0;
    });
}

// Whether so many more elements fit in, even if all of them are new.
bool has_room(shared_elements& state, std::size_t count) noexcept
{
    state.overflowed =
        state.overflowed || state.first + state.second - state.shared + count > state.room;
    return !state.overflowed;
}

} // namespace

void start_first(shared_elements& state) noexcept
{
    state.first = 0;
    state.second = 0;
    state.shared = 0;
    state.overflowed = false;
}

// Elements of the first set went in before, so none of them was put behind one that goes now.
bool forget_second(shared_elements& state, std::size_t most) noexcept
{
    for (; state.second > 0 && most > 0; most--) {
        const std::uint32_t entry = state.second_entries[--state.second];
        if (state.marks[entry] == in_second)
            state.table[entry] = 0;
        else
            state.marks[entry] = in_first;
    }
    state.shared = 0;
    return state.second == 0;
}

// Marks are bytes, which the compiler takes for aliases of everything: hence the copies below.
void add_first(shared_elements& state,
               const std::uint32_t* lo,
               const std::uint32_t* hi,
               std::size_t count) noexcept
{
    if (!has_room(state, count))
        return;
    std::uint64_t* const table = state.table.data();
    std::uint8_t* const marks = state.marks;
    const std::size_t mask = state.table.size() - 1;
    std::size_t first = state.first;
    for (std::size_t i = 0; i < count; i++) {
        const std::uint64_t value = element(lo[i], hi[i]);
        const std::size_t entry = find(table, mask, value);
        first += table[entry] == 0;
        table[entry] = value;
        marks[entry] = in_first;
    }
    state.first = first;
}

void add_second(shared_elements& state,
                const std::uint32_t* lo,
                const std::uint32_t* hi,
                std::size_t count) noexcept
{
    if (!has_room(state, count))
        return;
    std::uint64_t* const table = state.table.data();
    std::uint8_t* const marks = state.marks;
    std::uint32_t* const entries = state.second_entries;
    const std::size_t mask = state.table.size() - 1;
    std::size_t second = state.second;
    std::size_t shared = state.shared;
    for (std::size_t i = 0; i < count; i++) {
        const std::uint64_t value = element(lo[i], hi[i]);
        const std::size_t entry = find(table, mask, value);
        const bool found = table[entry] == value;
        const bool fresh = !found || marks[entry] == in_first; // not met before in this set
        const std::uint8_t after = found ? in_both : in_second;
        // Without a branch: what is written for an element met before is overwritten by the next.
        entries[second] = static_cast<std::uint32_t>(entry);
        marks[entry] = fresh ? after : marks[entry];
        table[entry] = value;
        second += fresh;
        shared += fresh && found;
    }
    state.second = second;
    state.shared = shared;
}

overlap sizes_of(const shared_elements& state) noexcept
{
    return {state.first, state.second, state.shared};
}

} // namespace minhash::bulk
