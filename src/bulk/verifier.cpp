#include "bulk/verifier.h"

#include "core/compress.h"

#include <algorithm>

namespace minhash::bulk {

namespace {

// The share of true pairs that the estimate before an exact comparison may lose.
constexpr double share_missed = 1.0 / 30000;

constexpr std::size_t most_elements = std::size_t{1} << 28;

// The fewest equal slots whose share reaches the threshold, in the arithmetic of the comparison.
std::uint32_t least_reaching(double threshold, const scheme& scheme)
{
    std::uint32_t equal = static_cast<std::uint32_t>(threshold * scheme.num_hashes);
    while (equal < scheme.num_hashes && similarity_of(scheme, equal) < threshold)
        equal++;
    return equal;
}

void free_elements(verifier& state)
{
    host& owner = *state.rows->owner;
    release(owner, state.elements.table.data());
    release(owner, state.elements.marks);
    release(owner, state.elements.second_entries);
    state.elements = {};
    state.room = 0;
}

// Room for `elements` different shingles of two texts.
void make_room(verifier& state, std::size_t elements)
{
    host& owner = *state.rows->owner;
    shared_elements& to = state.elements;
    if (elements > most_elements)
        owner.fail_too_many_shingles(owner, most_elements);
    if (elements > state.room) {
        free_elements(state);
        const std::size_t entries = element_table_size(elements);
        to.table = {allocate<std::uint64_t>(owner, entries), entries};
        to.marks = allocate<std::uint8_t>(owner, entries);
        to.second_entries = allocate<std::uint32_t>(owner, elements + 1);
        state.room = elements;
    }
    // The smallest table that fits, as it must be cleared.
    to.table = {to.table.data(), element_table_size(elements)};
    state.used_room = elements;
}

// No text has more shingles than bytes, and one.
std::size_t text_elements(text_bytes text)
{
    return text.size() + 1;
}

// Different shingles to make room for at first: all that two small texts can have, and some for a
// larger second one that comes next. Large texts have far fewer, as a rule.
std::size_t first_guess(std::size_t elements)
{
    constexpr std::size_t small = 256 * 1024;
    return std::min(elements + elements / 8, std::max(small, elements / 8));
}

void clear_table(host& owner, std::span<std::uint64_t> table)
{
    constexpr std::size_t step = 128 * 1024;
    for (std::size_t from = 0; from < table.size(); from += step) {
        pause(owner);
        std::fill_n(table.data() + from, std::min(step, table.size() - from), 0);
    }
}

// Nothing is checked where the table has room for all that two texts can have: shingles of a bag
// come more than once, and would seem too many.
void limit_room(verifier& state, std::size_t most)
{
    state.elements.room = most <= state.used_room ? no_overflow : state.used_room;
}

void take_first(verifier& state, text_bytes first, std::size_t most)
{
    clear_table(*state.rows->owner, state.elements.table);
    start_first(state.elements);
    limit_room(state, most);
    each_batch(*state.rows->signer, first, [&state](const shingle_batch& batch) {
        add_first(state.elements, batch.lo, batch.hi, batch.count);
    });
}

void take_second(verifier& state, text_bytes second)
{
    while (!forget_second(state.elements, 64 * 1024))
        pause(*state.rows->owner);
    limit_room(state, state.first_elements + text_elements(second));
    each_batch(*state.rows->signer, second, [&state](const shingle_batch& batch) {
        add_second(state.elements, batch.lo, batch.hi, batch.count);
    });
}

// The exact Jaccard similarity of two rows.
double compare_exactly(verifier& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.rows;
    const text_bytes second = fetch_text(rows, b, state.texts[1]);
    if (state.first_text == a)
        take_second(state, second);
    if (state.first_text != a || state.elements.overflowed) {
        const text_bytes first = fetch_text(rows, a, state.texts[0]);
        state.first_text = no_row;
        state.first_elements = text_elements(first);
        const std::size_t most = state.first_elements + text_elements(second);
        for (std::size_t room = first_guess(most);; room = std::min(most, room * 4)) {
            make_room(state, room);
            take_first(state, first, most);
            if (!state.elements.overflowed)
                take_second(state, second);
            if (!state.elements.overflowed)
                break;
        }
        state.first_text = a;
    }
    return jaccard(sizes_of(state.elements));
}

} // namespace

void start_verifier(verifier& state, row_set& rows)
{
    state = {};
    state.rows = &rows;
    state.first_slots = no_row;
    state.first_text = no_row;
    const task& task = rows.task;
    const int hashes = task.scheme.num_hashes;
    state.least_equal =
        task.exact
            ? static_cast<std::uint32_t>(least_agreement(task.threshold, hashes, share_missed))
            : least_reaching(task.threshold, task.scheme);
    for (void*& buffer : state.slots)
        buffer = allocate<std::uint32_t>(*rows.owner, task.scheme.num_hashes);
}

void end_verifier(verifier& state)
{
    host& owner = *state.rows->owner;
    free_elements(state);
    for (void* const buffer : state.slots)
        release(owner, buffer);
    for (const growing<std::uint8_t>& buffer : state.texts)
        release(owner, buffer.values);
}

double verify(verifier& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.rows;
    if (state.first_slots != a) {
        state.first_at = fetch_slots(rows, a, state.slots[0]);
        state.first_slots = a;
    }
    const std::uint32_t equal =
        count_equal(rows.task.scheme, state.first_at, fetch_slots(rows, b, state.slots[1]));
    if (equal < state.least_equal)
        return -1;
    if (!rows.task.exact)
        return similarity_of(rows.task.scheme, equal);
    const double jaccard = compare_exactly(state, a, b);
    return jaccard >= rows.task.threshold ? jaccard : -1;
}

bool is_same(verifier& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.rows;
    const std::size_t bytes = slot_bytes(rows.task.scheme.bits, rows.task.scheme.num_hashes);
    state.first_slots = no_row; // slots[0] will have another row
    if (std::memcmp(fetch_slots(rows, a, state.slots[0]),
                    fetch_slots(rows, b, state.slots[1]),
                    bytes) != 0)
        return false;
    return !rows.task.exact || compare_exactly(state, a, b) == 1;
}

} // namespace minhash::bulk
