// Decides whether two rows are near: by the share of equal slots of their signatures and, for texts, by the exact
// Jaccard similarity of their shingles.
#pragma once

#include "bulk/rows/steps.h"
#include "bulk/sets/exact_sets.h"

#include "core/compress.h"

#include <cassert>
#include <optional>

namespace minhash::bulk {

struct verifier {
    row_set* rows;
    double least;                 // the similarity that near rows reach
    std::uint32_t least_equal;    // the fewest equal slots; in exact tasks, few true pairs have fewer
    scheme start;                 // the scheme of the slots that are compared first
    std::uint32_t least_at_start; // least_equal for these slots alone; if they are all slots, equal to least_equal
    void* slots[3];               // buffers for signatures that are in a file
    std::uint32_t first_slots;    // the row whose start is at first_at, perhaps in slots[0]
    const void* first_at;
    growing<std::uint8_t> starts;      // starts of the gathered rows' signatures
    growing<std::uint16_t> agreements; // for one of these rows, how many slots it shares with each later one

    exact_sets sets; // for exact tasks
    growing<std::uint8_t> text;
    growing<std::uint8_t> copy; // a copy of a text
    void* whole;                // a buffer for an original signature, if rows keep fewer bits
    std::uint32_t whole_row;
};

// Call this when all rows have been taken.
void start_verifier(verifier& state, row_set& rows);

// From now on verify() accepts any two rows of one scope.
void accept_all(verifier& state);

// Whether two rows may be near, by their signatures: the check before an exact comparison.
bool may_be_near(verifier& state, std::uint32_t a, std::uint32_t b);

// The same for all pairs of many rows, by the starts of their signatures alone, which are first copied side by side.
// can_gather() says whether slots have 8 bits; otherwise this is not worth it.
bool can_gather(const verifier& state);
void gather_starts(verifier& state, std::span<const std::uint32_t> rows);

// Calls take(other) for each gathered row after the one at `place` that may be near it. `count` rows were gathered.
template <typename Take>
void each_likely(verifier& state, std::size_t place, std::size_t count, Take&& take)
{
    assert(place < count && count <= state.agreements.room);
    const std::uint32_t slots = state.start.num_hashes;
    const std::uint8_t* const start = state.starts.values + place * slots;
    std::uint16_t* const agreements = state.agreements.values;
    count_agreements(start + slots, slots, count - place - 1, start, slots, agreements);
    for (std::size_t other = place + 1; other < count; other++)
        if (agreements[other - place - 1] >= state.least_at_start)
            take(other);
}

// The similarity of two rows, if it reaches the threshold. It is cheaper if `a` is the same as in the previous call.
std::optional<double> verify(verifier& state, std::uint32_t a, std::uint32_t b);

// Prefetches what verify() reads first of a row.
[[gnu::always_inline]] inline void prefetch(const verifier& state, std::uint32_t row)
{
    const byte_store& starts = *state.rows->starts;
    const std::size_t bytes = start_bytes(*state.rows);
    const std::uint64_t offset = row * std::uint64_t{bytes};
    if (!in_place(starts, offset, bytes))
        return;
    const char* const at = in_memory(starts, offset);
    for (std::size_t line = 0; line < bytes; line += 64)
        __builtin_prefetch(at + line);
}

// Whether two rows are the same: equal signatures, or equal sets of shingles.
bool is_same(verifier& state, std::uint32_t a, std::uint32_t b);

} // namespace minhash::bulk
