#include "bulk/sets/exact_sets.h"
#include "bulk/sets/kept_rows.h"

#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace minhash::bulk {

namespace {

constexpr std::uint32_t not_counted = 0xFFFFFFFF;

// After each block of this many elements, a comparison checks whether the remaining elements can still change its
// outcome.
constexpr std::size_t step = 64;

// A row that is kept by itself may later be kept by a base instead (kept_rows.h). But first, the base must have
// been compared with `least_met` other rows that share at least half of their elements with it. The row's new record is
// faster to compare, but if rows have few candidates, making the record is not worth its cost.
constexpr std::uint32_t least_met = 2;

void set_bit(std::uint64_t* bits, std::size_t at) noexcept { bits[at / 64] |= std::uint64_t{1} << at % 64; }

std::size_t different_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words)
{
    return kernels->count_different(reinterpret_cast<const std::uint8_t*>(a),
                                    reinterpret_cast<const std::uint8_t*>(b),
                                    static_cast<std::uint32_t>(words * 64),
                                    1);
}

// Makes a record for a row that is kept by itself. Returns where the row's list must be written, or null if the record
// is too large.
std::uint64_t* keep_by_itself(exact_sets& self, std::uint32_t row, std::size_t count)
{
    kept_row* const record = keep(self, row, header_words + count);
    if (record == nullptr)
        return nullptr;
    const std::uint64_t list = self.record_offsets[row & self.offset_mask] + header_words;
    *record = {.list = list, .row = row, .others = static_cast<std::uint32_t>(count)};
    return find_at(self, list);
}

// Writes the loaded row's list to `to`, with 0 in place of each repeated element.
void write_list(const exact_sets& self, std::uint64_t* to)
{
    const distinct_elements& loaded = self.loaded;
    std::copy_n(loaded.list.values + 1, loaded.listed, to);
    for (std::size_t i = 0; i < loaded.repeat_count; i++)
        to[loaded.repeats.values[i].number - 1] = 0;
}

// The offset of the loaded row's own record. If the row is not kept, makes this record, but perhaps not yet its list.
// The result is `nowhere` if there is no room for the record, or if the row is kept by its base. If the row is read
// again, its list will be the same, so the bits of other rows, which refer to positions in this list, stay valid.
std::uint64_t offset_of_loaded(exact_sets& self)
{
    if (record_at(self, self.loaded_at) != nullptr)
        return self.loaded_at;
    self.loaded_at = nowhere;
    if (record_of(self, self.loaded_row) != nullptr)
        return nowhere;
    const std::size_t count = self.loaded.listed;
    if (self.loaded.repeating) {
        kept_row* const record = keep(self, self.loaded_row, header_words);
        if (record == nullptr)
            return nowhere;
        *record = {.row = self.loaded_row, .others = static_cast<std::uint32_t>(count)};
    } else {
        std::uint64_t* const kept = keep_by_itself(self, self.loaded_row, count);
        if (kept == nullptr)
            return nowhere;
        write_list(self, kept);
    }
    self.loaded_at = self.record_offsets[self.loaded_row & self.offset_mask];
    return self.loaded_at;
}

// Writes the list of the loaded row, if there is room for the list. The row must be kept by itself.
void list_loaded(exact_sets& self)
{
    const std::uint64_t list = take_room(self, self.loaded.listed);
    kept_row* const record = record_at(self, self.loaded_at);
    if (list == nowhere || record == nullptr)
        return;
    write_list(self, find_at(self, list));
    record->list = list;
    record->others = static_cast<std::uint32_t>(self.loaded.listed);
}

// Whether the elements of a record can be listed. For this, a list must be in the ring: the base's list, or the
// record's own list if it has no base.
bool is_listed(const exact_sets& self, const kept_row& record)
{
    assert(record.base == nowhere || record_at(self, record.base) != nullptr);
    const kept_row& listed = record.base == nowhere ? record : *record_at(self, record.base);
    assert(listed.base == nowhere);
    return find_at(self, listed.list) != nullptr;
}

// Calls take(index) for each element that the row in `incoming` shares with the loaded row, as the bits in self.marked
// say. `index` is the element's index in loaded.elements().
template <typename Take>
void each_marked(const exact_sets& self, Take&& take)
{
    for (std::size_t word = 0; word < words_for(self.loaded.listed); word++)
        for (std::uint64_t bits = self.marked.values[word]; bits != 0; bits &= bits - 1)
            take(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
}

// Sets the bits of self.marked for those elements of the loaded row that the row in `incoming` has. Returns how many
// bits are set.
std::size_t take_marked(exact_sets& self)
{
    grow(*self.owner, self.marked, 0, words_for(self.loaded.listed));
    return take_marks(self.incoming, self.marked.values);
}

// Keeps the row in `incoming`, with the loaded row as its base. The row has `had` of the base's elements; self.marked
// says which.
void keep_by_loaded(exact_sets& self, std::uint32_t row, std::size_t had)
{
    const std::uint64_t base = offset_of_loaded(self);
    const std::span<const std::uint64_t> others = self.incoming.elements();
    const std::size_t bits = self.loaded.listed;
    const std::size_t words = words_for(bits);
    kept_row* const record = base == nowhere ? nullptr : keep(self, row, header_words + 2 * words + others.size());
    if (record == nullptr)
        return;
    *record = {
        .base = base,
        .row = row,
        .bits = static_cast<std::uint32_t>(bits),
        .shared_with_base = static_cast<std::uint32_t>(had),
        .others = static_cast<std::uint32_t>(others.size()),
    };
    std::uint64_t* const marked = const_cast<std::uint64_t*>(record->words());
    std::copy_n(self.marked.values, words, marked);
    std::uint64_t* const bits_of_others = marked + words;
    std::fill_n(bits_of_others, words, 0);
    for (const std::uint64_t element : others)
        set_bit(bits_of_others,
                static_cast<std::size_t>(static_cast<unsigned __int128>(first_cell(element)) * (words * 64) >> 64));
    for (std::size_t word = 0; word < words; word++)
        record->other_bits += static_cast<std::uint32_t>(std::popcount(bits_of_others[word]));
    std::copy(others.begin(), others.end(), const_cast<std::uint64_t*>(record->elements()));
}

// Keeps the row that was read into `incoming`: by itself, without a base (kept_rows.h).
void keep_alone(exact_sets& self, std::uint32_t row, std::size_t had)
{
    const std::span<const std::uint64_t> others = self.incoming.elements();
    std::uint64_t* to = keep_by_itself(self, row, had + others.size());
    if (to == nullptr)
        return;
    each_marked(self, [&](std::size_t index) { *to++ = self.loaded.elements()[index]; });
    std::copy(others.begin(), others.end(), to);
}

// Reads a row, looks up its elements in the loaded row, and keeps the row that was read. Returns how many elements the
// two rows share.
std::size_t read_by_loaded(exact_sets& self, std::uint32_t row)
{
    self.incoming.base = &self.loaded;
    self.source.read(self.source.from, row, self.incoming);
    const std::size_t had = take_marked(self);
    self.incoming.base = nullptr;
    const std::size_t count = had + self.incoming.count;
    self.sizes[row] = static_cast<std::uint32_t>(count);
    if (had >= count / 2)
        keep_by_loaded(self, row, had);
    else
        keep_alone(self, row, had);
    return had;
}

// Lists the elements of a record, for which is_listed() must be true. The list may have zeros in place of repeated
// elements. It is valid until the next call, or until something is kept.
std::span<const std::uint64_t> elements_of(exact_sets& self, const kept_row& record)
{
    if (record.base == nowhere)
        return {find_at(self, record.list), record.others};
    const std::uint64_t* const base = find_at(self, record_at(self, record.base)->list);
    grow(*self.owner, self.scratch, 0, record.count());
    std::uint64_t* to = self.scratch.values;
    for (std::size_t word = 0; word < words_for(record.bits); word++)
        for (std::uint64_t bits = record.words()[word]; bits != 0; bits &= bits - 1)
            *to++ = base[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
    std::copy_n(record.elements(), record.others, to);
    return {self.scratch.values, record.count()};
}

// Lists the elements of a record like elements_of(), but without zeros.
std::span<const std::uint64_t> distinct_of(exact_sets& self, const kept_row& record)
{
    const std::span<const std::uint64_t> listed = elements_of(self, record);
    if (listed.size() == self.sizes[record.row])
        return listed;
    grow(*self.owner, self.scratch, 0, listed.size() + 1);
    std::uint64_t* to = self.scratch.values;
    for (const std::uint64_t element : listed) {
        *to = element;
        to += element != 0;
    }
    return {self.scratch.values, to};
}

void load_record(exact_sets& self, const kept_row& record)
{
    self.loaded_row = no_row;
    self.loaded_at = nowhere;
    self.loaded.repeating = false;
    take_elements(self.loaded, elements_of(self, record));
    self.loaded_row = record.row;
}

void load_text(exact_sets& self, std::uint32_t row)
{
    self.loaded_row = no_row;
    self.loaded_at = nowhere;
    self.loaded.repeating = true; // so that rows that are read later can be compared with this one run by run
    self.source.read(self.source.from, row, self.loaded);
    self.sizes[row] = static_cast<std::uint32_t>(self.loaded.count);
    self.loaded_row = row;
}

// Loads the row whose record is at an offset. The row must be kept by itself.
void load_at(exact_sets& self, std::uint64_t offset)
{
    if (self.loaded_at == offset)
        return;
    const kept_row& record = *record_at(self, offset);
    const bool listed = is_listed(self, record);
    if (listed)
        load_record(self, record);
    else
        load_text(self, record.row);
    self.loaded_at = offset;
    if (!listed)
        list_loaded(self);
}

// Loads a row, so that other rows can be looked up in it.
void load(exact_sets& self, std::uint32_t row)
{
    if (self.loaded_row == row)
        return;
    const kept_row* record = record_of(self, row);
    if (record != nullptr && record->base != nowhere && !is_listed(self, *record)) {
        load_at(self, record->base);
        record = record_of(self, row);
    }
    if (record != nullptr && record->base == nowhere) {
        load_at(self, base_of(self, *record));
    } else if (record != nullptr && is_listed(self, *record)) {
        load_record(self, *record);
    } else {
        load_text(self, row);
        (void)offset_of_loaded(self);
    }
}

// The result of a comparison. If counting stopped early, `shared` counts only the elements that were looked at.
struct answer {
    bool reached;
    std::uint64_t shared;
    std::size_t looked_at;
};

// Counts how many of the elements are in the set, and adds this number to `shared`. Stops as soon as it is certain that
// the rows share fewer elements than needed.
answer count_in(host& owner,
                const distinct_elements& set,
                std::span<const std::uint64_t> elements,
                std::uint64_t shared,
                std::uint64_t needed)
{
    std::size_t expected = 1;
    for (std::size_t from = 0; from < elements.size(); from += step) {
        if (shared + (elements.size() - from) < needed)
            return {false, shared, from};
        shared += count_shared(set, elements.subspan(from, std::min(step, elements.size() - from)), expected);
        if (from % (step * 64) == 0)
            pause(owner);
    }
    return {shared >= needed, shared, elements.size()};
}

// Counts the shared elements of two rows that have the same base.
answer count_by_base(exact_sets& self, const kept_row& a, const kept_row& b, std::uint64_t needed)
{
    assert(a.base == b.base && a.bits == b.bits);
    const std::size_t words = words_for(a.bits);
    const std::uint64_t shared =
        (a.shared_with_base + b.shared_with_base - different_bits(a.words(), b.words(), words)) / 2;
    if (shared + std::min(a.others, b.others) < needed)
        return {false, shared, 0};
    // If a bit is set in only one of the rows, that row has at least one element that the other row lacks.
    const std::size_t different = different_bits(a.bits_of_others(), b.bits_of_others(), words);
    const std::size_t only_a = (different + a.other_bits - b.other_bits) / 2;
    const std::size_t only_b = different - only_a;
    if (shared + std::min(a.others - only_a, b.others - only_b) < needed)
        return {false, shared, 0};
    if (self.others_row != a.row) {
        self.others_row = no_row;
        take_elements(self.others, {a.elements(), a.others});
        self.others_row = a.row;
    }
    return count_in(*self.owner, self.others, {b.elements(), b.others}, shared, needed);
}

// Compares a kept row with the loaded row. If the kept row has no base, and the two rows share enough elements, the
// loaded row can become the base. But before that, the loaded row must have met `least_met` other rows like this.
answer count_in_loaded(exact_sets& self, const kept_row& record, double least)
{
    const std::span<const std::uint64_t> elements = distinct_of(self, record);
    const std::uint64_t needed = least_shared(self.loaded.count, elements.size(), least);
    const answer found = count_in(*self.owner, self.loaded, elements, 0, needed);
    if (found.shared < found.looked_at / 2 || record.base != nowhere)
        return found;
    kept_row* const base = record_at(self, self.loaded_at);
    if (base == nullptr || base->comparisons++ < least_met)
        return found;
    self.incoming.base = &self.loaded;
    start_elements(self.incoming, elements.size());
    add(self.incoming, elements);
    const std::size_t had = take_marked(self);
    self.incoming.base = nullptr;
    keep_by_loaded(self, record.row, had);
    return found;
}

bool is_at_hand(const exact_sets& self, std::uint32_t row)
{
    return row == self.loaded_row || record_of(self, row) != nullptr;
}

answer all_shared(const exact_sets& self, std::uint32_t a, std::uint32_t b, std::uint64_t shared, double least)
{
    return {jaccard({self.sizes[a], self.sizes[b], shared}) >= least, shared, 0};
}

answer compare_rows(exact_sets& self, std::uint32_t a, std::uint32_t b, double least)
{
    if (!is_at_hand(self, a) && is_at_hand(self, b))
        std::swap(a, b);
    if (!is_at_hand(self, a))
        load(self, a); // not b, because the next pairs are more likely to contain a
    if (!is_at_hand(self, b)) {
        if (const kept_row* const record = record_of(self, a))
            load_at(self, base_of(self, *record));
        const std::size_t shared = read_by_loaded(self, b);
        if (self.loaded_row == a)
            return all_shared(self, a, b, shared, least);
    }
    const kept_row* const record_a = record_of(self, a);
    const kept_row* const record_b = record_of(self, b);
    if (record_a != nullptr && record_b != nullptr && base_of(self, *record_a) == base_of(self, *record_b)) {
        if (record_a->base == nowhere)
            return all_shared(self, a, b, record_b->shared_with_base, least);
        if (record_b->base == nowhere)
            return all_shared(self, a, b, record_a->shared_with_base, least);
        return count_by_base(self, *record_a, *record_b, least_shared(record_a->count(), record_b->count(), least));
    }
    if (b == self.loaded_row)
        std::swap(a, b);
    load(self, a);
    if (const kept_row* const record = record_of(self, b); record != nullptr && is_listed(self, *record))
        return count_in_loaded(self, *record, least);
    const std::size_t shared = read_by_loaded(self, b);
    return all_shared(self, a, b, shared, least);
}

} // namespace

void start_sets(exact_sets& self, host& owner, const element_source& source, std::uint32_t count, std::size_t bytes)
{
    self = {};
    self.owner = &owner;
    self.source = source;
    for (distinct_elements* const each : {&self.loaded, &self.incoming, &self.others})
        each->owner = &owner;
    self.first = self.second = self.loaded_row = self.others_row = no_row;
    self.loaded_at = nowhere;
    self.sizes = allocate<std::uint32_t>(owner, count);
    std::fill_n(self.sizes, count, not_counted);
    constexpr std::size_t bytes_per_offset = 256; // about the size of the record of a short text
    const std::size_t offset_count = std::bit_floor(std::max<std::size_t>(bytes / bytes_per_offset, 16));
    self.record_offsets = allocate<std::uint64_t>(owner, offset_count);
    std::fill_n(self.record_offsets, offset_count, nowhere);
    self.offset_mask = offset_count - 1;
    self.ring_words = std::max<std::size_t>(bytes / sizeof(std::uint64_t), 64);
    self.ring = allocate<std::uint64_t>(owner, self.ring_words);
}

std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept
{
    const std::uint64_t most = std::min(first, second);
    const auto guess =
        static_cast<std::uint64_t>(std::floor(least / (1 + least) * static_cast<double>(first + second)));
    std::uint64_t shared = std::min(guess, most + 1);
    // The division in jaccard() also rounds, so go to the exact boundary, which is no more than a step or two away.
    while (shared > 0 && jaccard({first, second, shared - 1}) >= least)
        shared--;
    while (shared <= most && jaccard({first, second, shared}) < least)
        shared++;
    return shared;
}

std::optional<double> compare(exact_sets& self, std::uint32_t a, std::uint32_t b, double least)
{
    assert(a != b);
    // The elements of the previous call's rows are probably still in memory. So if one of these rows is compared again,
    // it becomes `a`.
    if (b == self.first || (a != self.first && b == self.second))
        std::swap(a, b);
    self.first = a;
    self.second = b;

    const std::uint32_t size_a = self.sizes[a];
    const std::uint32_t size_b = self.sizes[b];
    if (size_a != not_counted && size_b != not_counted && jaccard({size_a, size_b, std::min(size_a, size_b)}) < least)
        return std::nullopt;
    const answer found = compare_rows(self, a, b, least);
    if (!found.reached)
        return std::nullopt;
    assert(self.sizes[a] != not_counted && self.sizes[b] != not_counted);
    return jaccard({self.sizes[a], self.sizes[b], found.shared});
}

} // namespace minhash::bulk
