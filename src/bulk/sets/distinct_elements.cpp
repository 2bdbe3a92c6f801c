#include "bulk/sets/distinct_elements.h"

#include "core/kernels.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

constexpr std::size_t most_elements = std::size_t{1} << 28;

// How many elements are added at once.
constexpr std::size_t step = 256;
constexpr std::size_t first_step = 4096;

// The size of a table for `elements` elements, with at least one free entry.
std::size_t entries_for(std::size_t elements) noexcept { return std::bit_ceil(3 * elements + 2); }

// Makes a table for `elements` elements, and enters the elements that are listed.
void make_table(distinct_elements& set, std::size_t elements)
{
    assert(set.listed <= elements || set.listed == 0);
    host& owner = *set.owner;
    if (elements > most_elements)
        owner.fail_too_many_shingles(owner, most_elements);
    set.entries = entries_for(elements);
    grow(owner, set.table, 0, set.entries);
    clear(owner, set.table.values, set.entries);
    const searched_elements in(set);
    set.count = 0;
    for (std::size_t number = 1; number <= set.listed; number++) {
        if (number % 4096 == 0)
            pause(owner);
        if (in.list[number] == 0)
            continue;
        std::uint32_t& entry = in.entry(in.list[number]);
        if (entry != 0)
            continue;
        entry = static_cast<std::uint32_t>(number);
        set.count++;
    }
}

// The maximum number of repeated elements that are listed again. More would not be worth their memory.
constexpr std::size_t most_repeats = 64 * 1024;

// Adds up to `step` elements, which the caller has put after the end of the list.
void insert(distinct_elements& set, std::size_t count)
{
    if (set.listed + count >= set.entries / 4 * 3)
        make_table(set, set.listed + count);
    assert(set.listed + count < set.entries && set.listed + count < set.list.room);
    if (set.repeating)
        grow(*set.owner, set.repeats, set.repeat_count, set.repeat_count + count);
    const searched_elements in(set);
    std::uint64_t* const list = set.list.values;
    const std::size_t end = set.listed + count;
    const std::size_t repeats_before = set.repeat_count;
    std::size_t repeats = repeats_before;
    std::size_t last = set.listed;
    for (std::size_t from = set.listed + 1; from <= end; from++) {
        const std::uint64_t element = list[from];
        list[last + 1] = element;
        std::uint32_t& entry = in.entry(element);
        if (entry == 0) {
            entry = static_cast<std::uint32_t>(++last);
        } else if (set.repeating && repeats < std::min(most_repeats, last - repeats)) {
            last++;
            set.repeats.values[repeats++] = {static_cast<std::uint32_t>(last), entry};
        }
    }
    set.count += last - set.listed - (repeats - repeats_before);
    set.repeat_count = repeats;
    set.listed = last;
}

// Adds the first elements of a set, which the caller has put at the start of the list. Whether an element is new is
// unpredictable, and a mispredicted branch costs as much as ten elements. So all elements are entered into the table
// without checking which entries they overwrite. They are entered in reverse order, so that the first of several equal
// elements stays. Then the overwritten elements are gathered. Those that are repeated elements are recorded in
// set.repeats, and the others are entered again.
void insert_first(distinct_elements& set, std::size_t count)
{
    assert(set.listed == 0 && set.base == nullptr);
    if (count >= set.entries / 4 * 3)
        make_table(set, count);
    host& owner = *set.owner;
    grow(owner, set.repeats, 0, count);
    grow(owner, set.cells, 0, 2 * count + 1);
    const searched_elements in(set);
    std::uint32_t* const cells = set.cells.values;
    std::uint32_t* const displaced = cells + count + 1;
    for (std::size_t number = count; number > 0; number--) {
        const auto at = static_cast<std::uint32_t>(first_cell(in.list[number], in.secret) & in.mask);
        cells[number] = at;
        in.table[at] = static_cast<std::uint32_t>(number);
    }
    std::size_t gathered = 0;
    for (std::uint32_t number = 1; number <= count; number++) {
        displaced[gathered] = number;
        gathered += in.table[cells[number]] != number;
    }
    std::size_t repeats = 0;
    std::size_t others = 0;
    for (std::size_t i = 0; i < gathered; i++) {
        const std::uint32_t number = displaced[i];
        const std::uint32_t there = in.table[cells[number]];
        const bool same = in.list[there] == in.list[number];
        set.repeats.values[repeats] = {number, there};
        displaced[others] = number;
        repeats += same;
        others += !same;
    }
    for (std::size_t i = 0; i < others; i++) {
        const std::uint32_t number = displaced[i];
        std::uint32_t& entry = in.entry(in.list[number]);
        if (entry == 0)
            entry = number;
        else
            set.repeats.values[repeats++] = {number, entry};
    }
    set.count = count - repeats;
    set.repeat_count = repeats;
    set.listed = count;
}

constexpr std::uint8_t marked = 255;

// Marks the elements that the base has. Moves the other elements to the front, and returns their number. After a
// difference, the row and the base's list are expected to continue in step, because elements are usually replaced one
// for one.
std::size_t mark(distinct_elements& set, std::uint64_t* elements, std::size_t count)
{
    const distinct_elements& base = *set.base;
    assert(base.listed < set.marks.room);
    const searched_elements in(base);
    const std::size_t end = base.listed + 1;
    std::uint8_t* const marks = set.marks.values;
    std::size_t expected = set.expected;
    std::size_t others = 0;
    for (std::size_t index = 0; index < count;) {
        if (expected < end && in.list[expected] == elements[index]) {
            const std::size_t run =
                count_equal_front(elements + index, in.list + expected, std::min(count - index, end - expected));
            std::fill_n(marks + expected, run, marked);
            index += run;
            expected += run;
            continue;
        }
        const std::uint64_t element = elements[index++];
        const std::uint32_t number = in.entry(element);
        marks[number] = marked;
        elements[others] = element;
        others += number == 0;
        expected += expected < end;
        if (number == 0 || index == count || (expected < end && in.list[expected] == elements[index]))
            continue;
        const std::size_t after = number + std::size_t{1};
        if (after < end && in.list[after] == elements[index])
            expected = after;
    }
    set.expected = expected;
    return others;
}

// Adds `count` elements in parts: write(to, from, part) writes a part to `to`. The part has `part` elements, and
// element `from` is its first.
template <typename Write>
void add_parts(distinct_elements& set, std::size_t count, Write&& write)
{
    for (std::size_t from = 0, part; from < count; from += part) {
        pause(*set.owner);
        const bool first = set.listed == 0 && set.repeating;
        part = std::min(first ? first_step : step, count - from);
        grow(*set.owner, set.list, set.listed + 1, set.listed + part + 1);
        std::uint64_t* const to = set.list.values + set.listed + 1;
        write(to, from, part);
        if (first)
            insert_first(set, part);
        else
            insert(set, set.base == nullptr ? part : mark(set, to, part));
    }
}

} // namespace

void start_elements(distinct_elements& set, std::size_t most)
{
    constexpr std::size_t usual = 64 * 1024;
    constexpr std::size_t usual_others = 256;
    host& owner = *set.owner;
    set.listed = 0;
    set.repeat_count = 0;
    set.expected = 1;
    grow(owner, set.list, 0, 1);
    set.list.values[0] = 0;
    make_table(set, std::min(most, set.base == nullptr ? usual : usual_others));
    if (set.base == nullptr)
        return;
    const std::size_t marks = (set.base->listed / 64 + 1) * 64 + 1;
    grow(owner, set.marks, 0, marks);
    clear(owner, set.marks.values, marks);
}

void add(distinct_elements& set, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count)
{
    add_parts(set, count, [lo, hi](std::uint64_t* to, std::size_t from, std::size_t part) {
        kernels->join_halves(lo + from, hi + from, part, to);
    });
}

void add(distinct_elements& set, std::span<const std::uint64_t> elements)
{
    add_parts(set, elements.size(), [elements](auto* to, std::size_t from, std::size_t part) {
        std::copy_n(elements.data() + from, part, to);
    });
}

void take_elements(distinct_elements& set, std::span<const std::uint64_t> elements)
{
    grow(*set.owner, set.list, 0, elements.size() + 1);
    set.list.values[0] = 0;
    std::copy(elements.begin(), elements.end(), set.list.values + 1);
    set.listed = elements.size();
    set.repeat_count = 0;
    make_table(set, set.listed);
}

void read_text(host_signer& signer, text_bytes text, distinct_elements& set)
{
    start_elements(set, text.size() + 1); // a text has at most this many shingles
    each_batch(source_of(signer, text),
               [&set](const shingle_batch& batch) { add(set, batch.lo, batch.hi, batch.count); });
}

std::size_t count_equal_front(const std::uint64_t* a, const std::uint64_t* b, std::size_t count) noexcept
{
    constexpr std::size_t at_once = 8; // the compiler compares them as vectors
    std::size_t equal = 0;
    for (; equal + at_once <= count; equal += at_once) {
        std::uint64_t different = 0;
        for (std::size_t index = equal; index < equal + at_once; index++)
            different |= a[index] ^ b[index];
        if (different != 0)
            break;
    }
    while (equal < count && a[equal] == b[equal])
        equal++;
    return equal;
}

std::size_t count_shared(const distinct_elements& set, std::span<const std::uint64_t> elements, std::size_t& expected)
{
    const searched_elements in(set);
    std::size_t shared = 0;
    std::size_t next = expected;
    for (std::size_t index = 0; index < elements.size();) {
        if (next <= set.listed && in.list[next] == elements[index]) {
            const std::size_t run = count_equal_front(elements.data() + index,
                                                      in.list + next,
                                                      std::min(elements.size() - index, set.listed + 1 - next));
            shared += run;
            index += run;
            next += run;
            continue;
        }
        const std::uint32_t number = in.entry(elements[index++]);
        shared += number != 0;
        next = number != 0 ? number + std::size_t{1} : next;
    }
    expected = next;
    return shared;
}

std::size_t take_marks(distinct_elements& set, std::uint64_t* words)
{
    const distinct_elements& base = *set.base;
    std::uint8_t* const marks = set.marks.values;
    for (std::size_t i = 0; i < base.repeat_count; i++) {
        const repeated_element& again = base.repeats.values[i];
        marks[again.first] |= marks[again.number];
        marks[again.number] = 0;
    }
    return kernels->pack_marks(marks + 1, (base.listed + 63) / 64, words);
}

} // namespace minhash::bulk
