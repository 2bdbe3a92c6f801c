// Decides whether two rows are near: by the share of equal slots in their signatures and, in exact tasks, by the exact
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
    double threshold;             // the minimum similarity of near rows; 0: accept_all()
    std::uint32_t least_equal;    // near rows have at least this many equal slots; in exact tasks, a few have fewer
    scheme first_slots_scheme;    // the scheme of the slots that are compared first
    std::uint32_t least_at_start; // like least_equal, but for these first slots alone; never more than least_equal
    void* slots[4];               // buffers for signatures that fetch() has to copy
    std::uint32_t first_slots;    // the row whose first slots are at first_at; first_at may point into slots[0]
    const void* first_at;
    growing<std::uint8_t> starts;      // the first slots of the gathered rows
    growing<std::uint16_t> agreements; // for one gathered row, how many first slots it shares with each later one

    exact_sets sets; // for exact tasks
    growing<std::uint8_t> text;
    growing<std::uint8_t> copy; // a copy of a text
    void* whole;                // a buffer for an original signature, if rows keep fewer bits
    std::uint32_t whole_row;
};

// Call this when all rows have been taken.
void start_verifier(verifier& self, row_set& rows);

// From now on verify() accepts any two rows of one scope.
void accept_all(verifier& self);

// Whether two rows may be near, judged by their signatures. This check comes before an exact comparison.
bool may_be_near(verifier& self, std::uint32_t a, std::uint32_t b);

// gather_starts() copies the first slots of many rows side by side, and each_likely() compares only these slots.
// can_gather() returns whether slots have 8 bits, as gathering requires.
bool can_gather(const verifier& self);
void gather_starts(verifier& self, std::span<const std::uint32_t> rows);

// Calls take(other) for each gathered row that comes after the row at `ordinal` and may be near that row. `count` rows
// were gathered; `ordinal` and `other` are positions among them.
template <typename Take>
void each_likely(verifier& self, std::size_t ordinal, std::size_t count, Take&& take)
{
    assert(ordinal < count && count <= self.agreements.room);
    const std::uint32_t slots = self.first_slots_scheme.num_hashes;
    const std::uint8_t* const start = self.starts.values + ordinal * slots;
    std::uint16_t* const agreements = self.agreements.values;
    count_agreements(start + slots, slots, count - ordinal - 1, start, slots, agreements);
    for (std::size_t other = ordinal + 1; other < count; other++)
        if (agreements[other - ordinal - 1] >= self.least_at_start)
            take(other);
}

// The similarity of two rows, if it reaches the threshold. A call is cheaper if `a` is the same row as in the previous
// call.
std::optional<double> verify(verifier& self, std::uint32_t a, std::uint32_t b);

// Prefetches the part of a row that verify() reads first.
[[gnu::always_inline]] inline void prefetch(const verifier& self, std::uint32_t row)
{
    const byte_store& starts = *self.rows->first_slots;
    const std::size_t bytes = start_bytes(*self.rows);
    const std::uint64_t offset = row * std::uint64_t{bytes};
    if (!in_place(starts, offset, bytes))
        return;
    const char* const at = in_memory(starts, offset);
    for (std::size_t line = 0; line < bytes; line += 64)
        __builtin_prefetch(at + line);
}

// Whether two rows are in one scope and equal. In exact tasks, rows are equal if their sets of shingles are equal. In
// other tasks, rows are equal if their signatures are equal.
bool is_same(verifier& self, std::uint32_t a, std::uint32_t b);

} // namespace minhash::bulk
