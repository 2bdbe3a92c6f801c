#include "bulk/distinct_elements.h"

#include <algorithm>
#include <bit>

namespace minhash::bulk {

namespace {

constexpr std::size_t most_elements = std::size_t{1} << 28;

// Elements that are added at once.
constexpr std::size_t step = 256;

// Entries for a table of `elements`, and at least one that is free.
std::size_t entries_for(std::size_t elements) noexcept
{
    return std::bit_ceil(3 * elements + 2);
}

template <typename Value>
void clear(host& owner, Value* values, std::size_t count)
{
    constexpr std::size_t at_once = 256 * 1024;
    for (std::size_t from = 0; from < count; from += at_once) {
        pause(owner);
        std::fill_n(values + from, std::min(at_once, count - from), 0);
    }
}

// Makes a table for a number of elements, and enters those of the list.
void make_table(distinct_elements& set, std::size_t elements)
{
    host& owner = *set.owner;
    if (elements > most_elements)
        owner.fail_too_many_shingles(owner, most_elements);
    set.entries = entries_for(elements);
    grow(owner, set.table, 0, set.entries);
    clear(owner, set.table.values, set.entries);
    const searched_elements in(set);
    for (std::size_t number = 1; number <= set.count; number++) {
        if (number % 4096 == 0)
            pause(owner);
        in.entry(in.list[number]) = static_cast<std::uint32_t>(number);
    }
}

// Elements of a row whose sequence is noted. With more, what it saves is not worth its memory.
constexpr std::size_t most_noted = 64 * 1024;

void insert_noting(distinct_elements& set, const std::uint64_t* elements, std::size_t count)
{
    host& owner = *set.owner;
    const std::size_t noted = set.noted;
    const std::size_t kept = noted == 0 ? 0 : noted + 1;
    grow(owner, set.sequence, kept, noted + count + 1);
    grow(owner, set.numbers, kept, noted + count + 1);
    grow(owner, set.firsts, kept, noted + count + 1);
    std::copy_n(elements, count, set.sequence.values + noted + 1);
    const searched_elements in(set);
    std::uint64_t* const list = set.list.values;
    std::uint32_t* const numbers = set.numbers.values + noted + 1;
    std::uint32_t* const firsts = set.firsts.values;
    std::uint32_t last = static_cast<std::uint32_t>(set.count);
    for (std::size_t index = 0; index < count; index++) {
        std::uint32_t& entry = in.entry(elements[index]);
        if (entry == 0) {
            entry = ++last;
            list[last] = elements[index];
            firsts[last] = static_cast<std::uint32_t>(noted + 1 + index);
        }
        numbers[index] = entry;
    }
    set.count = last;
    set.noted = noted + count;
}

// Adds at most `step` elements.
void insert(distinct_elements& set, const std::uint64_t* elements, std::size_t count)
{
    grow(*set.owner, set.list, set.count + 1, set.count + count + 1);
    if (set.count + count >= set.entries / 4 * 3)
        make_table(set, set.count + count);
    if (set.noting && set.noted + count <= most_noted) {
        insert_noting(set, elements, count);
        return;
    }
    set.noting = false;
    set.noted = 0;
    const searched_elements in(set);
    std::uint64_t* const list = set.list.values;
    std::uint32_t last = static_cast<std::uint32_t>(set.count);
    for (std::size_t index = 0; index < count; index++) {
        std::uint32_t& entry = in.entry(elements[index]);
        if (entry != 0)
            continue;
        entry = ++last;
        list[last] = elements[index];
    }
    set.count = last;
}

// How many elements are the same one after the other, of two arrays of `count`.
std::size_t equal_front(const std::uint64_t* a, const std::uint64_t* b, std::size_t count) noexcept
{
    constexpr std::size_t at_once = 8;
    std::size_t equal = 0;
    while (equal + at_once <= count) {
        std::uint64_t different = 0;
        for (std::size_t index = equal; index < equal + at_once; index++)
            different |= a[index] ^ b[index];
        if (different != 0)
            break;
        equal += at_once;
    }
    while (equal < count && a[equal] == b[equal])
        equal++;
    return equal;
}

// Marks those of some elements that the leader has. Moves the others to the front, and returns
// their number. After one that was found, the leader's next is expected.
std::size_t mark_by_list(distinct_elements& set, std::uint64_t* elements, std::size_t count)
{
    const distinct_elements& leader = *set.leader;
    const searched_elements in(leader);
    std::uint8_t* const marks = set.marks.values;
    std::size_t expected = set.expected;
    std::size_t others = 0;
    for (std::size_t index = 0;;) {
        const std::size_t run = equal_front(elements + index,
                                            in.list + expected,
                                            std::min(count - index, leader.count + 1 - expected));
        std::fill_n(marks + expected, run, 1);
        index += run;
        expected += run;
        if (index == count)
            break;
        const std::uint64_t element = elements[index++];
        const std::uint32_t number = in.entry(element);
        marks[number] = 1;
        elements[others] = element;
        others += number == 0;
        // One that does not go on as the leader does is often a repeated one.
        if (number != 0 && number < leader.count && index < count &&
            in.list[number + 1] == elements[index])
            expected = number + std::size_t{1};
    }
    set.expected = expected;
    return others;
}

// The same by the leader's sequence: where both do not go on alike, some elements of the leader
// were replaced by as many others, as a rule.
std::size_t mark_by_sequence(distinct_elements& set, std::uint64_t* elements, std::size_t count)
{
    const distinct_elements& leader = *set.leader;
    const searched_elements in(leader);
    const std::uint64_t* const sequence = leader.sequence.values;
    const std::uint32_t* const numbers = leader.numbers.values;
    const std::size_t end = leader.noted + 1;
    std::uint8_t* const marks = set.marks.values;
    std::size_t expected = set.expected;
    std::size_t others = 0;
    for (std::size_t index = 0; index < count;) {
        if (expected < end && sequence[expected] == elements[index]) {
            const std::size_t run = equal_front(elements + index,
                                                sequence + expected,
                                                std::min(count - index, end - expected));
            for (std::size_t place = expected; place < expected + run; place++)
                marks[numbers[place]] = 1;
            index += run;
            expected += run;
            continue;
        }
        const std::uint64_t element = elements[index++];
        const std::uint32_t number = in.entry(element);
        marks[number] = 1;
        elements[others] = element;
        others += number == 0;
        expected += expected < end;
        if (number == 0 || index == count ||
            (expected < end && sequence[expected] == elements[index]))
            continue;
        const std::size_t after = leader.firsts.values[number] + std::size_t{1};
        if (after < end && sequence[after] == elements[index])
            expected = after;
    }
    set.expected = expected;
    return others;
}

std::size_t mark(distinct_elements& set, std::uint64_t* elements, std::size_t count)
{
    return set.leader->noted > 0 ? mark_by_sequence(set, elements, count)
                                 : mark_by_list(set, elements, count);
}

void add_step(distinct_elements& set, std::uint64_t* elements, std::size_t count)
{
    if (set.leader != nullptr)
        count = mark(set, elements, count);
    insert(set, elements, count);
}

} // namespace

void start_elements(distinct_elements& set, std::size_t most)
{
    constexpr std::size_t usual = 64 * 1024;
    constexpr std::size_t usual_others = 256;
    host& owner = *set.owner;
    set.count = 0;
    set.noted = 0;
    set.expected = 1;
    grow(owner, set.list, 0, 1);
    set.list.values[0] = 0;
    make_table(set, std::min(most, set.leader == nullptr ? usual : usual_others));
    if (set.leader == nullptr)
        return;
    const std::size_t marks = (set.leader->count / 64 + 1) * 64 + 1;
    grow(owner, set.marks, 0, marks);
    clear(owner, set.marks.values, marks);
}

void add(distinct_elements& set,
         const std::uint32_t* lo,
         const std::uint32_t* hi,
         std::size_t count)
{
    for (std::size_t from = 0; from < count; from += step) {
        if (from % (step * 16) == 0)
            pause(*set.owner);
        std::uint64_t elements[step];
        const std::size_t part = std::min(step, count - from);
        for (std::size_t index = 0; index < part; index++) {
            elements[index] = element_of(lo[from + index], hi[from + index]);
        }
        add_step(set, elements, part);
    }
}

void add(distinct_elements& set, std::span<const std::uint64_t> elements)
{
    for (std::size_t from = 0; from < elements.size(); from += step) {
        if (from % (step * 16) == 0)
            pause(*set.owner);
        std::uint64_t copied[step];
        const std::size_t part = std::min(step, elements.size() - from);
        std::copy_n(elements.data() + from, part, copied);
        add_step(set, copied, part);
    }
}

void take_elements(distinct_elements& set, std::span<const std::uint64_t> elements)
{
    grow(*set.owner, set.list, 0, elements.size() + 1);
    set.list.values[0] = 0;
    std::copy(elements.begin(), elements.end(), set.list.values + 1);
    set.count = elements.size();
    set.noted = 0;
    make_table(set, set.count);
}

void read_text(text_signer& signer, text_bytes text, distinct_elements& set)
{
    start_elements(set, text.size() + 1); // no text has more shingles
    each_batch(signer, text, [&set](const shingle_batch& batch) {
        add(set, batch.lo, batch.hi, batch.count);
    });
}

std::size_t count_shared(const distinct_elements& set,
                         std::span<const std::uint64_t> elements,
                         std::size_t& expected)
{
    const searched_elements in(set);
    std::size_t shared = 0;
    std::size_t next = expected;
    for (std::size_t index = 0; index < elements.size();) {
        if (next <= set.count && in.list[next] == elements[index]) {
            const std::size_t run =
                equal_front(elements.data() + index,
                            in.list + next,
                            std::min(elements.size() - index, set.count + 1 - next));
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

std::uint64_t marked_bits(const distinct_elements& set, std::size_t word)
{
    const std::uint8_t* const marks = set.marks.values + 1 + word * 64;
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < 8; byte++) {
        std::uint64_t eight;
        std::memcpy(&eight, marks + byte * 8, sizeof(eight));
        bits |= (eight * 0x0102040810204080 >> 56) << (byte * 8); // the lowest bit of each
    }
    return bits;
}

void end_elements(distinct_elements& set)
{
    release(*set.owner, set.table.values);
    release(*set.owner, set.list.values);
    release(*set.owner, set.marks.values);
    release(*set.owner, set.sequence.values);
    release(*set.owner, set.numbers.values);
    release(*set.owner, set.firsts.values);
}

} // namespace minhash::bulk
