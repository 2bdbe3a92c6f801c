// Marks are collected row by row; then a table has an entry for each different one, which are
// counted, given room one after the other, and filled in the order of the rows.
#include "bulk/containment/witnesses.h"

#include "core/tuning.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace minhash::bulk {

namespace {

// Witnesses of a row, where no more are needed. With fewer, more rows that do not contain it have
// the least number; with more, the index is larger.
constexpr std::uint32_t usual_witnesses = 24;

// If more witnesses are needed, this many are enough for a comparison.
constexpr std::uint32_t most_least = std::numeric_limits<std::uint8_t>::max();

// The rarest shingles of a row that witnesses are taken from, at least, besides those that may be
// missing twice: so that at thresholds near 1, too, there are some.
constexpr std::uint64_t least_pool = usual_witnesses;

// Entries of the table for a number of witnesses. One at least is free.
std::size_t entries_for(std::size_t marks) noexcept
{
    return std::bit_ceil(marks + marks / 3 + 1);
}

std::size_t bytes_for(std::size_t marks, std::size_t places) noexcept
{
    return marks * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) +
           entries_for(marks) * sizeof(witness_index::entry) +
           places * (sizeof(std::uint64_t) + 2 * sizeof(std::uint8_t));
}

// The largest number that fewer of `drawn` are shared than, with a probability of at most `missed`.
std::uint32_t
least_drawn(std::uint64_t pool, std::uint64_t shared, std::uint32_t drawn, double missed) noexcept
{
    const double others = static_cast<double>(pool - shared);
    const double all = static_cast<double>(pool);
    const double good = static_cast<double>(shared);
    const double count = drawn;
    double number = std::max(0.0, count - others);
    double chance = std::exp(log_choose(good, number) + log_choose(others, count - number) -
                             log_choose(all, count));
    // As many are drawn whatever the chance: also if that is too small for a number.
    if (missed <= 0 || chance <= 0)
        return static_cast<std::uint32_t>(number);
    double below = chance;
    while (below <= missed && number < count) {
        chance *=
            (good - number) * (count - number) / ((number + 1) * (others - count + number + 1));
        number++;
        below += chance;
    }
    return static_cast<std::uint32_t>(number);
}

// The marks of the pool, of which the smallest are kept.
struct smallest_marks {
    host* owner;
    growing<std::uint64_t>* marks;
    std::size_t from;
    std::size_t count;
    std::size_t wanted;
    std::uint64_t limit; // larger ones are not wanted
};

void keep_smallest(smallest_marks& kept)
{
    if (kept.count <= kept.wanted)
        return;
    std::uint64_t* const first = kept.marks->values + kept.from;
    std::nth_element(first, first + (kept.wanted - 1), first + kept.count);
    kept.count = kept.wanted;
    kept.limit = first[kept.wanted - 1];
}

void offer(smallest_marks& kept, std::uint64_t mark)
{
    if (mark > kept.limit)
        return;
    grow(*kept.owner, *kept.marks, kept.from + kept.count, kept.from + kept.count + 1);
    kept.marks->values[kept.from + kept.count++] = mark;
    if (kept.count == 2 * kept.wanted)
        keep_smallest(kept);
}

std::size_t entry_of(const witness_index& index, std::uint64_t mark)
{
    const std::uint32_t tag = tag_of(mark);
    return probe(index.mask, place_of_mark(index, mark), [&](std::size_t place) {
        return index.entries[place].tag == tag || index.entries[place].tag == 0;
    });
}

void end_place(witness_index& index, std::uint32_t least)
{
    host& owner = *index.owner;
    grow(owner, index.ends, index.places, index.places + std::size_t{1});
    grow(owner, index.least, index.places, index.places + std::size_t{1});
    index.ends.values[index.places] = index.mark_count;
    index.least.values[index.places] =
        static_cast<std::uint8_t>(std::min<std::uint32_t>(least, most_least));
    index.places++;
}

} // namespace

witness_plan plan_witnesses(std::uint64_t pool, std::uint64_t shared, double missed) noexcept
{
    assert(shared >= 1 && shared <= pool);
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    const auto all = static_cast<std::uint32_t>(std::min(pool, most));
    std::uint32_t count = std::min(usual_witnesses, all);
    for (;;) {
        const std::uint32_t least = least_drawn(pool, shared, count, missed);
        if (least > 0 || count == all)
            return {count, std::max<std::uint32_t>(least, 1)};
        count = count < all / 2 ? count * 2 : all;
    }
}

std::uint64_t least_contained(std::uint64_t size, double threshold) noexcept
{
    assert(size >= 1 && threshold >= 0 && threshold <= 1);
    auto least = static_cast<std::uint64_t>(std::floor(threshold * static_cast<double>(size)));
    // The division of the answer rounds, too.
    while (least > 0 && containment({size, 0, least - 1}) >= threshold)
        least--;
    while (containment({size, 0, least}) < threshold)
        least++;
    return std::max<std::uint64_t>(least, 1);
}

void start_index(witness_index& index, host& owner, std::size_t room)
{
    index = {};
    index.owner = &owner;
    index.room = room;
}

void add_row(witness_index& index,
             const set_notes& notes,
             const distinct_elements& set,
             std::uint64_t salt,
             double threshold,
             double missed)
{
    host& owner = *index.owner;
    assert(set.count > 0 && set.listed == set.count);
    const std::uint64_t most_missing = set.count - least_contained(set.count, threshold);
    const std::uint64_t wanted = std::min<std::uint64_t>(set.count, 2 * most_missing + least_pool);
    grow(owner, index.classes, 0, set.count);
    std::uint8_t* const classes = index.classes.values;
    std::uint64_t of_class[frequency_classes] = {};
    for (std::size_t i = 0; i < set.count; i++) {
        if (i % 4096 == 0)
            pause(owner);
        classes[i] = static_cast<std::uint8_t>(frequency_class(notes, set.elements()[i]));
        of_class[classes[i]]++;
    }
    int most_frequent = 0;
    std::uint64_t pool = of_class[0];
    while (pool < wanted)
        pool += of_class[++most_frequent];

    const witness_plan plan = plan_witnesses(pool, pool - most_missing, missed);
    smallest_marks kept = {&owner,
                           &index.marks,
                           index.mark_count,
                           0,
                           plan.count,
                           std::numeric_limits<std::uint64_t>::max()};
    for (std::size_t i = 0; i < set.count; i++) {
        if (i % 4096 == 0)
            pause(owner);
        if (classes[i] <= most_frequent)
            offer(kept, set.elements()[i] ^ salt);
    }
    keep_smallest(kept);
    for (std::size_t i = 0; i < kept.count; i++)
        index.most_mark = std::max(index.most_mark, index.marks.values[kept.from + i]);
    index.mark_count += kept.count;
    end_place(index, plan.least);
}

void skip_place(witness_index& index)
{
    end_place(index, 0);
}

bool is_full(const witness_index& index) noexcept
{
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    const std::size_t marks = index.mark_count + usual_witnesses;
    return bytes_for(marks, index.places + std::size_t{1}) > index.room || marks > most;
}

void make_index(witness_index& index)
{
    host& owner = *index.owner;
    const std::size_t entries = entries_for(index.mark_count);
    index.mask = entries - 1;
    index.entries = allocate<witness_index::entry>(owner, entries + 1);
    index.postings = allocate<std::uint32_t>(owner, index.mark_count);
    for (std::size_t i = 0; i <= entries; i++) {
        if (i % 65536 == 0)
            pause(owner);
        index.entries[i] = {0, 0};
    }
    const std::uint64_t* const marks = index.marks.values;
    for (std::size_t i = 0; i < index.mark_count; i++) {
        if (i % 4096 == 0)
            pause(owner);
        witness_index::entry& entry = index.entries[entry_of(index, marks[i])];
        entry.tag = tag_of(marks[i]);
        entry.start++;
    }
    // The counts become ends, and filling from the last row to the first brings them to the starts.
    std::uint32_t end = 0;
    for (std::size_t i = 0; i <= entries; i++) {
        if (i % 65536 == 0)
            pause(owner);
        end += index.entries[i].start;
        index.entries[i].start = end;
    }
    std::size_t mark = index.mark_count;
    for (std::uint32_t place = index.places; place-- > 0;) {
        pause(owner);
        const std::uint64_t first = place == 0 ? 0 : index.ends.values[place - 1];
        while (mark > first)
            index.postings[--index.entries[entry_of(index, marks[--mark])].start] = place;
    }
    release(owner, index.marks.values);
    index.marks = {};
}

void end_index(witness_index& index)
{
    host& owner = *index.owner;
    release(owner, index.marks.values);
    release(owner, index.ends.values);
    release(owner, index.least.values);
    release(owner, index.classes.values);
    release(owner, index.entries);
    release(owner, index.postings);
}

} // namespace minhash::bulk
