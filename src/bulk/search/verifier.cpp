// Signatures are compared first, because they are small and contiguous in memory. Texts are compared only if the
// similarity that is estimated from the signatures is high enough. The estimate may be somewhat below the threshold: by
// a quantile of its error. The quantile is chosen so that this check loses few pairs, only a small part of those that
// the task may miss (share_missed()).
#include "bulk/search/verifier.h"

#include <algorithm>
#include <cstring>

namespace minhash::bulk {

namespace {

void read_elements(void* from, std::uint32_t row, distinct_elements& set)
{
    verifier& state = *static_cast<verifier*>(from);
    row_set& rows = *state.rows;
    read_text(*rows.signer, fetch_document(rows, row, state.text), set);
}

// How many slots at the start of two signatures must be equal for the comparison to continue.
std::uint32_t least_at_start(const task& task, std::uint32_t least_equal)
{
    const std::uint32_t hashes = task.scheme.num_hashes;
    if (hashes <= slots_at_start)
        return least_equal;
    if (task.exact)
        return static_cast<std::uint32_t>(least_agreement(task.threshold, slots_at_start, share_missed(task.recall)));
    const std::uint32_t others = hashes - slots_at_start;
    return least_equal > others ? least_equal - others : 0;
}

// The number of equal slots of two rows, if there are enough for the rows to be near.
std::optional<std::uint32_t> compare_signatures(verifier& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.rows;
    assert(a != b);
    if (!in_one_scope(rows, a, b))
        return std::nullopt;
    if (state.first_slots != a) {
        state.first_at = fetch_start(rows, a, state.slots[0]);
        state.first_slots = a;
    }
    if (state.start.num_hashes < rows.start.num_hashes &&
        count_equal(state.start, state.first_at, fetch_start(rows, b, state.slots[1])) < state.least_at_start)
        return std::nullopt;
    std::uint32_t equal = count_equal(rows.start, state.first_at, fetch_start(rows, b, state.slots[1]));
    if (rows.start.num_hashes < rows.kept.num_hashes) {
        if (equal < state.least_at_start)
            return std::nullopt;
        scheme rest = rows.kept;
        rest.num_hashes = static_cast<std::uint16_t>(rest.num_hashes - rows.start.num_hashes);
        equal += count_equal(rest, fetch_rest(rows, a, state.slots[1]), fetch_rest(rows, b, state.slots[2]));
    }
    return equal >= state.least_equal ? std::optional(equal) : std::nullopt;
}

// The number of equal slots of two original signatures, whose slots may have more bits than rows keep.
std::uint32_t compare_whole(verifier& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.rows;
    if (state.whole_row != a) {
        const text_bytes slots = fetch_document(rows, a, state.text);
        std::memcpy(state.whole, slots.data(), slots.size());
        state.whole_row = a;
    }
    return count_equal(rows.task.scheme, state.whole, fetch_document(rows, b, state.text).data());
}

// Whether two rows have the same text; always false for large texts. This is a shortcut: most equal sets come from
// equal texts, and then the sets need not be compared.
bool have_same_text(verifier& state, std::uint32_t a, std::uint32_t b)
{
    constexpr std::size_t most = 64 * 1024;
    row_set& rows = *state.rows;
    const std::size_t bytes = document_size(rows, a);
    if (bytes != document_size(rows, b) || bytes > most)
        return false;
    grow(*rows.owner, state.copy, 0, bytes);
    std::memcpy(state.copy.values, fetch_document(rows, a, state.text).data(), bytes);
    return std::memcmp(state.copy.values, fetch_document(rows, b, state.text).data(), bytes) == 0;
}

} // namespace

void start_verifier(verifier& state, row_set& rows)
{
    state = {};
    state.rows = &rows;
    state.first_slots = no_row;
    state.whole_row = no_row;
    const task& task = rows.task;
    state.least = task.threshold;
    const int hashes = task.scheme.num_hashes;
    state.least_equal =
        task.exact ? static_cast<std::uint32_t>(least_agreement(task.threshold, hashes, share_missed(task.recall)))
                   : least_equal_slots(task.scheme, task.threshold);
    state.start = rows.kept; // the first slots, even if rows.start has all slots (task.whole_slots)
    state.start.num_hashes = std::min(task.scheme.num_hashes, slots_at_start);
    state.least_at_start = least_at_start(task, state.least_equal);
    assert(state.least_at_start <= state.start.num_hashes);
    assert(state.least_at_start <= state.least_equal);
    for (void*& buffer : state.slots)
        buffer = allocate<std::uint32_t>(*rows.owner, task.scheme.num_hashes);
    state.whole = allocate<std::uint32_t>(*rows.owner, task.scheme.num_hashes);
    if (task.exact) {
        constexpr std::size_t most = 64 * 1024 * 1024;
        const std::size_t bytes = std::min(most, rows.shared->memory / 4) / rows.shared->processes;
        start_sets(state.sets, *rows.owner, {&state, read_elements}, rows.count, bytes);
    }
}

void accept_all(verifier& state)
{
    state.least = 0;
    state.least_equal = 0;
    state.least_at_start = 0;
}

bool may_be_near(verifier& state, std::uint32_t a, std::uint32_t b)
{
    return compare_signatures(state, a, b).has_value();
}

bool can_gather(const verifier& state) { return state.rows->kept.bits == 8; }

void gather_starts(verifier& state, std::span<const std::uint32_t> rows)
{
    assert(can_gather(state));
    constexpr std::size_t fetched_ahead = 16;
    host& owner = *state.rows->owner;
    const std::size_t bytes = state.start.num_hashes;
    grow(owner, state.starts, 0, rows.size() * bytes);
    grow(owner, state.agreements, 0, rows.size());
    std::uint8_t* to = state.starts.values;
    for (std::size_t i = 0; i < rows.size(); i++, to += bytes) {
        if (i + fetched_ahead < rows.size())
            prefetch(state, rows[i + fetched_ahead]);
        std::memcpy(to, fetch_start(*state.rows, rows[i], state.slots[1]), bytes);
    }
}

std::optional<double> verify(verifier& state, std::uint32_t a, std::uint32_t b)
{
    const task& task = state.rows->task;
    const std::optional<std::uint32_t> kept = compare_signatures(state, a, b);
    if (!kept)
        return std::nullopt;
    if (task.exact)
        return compare(state.sets, a, b, state.least, true);
    const std::uint32_t equal = task.given ? compare_whole(state, a, b) : *kept;
    return equal >= state.least_equal ? std::optional(similarity_of(task.scheme, equal)) : std::nullopt;
}

bool is_same(verifier& state, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *state.rows;
    if (!in_one_scope(rows, a, b))
        return false;
    state.first_slots = no_row; // slots[0] will be overwritten
    const auto differ = [&](std::size_t bytes, auto&& fetch_part) {
        return bytes > 0 &&
               std::memcmp(fetch_part(rows, a, state.slots[0]), fetch_part(rows, b, state.slots[1]), bytes) != 0;
    };
    if (differ(start_bytes(rows), fetch_start) || differ(rest_bytes(rows), fetch_rest))
        return false;
    if (rows.task.given)
        return compare_whole(state, a, b) == rows.task.scheme.num_hashes;
    return !rows.task.exact || have_same_text(state, a, b) || compare(state.sets, a, b, 1, false) == 1;
}

} // namespace minhash::bulk
