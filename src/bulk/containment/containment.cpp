// There are four steps: count the shingles of some rows; read each row that is to be indexed, and record its size,
// digest and witnesses; compare rows with equal digests; look up each row in the index. Sizes and digests are in arrays
// indexed by row number. Each process has a store for the witnesses that it chooses. Another array says where each
// row's witnesses are: in which store, and at which offset.
//
// If there are two queries, only rows of the first one are indexed. A step before the others marks their shingles, and
// only marked shingles are counted, in rows of the second query. Apart from these few, a row of the second query is
// only read to be looked up.
#include "bulk/containment/containment.h"
#include "bulk/containment/part.h"
#include "bulk/tuning/choose_bands.h"

#include "core/hash.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>

namespace minhash::bulk {

namespace {

constexpr std::uint32_t counted_at_once = 64;
constexpr std::uint32_t rows_at_once = 256;

// The number of plans in the cache. The lowest bits of a set's size choose the cache entry for this size.
constexpr std::size_t kept_plans = 1024;

} // namespace

containment_part start_part(row_set& rows)
{
    shared_containment& shared = *find_shared<shared_containment>(rows, shared_of(rows).by_itself);
    containment_part made = {};
    made.rows = &rows;
    made.shared = &shared;
    made.sizes = find_shared<std::uint32_t>(rows, shared.sizes);
    made.digests = find_shared<std::uint64_t>(rows, shared.digests);
    made.witness_at = find_shared<std::uint64_t>(rows, shared.witness_at);
    made.order = find_shared<std::uint32_t>(rows, shared.order);
    made.counts = {find_shared<std::uint16_t>(rows, shared.counts), shared.counters - 1};
    made.classes = {find_shared<std::uint8_t>(rows, shared.counts), shared.counters - 1};
    rows.set_sizes = made.sizes;
    made.current_row = no_row;
    made.set.owner = rows.owner;
    made.plans = allocate<size_plan>(*rows.owner, kept_plans);
    std::fill_n(made.plans, kept_plans, size_plan{});
    return made;
}

void read_row(containment_part& self, std::uint32_t row)
{
    if (self.current_row == row)
        return;
    self.current_row = no_row;
    read_text(*self.rows->signer, fetch_document(*self.rows, row, self.text), self.set);
    assert(self.set.count > 0 && self.set.listed == self.set.count);
    self.current_row = row;
}

std::uint64_t count_shared(containment_part& self, std::uint32_t row)
{
    host& owner = *self.rows->owner;
    if (self.met_by.room <= self.set.count) {
        grow(owner, self.met_by, 0, self.set.count + 1);
        clear(owner, self.met_by.values, self.met_by.room);
    }
    const searched_elements in(self.set);
    std::uint64_t* const met_by = self.met_by.values;
    const std::uint64_t pair = make_entry(self.current_row, row);
    assert(pair != 0); // the rows are different
    std::uint64_t shared = 0;
    host_signer& signer = *self.rows->signer;
    each_batch(source_of(signer, fetch_document(*self.rows, row, self.text)), [&](const shingle_batch& batch) {
        for (std::size_t i = 0; i < batch.count; i++) {
            const std::uint32_t number = in.entry(element_of(batch.lo[i], batch.hi[i]));
            shared += number != 0 && met_by[number] != pair;
            met_by[number] = pair;
        }
    });
    return shared;
}

namespace {

const size_plan& plan_for(containment_part& self, std::uint64_t size)
{
    size_plan& plan = self.plans[size % kept_plans];
    if (plan.size != size)
        plan = plan_for_size(size, self.rows->task.threshold, self.shared->missed, self.shared->couples_pool);
    return plan;
}

// Calls take(counter) for each occurrence of a shingle in a row, with the shingle's counter.
template <typename Take>
void each_counter(containment_part& self, std::uint32_t row, Take&& take)
{
    const shingle_counts counts = self.counts;
    const text_bytes text = fetch_document(*self.rows, row, self.text);
    each_batch(source_of(*self.rows->signer, text), [&](const shingle_batch& batch) {
        for (std::size_t i = 0; i < batch.count; i++)
            take(counts.of(element_of(batch.lo[i], batch.hi[i])));
    });
}

// Counts the shingles of a row, except those that need not be counted.
void count_shingles(containment_part& self, std::uint32_t row)
{
    if (self.rows->shared->processes == 1)
        each_counter(self, row, [](std::uint16_t& counter) {
            counter = static_cast<std::uint16_t>(counter + (counter != not_counted && counter < most_counts));
        });
    else
        each_counter(self, row, [](std::uint16_t& counter) {
            const std::atomic_ref shared(counter);
            if (const auto value = shared.load(std::memory_order_relaxed); value != not_counted && value < most_counts)
                shared.fetch_add(1, std::memory_order_relaxed);
        });
}

// Records the size, the digest and the witnesses of the current row. The witnesses are appended to the store.
void record_row(containment_part& self, witness_choice& choice, byte_store& store)
{
    const std::uint32_t row = self.current_row;
    std::uint64_t digest = 0;
    for (std::size_t i = 0; i < self.set.count; i++) {
        if (i % 4096 == 0)
            pause(*self.rows->owner);
        digest += fmix64(self.set.elements()[i]);
    }
    const auto size = static_cast<std::uint32_t>(self.set.count);
    self.sizes[row] = size;
    self.digests[row] = digest;
    self.witness_at[row] = offset_in_stores(self.rows->member, store.size);
    const auto tags = choose_witnesses(choice, self.classes, self.set, salt_of(*self.rows, row), plan_for(self, size));
    append(store, tags.data(), tags.size_bytes());
}

void raise(std::uint64_t& shared, std::uint64_t to)
{
    const std::atomic_ref most(shared);
    for (std::uint64_t known = most.load(std::memory_order_relaxed);
         known < to && !most.compare_exchange_weak(known, to, std::memory_order_relaxed);)
        continue;
}

bool have_same_digests(const containment_part& self, std::uint32_t a, std::uint32_t b)
{
    const row_set& rows = *self.rows;
    return self.digests[a] == self.digests[b] && self.sizes[a] == self.sizes[b] && in_one_scope(rows, a, b);
}

// The state of the search in the process that makes the call.
struct containment_search {
    containment_part part;
    byte_store** witnesses; // for each member, the store of its witnesses
    growing<std::uint32_t> tags;
    pair_sink emit;
    pairs_of_parts found;
};

bool is_leader(const containment_search& self, std::uint32_t row) { return self.part.rows->leader[row] == row; }

// If several indexed rows are equal, makes the first of them the leader of all. Rows with equal digests are compared in
// a step of their own, to make sure that the rows themselves are equal. Rows that are not indexed lead themselves.
void find_same(containment_search& self)
{
    const containment_part& part = self.part;
    row_set& rows = *part.rows;
    const auto is_alone = [](std::uint32_t) { return false; };
    find_leaders(rows, part.shared->indexed, part.digests, is_alone, [&part](std::uint32_t a, std::uint32_t b) {
        return have_same_digests(part, a, b);
    });
    do_step(rows, compare_same_of_units);
    link_same(rows);
}

// Chooses the rows of the next part of the index: from position `from` on, as many as fit into `room` bytes, but at
// least one.
index_dimensions dimensions_from(containment_search& self, std::uint32_t from, std::uint32_t end, std::size_t room)
{
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    containment_part& part = self.part;
    index_dimensions dimensions = {0, 0, 0, 0, probing};
    for (; from + dimensions.rows < end; dimensions.rows++) {
        pause(*part.rows->owner);
        const std::uint32_t row = part.order[from + dimensions.rows];
        index_dimensions next = dimensions;
        if (is_leader(self, row)) {
            const witness_plan& plan = plan_for(part, part.sizes[row]).witnesses;
            next.tags += plan.count;
            next.entries += plan.entries;
            next.couples += plan.in_couples ? plan.entries : 0;
        }
        if (dimensions.rows > 0 &&
            (next.tags > most || index_bytes(dimensions.rows + 1, next.tags, next.entries) > room))
            break;
        dimensions.tags = next.tags;
        dimensions.entries = next.entries;
        dimensions.couples = next.couples;
    }
    return dimensions;
}

// Makes the part of the index that begins at position `from`. If there is not enough shared memory, the part is made
// smaller.
void index_rows(containment_search& self, std::uint32_t from, std::uint32_t end)
{
    containment_part& part = self.part;
    host& owner = *part.rows->owner;
    row_set& rows = *part.rows;
    shared_containment& shared = *part.shared;
    shared.first = from;
    shared.index = 0;
    for (std::size_t room = std::max<std::size_t>(rows.budget->limit / 4, 4096); shared.index == 0; room /= 2) {
        shared.dimensions = dimensions_from(self, from, end, room);
        shared.index = owner.allocate_shared(
            owner,
            index_bytes(shared.dimensions.rows, shared.dimensions.tags, shared.dimensions.entries),
            shared.dimensions.rows == 1);
    }
    witness_index index = open_index(find_shared<char>(rows, shared.index), shared.dimensions);
    std::uint32_t tags = 0;
    for (std::uint32_t ordinal = 0; ordinal < shared.dimensions.rows; ordinal++) {
        report(owner, "making the index of witnesses", from + ordinal, end);
        const std::uint32_t row = part.order[from + ordinal];
        row_witnesses& note = index.notes[ordinal] = {tags, {}};
        if (is_leader(self, row)) {
            note.plan = plan_for(part, part.sizes[row]).witnesses;
            const auto mine = fetch_values(self.witnesses, part.witness_at[row], note.plan.count, self.tags, owner);
            std::copy(mine.begin(), mine.end(), index.tags + tags);
            tags += note.plan.count;
        }
        index.met[ordinal] = note.plan.met;
    }
    make_index(owner, index);
}

// If there is only one query, first emits the pairs of equal rows. Then emits the pairs that were found with the index,
// sorted by the position of the right row and then by the position of the left row. So the order does not depend on how
// the index was split into parts.
void emit_found(containment_search& self)
{
    const containment_part& part = self.part;
    const row_set& rows = *part.rows;
    for (std::uint32_t leader = 0; leader < rows.count && !part.shared->crossing; leader++)
        if (is_leader(self, leader))
            for (std::uint32_t b = leader; b != no_row; b = rows.next[b])
                for (std::uint32_t a = rows.next[b]; a != no_row; a = rows.next[a])
                    emit_pair(rows, self.emit, {a, b, 1});
    auto* const at = allocate<std::uint64_t>(*part.rows->owner, self.found.count);
    std::fill_n(at, self.found.count, 0);
    const auto next_of = [&](std::size_t of_part) -> std::optional<found_pair> {
        byte_store& store = *self.found.stores.values[of_part];
        if (at[of_part] == store.size / sizeof(found_pair))
            return std::nullopt;
        return fetch_value<found_pair>(store, at[of_part]);
    };
    for (;;) {
        pause(*part.rows->owner);
        std::optional<found_pair> first;
        std::size_t from = 0;
        for (std::size_t i = 0; i < self.found.count; i++)
            if (const auto next = next_of(i); next && (!first || next->right < first->right)) {
                first = next;
                from = i;
            }
        if (!first)
            break;
        at[from]++;
        for (std::uint32_t a = part.order[first->left]; a != no_row; a = rows.next[a])
            for (std::uint32_t b = part.order[first->right]; b != no_row; b = rows.next[b])
                emit_pair(rows, self.emit, {a, b, first->similarity});
    }
}

// At most how many shingles the rows of the first query have.
std::uint64_t most_sought_shingles(row_set& rows)
{
    std::uint64_t most = 0;
    for (std::uint32_t row = 0; row < rows.first_count; row++) {
        pause(*rows.owner);
        most += document_size(rows, row) + 1;
    }
    return most;
}

void share_search(row_set& rows, bool crossing)
{
    host& owner = *rows.owner;
    start_search(rows);
    auto* const shared = allocate_shared<shared_containment>(owner, shared_of(rows).by_itself);
    shared->missed = 1 - recall_to_expect(rows.task.recall);
    shared->crossing = crossing;
    shared->indexed = crossing ? rows.first_count : rows.count;
    shared->couples_pool = shared->indexed >= rows.task.couples_from ? rows.task.couples_pool : 0;
    const std::uint64_t sought = crossing ? most_sought_shingles(rows) : 0;
    shared->counters = crossing ? counters_for_shingles(sought) : counters_for_rows(rows.count);
    shared->marking = crossing && sought <= shared->counters; // else nearly all counters would be marked
    auto* const counts = allocate_shared<std::uint16_t>(owner, shared->counts, shared->counters);
    if (!shared->marking)
        std::fill_n(counts, shared->counters, counted_never);
    allocate_shared<std::uint32_t>(owner, shared->sizes, shared->indexed);
    allocate_shared<std::uint64_t>(owner, shared->digests, shared->indexed);
    allocate_shared<std::uint64_t>(owner, shared->witness_at, shared->indexed);
    expect_stores(rows, shared->witnesses);
    allocate_shared<std::uint32_t>(owner, shared->order, rows.count);
    rows.leader = allocate_shared<std::uint32_t>(owner, shared_of(rows).leader, rows.count);
}

} // namespace

void count_shingles_of_units(row_set& rows)
{
    containment_part self = start_part(rows);
    const std::uint32_t first_row = self.shared->crossing ? rows.first_count : 0;
    const std::uint64_t among = rows.count - first_row;
    const std::uint64_t counted = counted_of(rows.count - first_row, self.shared->crossing);
    each_unit(rows, "counting shingles", counted, counted_at_once, [&](auto first, auto end) {
        for (std::uint64_t i = first; i < end; i++)
            count_shingles(self, first_row + static_cast<std::uint32_t>(i * among / counted));
    });
}

void mark_sought_of_units(row_set& rows)
{
    containment_part self = start_part(rows);
    each_unit(rows, "marking the shingles to count", self.shared->indexed, rows_at_once, [&](auto row, auto end) {
        for (; row < end; row++)
            each_counter(self, row, [](std::uint16_t& counter) {
                std::atomic_ref(counter).store(counted_never, std::memory_order_relaxed);
            });
    });
}

void choose_witnesses_of_units(row_set& rows)
{
    containment_part self = start_part(rows);
    byte_store* const store = open_shared_store(*rows.budget, chunk_for(*rows.budget, 1, found_chunk));
    witness_choice choice = {};
    each_unit(rows, "choosing witnesses of rows", self.shared->indexed, rows_at_once, [&](auto row, auto end) {
        for (; row < end; row++) {
            read_row(self, row);
            record_row(self, choice, *store);
        }
    });
    for (const int in_couples : {0, 1})
        raise(self.shared->most_marks[in_couples], choice.most_marks[in_couples]);
    leave_store(rows, store, self.shared->witnesses);
}

void compare_same_of_units(row_set& rows)
{
    containment_part self = start_part(rows);
    const char* const phase = "looking for rows that are the same";
    each_unit(rows, phase, self.shared->indexed, rows_at_once, [&](auto row, auto end) {
        for (; row < end; row++) {
            const std::uint32_t leader = rows.leader[row];
            if (leader == row)
                continue;
            read_row(self, leader);
            if (count_shared(self, row) != self.sizes[row])
                rows.leader[row] = row;
        }
    });
}

void find_contained_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    start_steps(rows);
    share_search(rows, crossing);
    if (find_shared<shared_containment>(rows, shared_of(rows).by_itself)->marking)
        do_step(rows, mark_sought_of_units);
    do_step(rows, count_shingles_of_units);
    containment_search self = {};
    self.part = start_part(rows);
    classify(*rows.owner, self.part.counts);
    do_step(rows, choose_witnesses_of_units);
    self.emit = emit;
    shared_containment& shared = *self.part.shared;
    self.witnesses = open_left(rows, shared.witnesses);
    find_same(self);
    std::iota(self.part.order, self.part.order + rows.count, 0);
    if (!crossing)
        sort_values(*rows.owner,
                    self.part.order,
                    rows.count,
                    [sizes = self.part.sizes](std::uint32_t a, std::uint32_t b) {
                        return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
                    });
    for (std::uint32_t from = 0; from < shared.indexed; from += shared.dimensions.rows) {
        index_rows(self, from, shared.indexed);
        const std::uint32_t within = crossing ? rows.count - rows.first_count : from + shared.dimensions.rows;
        look_up_in_part(rows, self.found, within, look_up_units, shared.index);
    }
    end_steps(rows);
    emit_found(self);
}

} // namespace minhash::bulk
