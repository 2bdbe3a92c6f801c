// Whether two rows are near: by the share of equal slots of their signatures, and where they are
// texts, by the exact Jaccard similarity of their shingles.
#pragma once

#include "bulk/rows/steps.h"
#include "bulk/sets/exact_sets.h"

#include "core/compress.h"

#include <cassert>
#include <optional>

namespace minhash::bulk {

struct verifier {
    row_set* rows;
    double least;                 // the similarity to be reached
    std::uint32_t least_equal;    // slots; for exact comparison, what few true pairs fall short of
    scheme start;                 // of the slots that are compared first
    std::uint32_t least_at_start; // the same of `start`: least_equal if that is all slots
    void* slots[3];               // room for signatures that come from a file
    std::uint32_t first_slots;    // the row whose start is in slots[0], or where it lies
    const void* first_at;
    growing<std::uint8_t> starts;      // of gathered rows
    growing<std::uint16_t> agreements; // of one of them with those after it

    exact_sets sets; // of exact tasks
    growing<std::uint8_t> text;
    growing<std::uint8_t> copy; // of a text
    void* whole;                // a signature of which rows keep fewer bits
    std::uint32_t whole_row;
};

// For rows that have all been taken.
void start_verifier(verifier& state, row_set& rows);

// Memory in which each of the processes that compare may keep sets of rows.
std::size_t kept_bytes(const row_set& rows);

// From now on any two rows of one scope are near.
void accept_all(verifier& state);

void end_verifier(verifier& state);

// Whether signatures let two rows be near: what comes before an exact comparison.
bool may_be_near(verifier& state, std::uint32_t a, std::uint32_t b);

// The same of many rows with each other, by the starts of their signatures alone, which are brought
// together first. Where signatures cannot be looked at like this, it is not worth it.
bool can_gather(const verifier& state);
void gather_starts(verifier& state, std::span<const std::uint32_t> rows);

// Calls take(place) for the places of the gathered rows that may be near the one at `place`, and
// come after it. There are `count`.
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

// The similarity of two rows, if it reaches the threshold. Cheaper if `a` is that of the call
// before.
std::optional<double> verify(verifier& state, std::uint32_t a, std::uint32_t b);

// Fetches from memory what verify() will read first of a row.
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
