#include "bulk/exact_sets.h"

#include "core/hash.h"
#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace minhash::bulk {

namespace {

constexpr std::uint32_t none = 0xFFFFFFFF;
constexpr std::uint32_t not_counted = 0xFFFFFFFF;
constexpr std::size_t most_elements = std::size_t{1} << 28;

// Elements between two looks at what is left.
constexpr std::size_t step = 64;

// A row leads others that share at least half of their elements with it, whether they reach the
// similarity wanted or not. It starts to when it has met `least_met` of them: rows with few
// candidates need no record that is fast to compare.
constexpr std::uint32_t least_met = 2;

// Entries for a table of `elements`, and at least one that is free.
std::size_t entries_for(std::size_t elements) noexcept
{
    return std::bit_ceil(3 * elements + 2);
}

std::size_t words_for(std::size_t bits) noexcept
{
    return (bits + 63) / 64;
}

bool has_bit(const std::uint64_t* bits, std::size_t at) noexcept
{
    return bits[at / 64] >> at % 64 & 1;
}

void set_bit(std::uint64_t* bits, std::size_t at) noexcept
{
    bits[at / 64] |= std::uint64_t{1} << at % 64;
}

std::size_t different_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words)
{
    return kernels->count_different(reinterpret_cast<const std::uint8_t*>(a),
                                    reinterpret_cast<const std::uint8_t*>(b),
                                    static_cast<std::uint32_t>(words * 64),
                                    1);
}

void clear(host& owner, std::uint64_t* table, std::size_t entries)
{
    constexpr std::size_t at_once = 128 * 1024;
    for (std::size_t from = 0; from < entries; from += at_once) {
        pause(owner);
        std::fill_n(table + from, std::min(at_once, entries - from), 0);
    }
}

std::size_t find(const std::uint64_t* table, std::size_t mask, std::uint64_t element) noexcept
{
    return probe(mask, place_of(element), [=](std::size_t at) {
        return table[at] == element || table[at] == 0;
    });
}

// Enters distinct elements into a table that has been made for as many.
void fill_table(host& owner,
                growing<std::uint64_t>& table,
                std::size_t entries,
                const std::uint64_t* elements,
                std::size_t count)
{
    grow(owner, table, 0, entries);
    clear(owner, table.values, entries);
    for (std::size_t index = 0; index < count; index++) {
        if (index % 4096 == 0)
            pause(owner);
        table.values[find(table.values, entries - 1, elements[index])] = elements[index];
    }
}

} // namespace

// The record of a row: how it is kept, and then, by itself, its elements; or by its leader, two
// sets of bits, one for the leader's elements and one as large of places of the others, and those.
struct kept_row {
    std::uint32_t row;
    std::uint32_t leader; // none: it is kept by itself
    std::uint32_t bits;   // elements of the leader
    std::uint32_t had;    // how many of those the row has
    std::uint32_t others; // elements that the leader does not have, or all
    std::uint32_t other_bits;
    std::uint32_t met; // rows that this one could lead
    std::uint32_t unused;

    const std::uint64_t* words() const
    {
        return reinterpret_cast<const std::uint64_t*>(this + 1);
    }

    const std::uint64_t* bits_of_others() const
    {
        return words() + words_for(bits);
    }

    const std::uint64_t* elements() const
    {
        return words() + 2 * words_for(bits);
    }

    std::uint32_t count() const
    {
        return had + others;
    }
};

namespace {

constexpr std::size_t header_words = sizeof(kept_row) / sizeof(std::uint64_t);
static_assert(sizeof(kept_row) % sizeof(std::uint64_t) == 0);

// The record of a row, or null. It is good until another one is kept.
const kept_row* record_of(const exact_sets& state, std::uint32_t row)
{
    const std::uint64_t place = state.places[row & state.place_mask];
    if (place >= state.ring_end || state.ring_end - place > state.ring_words)
        return nullptr;
    const auto* const record =
        reinterpret_cast<const kept_row*>(state.ring + place % state.ring_words);
    return record->row == row ? record : nullptr;
}

// Room for the record of a row, in place of the oldest ones; null if it is too large to be kept.
kept_row* keep(exact_sets& state, std::uint32_t row, std::size_t words)
{
    if (words > state.ring_words / 4)
        return nullptr;
    const std::size_t left = state.ring_words - state.ring_end % state.ring_words;
    if (left < words)
        state.ring_end += left;
    const std::uint64_t place = state.ring_end;
    state.ring_end += words;
    state.places[row & state.place_mask] = place;
    if (state.others_of == row)
        state.others_of = none;
    return reinterpret_cast<kept_row*>(state.ring + place % state.ring_words);
}

void keep_by_itself(exact_sets& state, std::uint32_t row, std::span<const std::uint64_t> elements)
{
    kept_row* const record = keep(state, row, header_words + elements.size());
    if (record == nullptr)
        return;
    *record = {row, none, 0, 0, static_cast<std::uint32_t>(elements.size()), 0, 0, 0};
    std::copy(elements.begin(), elements.end(), const_cast<std::uint64_t*>(record->words()));
}

// Keeps a row by the one whose elements the table has. `elements` lie outside of the ring.
void keep_by_leader(exact_sets& state, std::uint32_t row, std::span<const std::uint64_t> elements)
{
    const std::size_t words = words_for(state.loaded_count);
    const std::size_t most = header_words + 2 * words + elements.size();
    if (most > state.ring_words / 4)
        return;
    // In place of its record by itself, if that was the last.
    const std::uint64_t place = state.places[row & state.place_mask];
    if (place + header_words + elements.size() == state.ring_end)
        state.ring_end = place;
    // Made for the worst case, and then as long as it has become.
    kept_row* const record = keep(state, row, most);
    std::uint64_t* const had = const_cast<std::uint64_t*>(record->words());
    std::uint64_t* const bits_of_others = had + words;
    std::uint64_t* const others = bits_of_others + words;
    std::fill_n(had, 2 * words, 0);
    std::uint32_t other_bits = 0;
    std::uint32_t count = 0;
    for (const std::uint64_t element : elements) {
        const std::size_t at = find(state.table.values, state.entries - 1, element);
        if (state.table.values[at] != 0) {
            set_bit(had, state.indexes.values[at]);
            continue;
        }
        const auto bit = static_cast<std::size_t>(
            static_cast<unsigned __int128>(place_of(element)) * (words * 64) >> 64);
        other_bits += !has_bit(bits_of_others, bit);
        set_bit(bits_of_others, bit);
        others[count++] = element;
    }
    *record = {row,
               state.loaded,
               static_cast<std::uint32_t>(state.loaded_count),
               static_cast<std::uint32_t>(elements.size() - count),
               count,
               other_bits,
               0,
               0};
    state.ring_end -= elements.size() - count;
}

// The elements of a row, until the next call for another one.
std::span<const std::uint64_t> elements_of(exact_sets& state, std::uint32_t row)
{
    const kept_row* const record = record_of(state, row);
    if (record != nullptr && record->leader == none)
        return {record->elements(), record->others};
    const kept_row* const leader = record == nullptr ? nullptr : record_of(state, record->leader);
    if (leader != nullptr && leader->leader == none) {
        grow(*state.owner, state.scratch, 0, record->count());
        std::uint64_t* const into = state.scratch.values;
        std::size_t count = 0;
        for (std::size_t word = 0; word < words_for(record->bits); word++)
            for (std::uint64_t bits = record->words()[word]; bits != 0; bits &= bits - 1)
                into[count++] =
                    leader
                        ->elements()[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
        std::copy_n(record->elements(), record->others, into + count);
        return {into, record->count()};
    }
    state.source.read(state.source.from, row, state.fresh);
    state.sizes[row] = static_cast<std::uint32_t>(state.fresh.count);
    const std::span<const std::uint64_t> elements = {state.fresh.list.values, state.fresh.count};
    keep_by_itself(state, row, elements);
    return elements;
}

// Makes a row the one that others are looked up in.
void load(exact_sets& state, std::uint32_t row)
{
    if (state.loaded == row)
        return;
    state.loaded = state.indexed = none;
    const std::span<const std::uint64_t> elements = elements_of(state, row);
    if (elements.data() == state.fresh.list.values) {
        std::swap(state.table, state.fresh.table);
        state.entries = state.fresh.entries;
    } else {
        state.entries = entries_for(elements.size());
        fill_table(*state.owner, state.table, state.entries, elements.data(), elements.size());
    }
    state.loaded_count = elements.size();
    state.loaded = row;
}

// Notes which of its elements each entry of the table is. `elements` are in the order of the row.
void index_table(exact_sets& state, std::span<const std::uint64_t> elements)
{
    if (state.indexed == state.loaded)
        return;
    grow(*state.owner, state.indexes, 0, state.entries);
    for (std::size_t index = 0; index < elements.size(); index++) {
        if (index % 4096 == 0)
            pause(*state.owner);
        state.indexes.values[find(state.table.values, state.entries - 1, elements[index])] =
            static_cast<std::uint32_t>(index);
    }
    state.indexed = state.loaded;
}

// What a comparison is about.
struct question {
    std::uint64_t needed; // elements to be shared
    bool exactly;
};

// The answer, as far as it was looked for: `shared` is all, or enough, or of those looked at.
struct answer {
    bool reached;
    std::uint64_t shared;
    std::size_t looked_at;
};

// How many of the elements the table has, in addition to `shared`.
answer count_in(host& owner,
                const std::uint64_t* table,
                std::size_t entries,
                std::span<const std::uint64_t> elements,
                std::uint64_t shared,
                const question& asked)
{
    for (std::size_t from = 0; from < elements.size(); from += step) {
        if (shared + (elements.size() - from) < asked.needed)
            return {false, shared, from};
        if (shared >= asked.needed && !asked.exactly)
            return {true, shared, from};
        const std::size_t to = std::min(from + step, elements.size());
        for (std::size_t index = from; index < to; index++)
            shared += table[find(table, entries - 1, elements[index])] != 0;
        if (from % (step * 64) == 0)
            pause(owner);
    }
    return {shared >= asked.needed, shared, elements.size()};
}

// The same for two rows of one leader.
answer
count_by_leader(exact_sets& state, const kept_row& a, const kept_row& b, const question& asked)
{
    const std::size_t words = words_for(a.bits);
    const std::uint64_t shared = (a.had + b.had - different_bits(a.words(), b.words(), words)) / 2;
    if (shared >= asked.needed && !asked.exactly)
        return {true, shared, 0};
    if (shared + std::min(a.others, b.others) < asked.needed)
        return {false, shared, 0};
    // A bit that only one of them has set stands for one element at least that only it has.
    const std::size_t different = different_bits(a.bits_of_others(), b.bits_of_others(), words);
    const std::size_t only_a = (different + a.other_bits - b.other_bits) / 2;
    const std::size_t only_b = different - only_a;
    if (shared + std::min(a.others - only_a, b.others - only_b) < asked.needed)
        return {false, shared, 0};
    if (state.others_of != a.row) {
        state.others_of = none;
        state.other_entries = entries_for(a.others);
        fill_table(*state.owner, state.others, state.other_entries, a.elements(), a.others);
        state.others_of = a.row;
    }
    return count_in(*state.owner,
                    state.others.values,
                    state.other_entries,
                    {b.elements(), b.others},
                    shared,
                    asked);
}

// Compares a row with the table, and keeps it by the table's row if that can lead it.
answer count_in_table(exact_sets& state, std::uint32_t row, double least, bool exactly)
{
    std::span<const std::uint64_t> elements = elements_of(state, row);
    const question asked = {least_shared(state.loaded_count, elements.size(), least), exactly};
    if (asked.needed > std::min(state.loaded_count, elements.size()))
        return {false, 0, 0};
    const answer found =
        count_in(*state.owner, state.table.values, state.entries, elements, 0, asked);
    if (found.shared < found.looked_at / 2)
        return found;
    const kept_row* const own = record_of(state, row);
    kept_row* const leader = const_cast<kept_row*>(record_of(state, state.loaded));
    if (own == nullptr || own->leader != none || leader == nullptr || leader->leader != none ||
        leader->met++ < least_met)
        return found;
    if (elements.data() == own->elements()) {
        grow(*state.owner, state.scratch, 0, elements.size());
        std::copy(elements.begin(), elements.end(), state.scratch.values);
        elements = {state.scratch.values, elements.size()};
    }
    index_table(state, {leader->elements(), leader->others});
    keep_by_leader(state, row, elements);
    return found;
}

} // namespace

void start_elements(distinct_elements& set, std::size_t most)
{
    constexpr std::size_t usual = 64 * 1024;
    set.count = 0;
    set.entries = entries_for(std::min(most, usual));
    grow(*set.owner, set.table, 0, set.entries);
    clear(*set.owner, set.table.values, set.entries);
}

void add(distinct_elements& set,
         const std::uint32_t* lo,
         const std::uint32_t* hi,
         std::size_t count)
{
    host& owner = *set.owner;
    grow(owner, set.list, set.count, set.count + count + 1);
    if (set.count + count >= set.entries / 4 * 3) {
        if (set.count + count > most_elements)
            owner.fail_too_many_shingles(owner, most_elements);
        set.entries = entries_for(set.count + count);
        fill_table(owner, set.table, set.entries, set.list.values, set.count);
    }
    std::uint64_t* const table = set.table.values;
    std::uint64_t* const list = set.list.values;
    const std::size_t mask = set.entries - 1;
    std::size_t distinct = set.count;
    for (std::size_t index = 0; index < count; index++) {
        const std::uint64_t hash = join(lo[index], hi[index]);
        const std::uint64_t element = hash != 0 ? hash : 1; // 0 is a free entry
        const std::size_t at = find(table, mask, element);
        // Without a branch: an element met before is overwritten by the next.
        list[distinct] = element;
        distinct += table[at] == 0;
        table[at] = element;
    }
    set.count = distinct;
}

void read_text(text_signer& signer, text_bytes text, distinct_elements& set)
{
    start_elements(set, text.size() + 1); // no text has more shingles
    each_batch(signer, text, [&set](const shingle_batch& batch) {
        add(set, batch.lo, batch.hi, batch.count);
    });
}

void start_sets(exact_sets& state,
                host& owner,
                const element_source& source,
                std::uint32_t count,
                std::size_t bytes)
{
    state = {};
    state.owner = &owner;
    state.source = source;
    state.fresh.owner = &owner;
    state.first = state.second = state.loaded = state.others_of = none;
    state.sizes = allocate<std::uint32_t>(owner, count);
    std::fill_n(state.sizes, count, not_counted);
    constexpr std::size_t bytes_per_place = 256; // the records of short texts
    const std::size_t places = std::bit_floor(std::max<std::size_t>(bytes / bytes_per_place, 16));
    state.places = allocate<std::uint64_t>(owner, places);
    std::fill_n(state.places, places, ~std::uint64_t{0});
    state.place_mask = places - 1;
    state.ring_words = std::max<std::size_t>(bytes / sizeof(std::uint64_t), 64);
    state.ring = allocate<std::uint64_t>(owner, state.ring_words);
}

void end_sets(exact_sets& state)
{
    host& owner = *state.owner;
    release(owner, state.sizes);
    release(owner, state.ring);
    release(owner, state.places);
    release(owner, state.fresh.table.values);
    release(owner, state.fresh.list.values);
    release(owner, state.scratch.values);
    release(owner, state.table.values);
    release(owner, state.indexes.values);
    release(owner, state.others.values);
}

std::uint64_t least_shared(std::uint64_t first, std::uint64_t second, double least) noexcept
{
    const std::uint64_t most = std::min(first, second);
    const auto guess = static_cast<std::uint64_t>(
        std::floor(least / (1 + least) * static_cast<double>(first + second)));
    std::uint64_t shared = std::min(guess, most + 1);
    // The division of the answer rounds, too: a step or two to where it turns.
    while (shared > 0 && jaccard({first, second, shared - 1}) >= least)
        shared--;
    while (shared <= most && jaccard({first, second, shared}) < least)
        shared++;
    return shared;
}

double compare(exact_sets& state, std::uint32_t a, std::uint32_t b, double least, bool exactly)
{
    // The row that was there before is the one that is at hand.
    if (b == state.first || (a != state.first && b == state.second))
        std::swap(a, b);
    state.first = a;
    state.second = b;

    if (state.sizes[a] == not_counted)
        load(state, a);
    const std::uint32_t size_a = state.sizes[a];
    std::uint64_t needed = 0;
    if (state.sizes[b] != not_counted) {
        needed = least_shared(size_a, state.sizes[b], least);
        if (needed > std::min(size_a, state.sizes[b]))
            return -1;
    }

    // Rows of one leader, which can be one of the two.
    const kept_row* record_a = record_of(state, a);
    const kept_row* record_b = record_of(state, b);
    const std::uint32_t leader_a = record_a != nullptr ? record_a->leader : none;
    const std::uint32_t leader_b = record_b != nullptr ? record_b->leader : none;
    answer found;
    if (leader_b == a) {
        found = {record_b->had >= needed, record_b->had, 0};
    } else if (leader_a == b) {
        found = {record_a->had >= needed, record_a->had, 0};
    } else if (leader_a != none && leader_a == leader_b) {
        found = count_by_leader(state, *record_a, *record_b, {needed, exactly});
    } else {
        load(state, a);
        found = count_in_table(state, b, least, exactly);
    }
    return found.reached ? jaccard({size_a, state.sizes[b], found.shared}) : -1;
}

} // namespace minhash::bulk
