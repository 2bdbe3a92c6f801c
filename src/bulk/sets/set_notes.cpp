#include "bulk/sets/set_notes.h"

#include "core/hash.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace minhash::bulk {

namespace {

// Rows whose shingles are counted. Their number fits into a counter.
constexpr std::uint32_t most_counted = 16 * 1024;
static_assert(std::bit_width(most_counted) < frequency_classes);

// Counters, which different shingles share. Their number is fixed, so that no result depends on
// memory.
constexpr std::size_t counters = std::size_t{1} << 20;

// Any bits of the hash but its highest, by which witnesses are chosen (witnesses.h).
std::size_t counter_of(std::uint64_t element) noexcept
{
    return element & (counters - 1);
}

} // namespace

set_notes* make_notes(memory_budget& budget)
{
    host& owner = *budget.owner;
    set_notes* const made = allocate<set_notes>(owner);
    *made = {};
    made->budget = &budget;
    made->set.owner = &owner;
    made->rows_having = allocate<std::uint16_t>(owner, counters);
    std::fill_n(made->rows_having, counters, 0);
    budget.used += counters * sizeof(std::uint16_t);
    return made;
}

bool note_set(set_notes& notes, text_signer& signer, text_bytes text)
{
    distinct_elements& set = notes.set;
    read_text(signer, text, set);
    if (set.count == 0)
        return false;
    host& owner = *notes.budget->owner;
    const bool counting = notes.count < most_counted;
    std::uint64_t digest = 0;
    for (std::size_t i = 0; i < set.count; i++) {
        if (i % 4096 == 0)
            pause(owner);
        digest += fmix64(set.elements()[i]);
        std::uint16_t& having = notes.rows_having[counter_of(set.elements()[i])];
        having += counting && having < std::numeric_limits<std::uint16_t>::max();
    }
    const std::uint32_t row = notes.count++;
    grow(owner, notes.sizes, row, row + std::size_t{1});
    grow(owner, notes.digests, row, row + std::size_t{1});
    assert(!set.repeating && set.listed == set.count); // elements() are distinct
    notes.sizes.values[row] = static_cast<std::uint32_t>(set.count);
    notes.digests.values[row] = digest;
    notes.budget->used += sizeof(std::uint32_t) + sizeof(std::uint64_t);
    return true;
}

int frequency_class(const set_notes& notes, std::uint64_t element) noexcept
{
    const auto having = notes.rows_having[counter_of(element)];
    return std::min(static_cast<int>(std::bit_width(having)), frequency_classes - 1);
}

} // namespace minhash::bulk
