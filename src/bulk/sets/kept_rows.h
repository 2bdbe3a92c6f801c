// How exact_sets keeps rows: in a ring of records, in which new records overwrite the oldest ones.
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/sets/exact_sets.h"

#include <cassert>

namespace minhash::bulk {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

constexpr std::size_t words_for(std::size_t bits) noexcept { return (bits + 63) / 64; }

// The record of a row. If the row is kept by its base, two equally long sets of bits follow the record: one for the
// base's elements, and one for hashes of the row's other elements. After the bits come these other elements. If the
// row is kept by itself, its elements are in a list at the offset `list`. The list of a base is often written only
// when it is needed. Most bases are never compared again, because the rows of one base are compared with each other
// by their bits.
struct kept_row {
    std::uint64_t base = nowhere; // where the base's record is; nowhere: the row is kept by itself
    std::uint64_t list = nowhere; // where the row's list is; nowhere: the row has a base, or no list yet
    std::uint32_t row;
    std::uint32_t bits = 0;             // how many elements the base's list has
    std::uint32_t shared_with_base = 0; // how many of the base's elements the row has

    // If the row is kept by its base, how many of its elements the base lacks. If it is kept by itself, how long
    // its list is.
    std::uint32_t others = 0;

    std::uint32_t other_bits = 0;
    std::uint32_t comparisons = 0; // how many compared rows shared enough with this row to be kept by it

    const std::uint64_t* words() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }

    const std::uint64_t* bits_of_others() const { return words() + words_for(bits); }

    const std::uint64_t* elements() const { return words() + 2 * words_for(bits); }

    std::uint32_t count() const { return shared_with_base + others; }
};

constexpr std::size_t header_words = sizeof(kept_row) / sizeof(std::uint64_t);
static_assert(sizeof(kept_row) % sizeof(std::uint64_t) == 0);

// The words at an offset in the ring; null if newer words have overwritten them, or if the offset is `nowhere`. The
// result is valid until something else is kept.
inline std::uint64_t* find_at(const exact_sets& self, std::uint64_t offset)
{
    if (offset >= self.ring_end || self.ring_end - offset > self.ring_words)
        return nullptr;
    assert(offset != nowhere);
    return self.ring + offset % self.ring_words;
}

inline kept_row* record_at(const exact_sets& self, std::uint64_t offset)
{
    return reinterpret_cast<kept_row*>(find_at(self, offset));
}

// The record of a row; null if this record, or the record of its base, is no longer kept.
inline const kept_row* record_of(const exact_sets& self, std::uint32_t row)
{
    const kept_row* const record = record_at(self, self.record_offsets[row & self.offset_mask]);
    if (record == nullptr || record->row != row)
        return nullptr;
    return record->base == nowhere || record_at(self, record->base) != nullptr ? record : nullptr;
}

// The offset of the base's record. If the row is kept by itself, the offset of its own record.
inline std::uint64_t base_of(const exact_sets& self, const kept_row& record)
{
    return record.base != nowhere ? record.base : self.record_offsets[record.row & self.offset_mask];
}

// Makes room for `words` words in the ring by overwriting the oldest ones. Returns the offset of the room, or `nowhere`
// if `words` is too large.
inline std::uint64_t take_room(exact_sets& self, std::size_t words)
{
    if (words > self.ring_words / 4)
        return nowhere;
    const std::size_t left = self.ring_words - self.ring_end % self.ring_words;
    if (left < words)
        self.ring_end += left;
    const std::uint64_t offset = self.ring_end;
    self.ring_end += words;
    assert(offset % self.ring_words + words <= self.ring_words);
    return offset;
}

// Makes room for the record of a row. Returns null if the record is too large.
inline kept_row* keep(exact_sets& self, std::uint32_t row, std::size_t words)
{
    assert(words >= header_words);
    const std::uint64_t offset = take_room(self, words);
    if (offset == nowhere)
        return nullptr;
    self.record_offsets[row & self.offset_mask] = offset;
    if (self.others_row == row)
        self.others_row = no_row;
    return record_at(self, offset);
}

} // namespace minhash::bulk
