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
    verifier& self = *static_cast<verifier*>(from);
    row_set& rows = *self.rows;
    read_text(*rows.signer, fetch_document(rows, row, self.text), set);
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
std::optional<std::uint32_t> compare_signatures(verifier& self, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *self.rows;
    assert(a != b);
    if (!in_one_scope(rows, a, b))
        return std::nullopt;
    if (self.first_slots != a) {
        self.first_at = fetch_start(rows, a, self.slots[0]);
        self.first_slots = a;
    }
    if (self.first_slots_scheme.num_hashes < rows.first_slots_scheme.num_hashes &&
        count_equal(self.first_slots_scheme, self.first_at, fetch_start(rows, b, self.slots[1])) < self.least_at_start)
        return std::nullopt;
    std::uint32_t equal = count_equal(rows.first_slots_scheme, self.first_at, fetch_start(rows, b, self.slots[1]));
    if (rows.first_slots_scheme.num_hashes < rows.kept.num_hashes) {
        if (equal < self.least_at_start)
            return std::nullopt;
        scheme rest = rows.kept;
        rest.num_hashes = static_cast<std::uint16_t>(rest.num_hashes - rows.first_slots_scheme.num_hashes);
        equal += count_equal(rest, fetch_rest(rows, a, self.slots[1]), fetch_rest(rows, b, self.slots[2]));
    }
    return equal >= self.least_equal ? std::optional(equal) : std::nullopt;
}

// The number of equal slots of two original signatures, whose slots may have more bits than rows keep.
std::uint32_t compare_whole(verifier& self, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *self.rows;
    if (self.whole_row != a) {
        const text_bytes slots = fetch_document(rows, a, self.text);
        std::memcpy(self.whole, slots.data(), slots.size());
        self.whole_row = a;
    }
    return count_equal(rows.task.scheme, self.whole, fetch_document(rows, b, self.text).data());
}

// Whether two rows have the same text; always false for large texts. This is a shortcut: most equal sets come from
// equal texts, and then the sets need not be compared.
bool have_same_text(verifier& self, std::uint32_t a, std::uint32_t b)
{
    constexpr std::size_t most = 64 * 1024;
    row_set& rows = *self.rows;
    const std::size_t bytes = document_size(rows, a);
    if (bytes != document_size(rows, b) || bytes > most)
        return false;
    grow(*rows.owner, self.copy, 0, bytes);
    std::memcpy(self.copy.values, fetch_document(rows, a, self.text).data(), bytes);
    return std::memcmp(self.copy.values, fetch_document(rows, b, self.text).data(), bytes) == 0;
}

} // namespace

void start_verifier(verifier& self, row_set& rows)
{
    self = {};
    self.rows = &rows;
    self.first_slots = no_row;
    self.whole_row = no_row;
    const task& task = rows.task;
    self.threshold = task.threshold;
    const int hashes = task.scheme.num_hashes;
    self.least_equal =
        task.exact ? static_cast<std::uint32_t>(least_agreement(task.threshold, hashes, share_missed(task.recall)))
                   : least_equal_slots(task.scheme, task.threshold);
    self.first_slots_scheme = rows.kept; // the first slots, even if rows.first_slots has all of them (task.whole_slots)
    self.first_slots_scheme.num_hashes = std::min(task.scheme.num_hashes, slots_at_start);
    self.least_at_start = least_at_start(task, self.least_equal);
    assert(self.least_at_start <= self.first_slots_scheme.num_hashes);
    assert(self.least_at_start <= self.least_equal);
    for (void*& buffer : self.slots)
        buffer = allocate<std::uint32_t>(*rows.owner, task.scheme.num_hashes);
    self.whole = allocate<std::uint32_t>(*rows.owner, task.scheme.num_hashes);
    if (task.exact) {
        constexpr std::size_t most = 64 * 1024 * 1024;
        const std::size_t bytes = std::min(most, rows.shared->memory / 4) / rows.shared->processes;
        start_sets(self.sets, *rows.owner, {&self, read_elements}, rows.count, bytes);
    }
}

void accept_all(verifier& self)
{
    self.threshold = 0;
    self.least_equal = 0;
    self.least_at_start = 0;
}

bool may_be_near(verifier& self, std::uint32_t a, std::uint32_t b)
{
    return compare_signatures(self, a, b).has_value();
}

bool can_gather(const verifier& self) { return self.rows->kept.bits == 8; }

void gather_starts(verifier& self, std::span<const std::uint32_t> rows)
{
    assert(can_gather(self));
    constexpr std::size_t fetched_ahead = 16;
    host& owner = *self.rows->owner;
    const std::size_t bytes = self.first_slots_scheme.num_hashes;
    grow(owner, self.starts, 0, rows.size() * bytes);
    grow(owner, self.agreements, 0, rows.size());
    std::uint8_t* to = self.starts.values;
    for (std::size_t i = 0; i < rows.size(); i++, to += bytes) {
        if (i + fetched_ahead < rows.size())
            prefetch(self, rows[i + fetched_ahead]);
        std::memcpy(to, fetch_start(*self.rows, rows[i], self.slots[1]), bytes);
    }
}

std::optional<double> verify(verifier& self, std::uint32_t a, std::uint32_t b)
{
    const task& task = self.rows->task;
    const std::optional<std::uint32_t> kept = compare_signatures(self, a, b);
    if (!kept)
        return std::nullopt;
    if (task.exact)
        return compare(self.sets, a, b, self.threshold);
    const std::uint32_t equal = task.given ? compare_whole(self, a, b) : *kept;
    return equal >= self.least_equal ? std::optional(similarity_of(task.scheme, equal)) : std::nullopt;
}

bool is_same(verifier& self, std::uint32_t a, std::uint32_t b)
{
    row_set& rows = *self.rows;
    if (!in_one_scope(rows, a, b))
        return false;
    self.first_slots = no_row; // slots[0] will be overwritten
    const auto differ = [&](std::size_t bytes, auto&& fetch_part) {
        return bytes > 0 &&
               std::memcmp(fetch_part(rows, a, self.slots[0]), fetch_part(rows, b, self.slots[1]), bytes) != 0;
    };
    if (differ(start_bytes(rows), fetch_start) || differ(rest_bytes(rows), fetch_rest))
        return false;
    if (rows.task.given)
        return compare_whole(self, a, b) == rows.task.scheme.num_hashes;
    return !rows.task.exact || have_same_text(self, a, b) || compare(self.sets, a, b, 1).has_value();
}

} // namespace minhash::bulk
