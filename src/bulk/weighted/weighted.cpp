// The process that makes the call: it divides the work into passes of counting and parts of the index, and finds equal
// rows.
#include "bulk/components/union_find.h"
#include "bulk/search/cluster_emitter.h"
#include "bulk/tuning/choose_bands.h"
#include "bulk/weighted/part.h"
#include "bulk/weighted/weighted.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

namespace minhash::bulk {

namespace {

constexpr std::uint64_t all_halves = std::uint64_t{1} << 32; // how many upper halves keys can have

struct weighted_search {
    weighted_part part;
    byte_store** rare; // for each member, the store of its rows' rare shingles
    growing<std::uint32_t> ids;
    pairs_of_parts found;
};

void count_scopes(row_set& rows, shared_weights& shared)
{
    host& owner = *rows.owner;
    std::uint32_t* const of_row = allocate_shared<std::uint32_t>(owner, shared.scope_rows, rows.count);
    std::uint32_t* const scopes = allocate<std::uint32_t>(owner, rows.count); // the scope with each number
    std::uint32_t* const counts = allocate<std::uint32_t>(owner, rows.count);
    numbering numbers = start_numbering(owner);
    for (std::uint32_t row = 0; row < rows.count; row++) {
        pause(owner);
        const std::uint32_t scope = rows.scopes.values[row];
        const std::uint32_t before = numbers.count;
        const auto hash = static_cast<std::uint32_t>(first_cell(scope) >> 32);
        const std::uint32_t number =
            number_of(numbers, hash, [&](std::uint32_t known) { return scopes[known] == scope; });
        if (number == before) {
            scopes[number] = scope;
            counts[number] = 0;
        }
        counts[number]++;
        of_row[row] = number;
    }
    for (std::uint32_t row = 0; row < rows.count; row++)
        of_row[row] = counts[of_row[row]];
    release(owner, numbers.entries);
    release(owner, counts);
    release(owner, scopes);
}

shared_weights& share_search(row_set& rows, bool crossing)
{
    host& owner = *rows.owner;
    start_search(rows);
    shared_weights& shared = *allocate_shared<shared_weights>(owner, shared_of(rows).by_itself);
    shared.missed = rows.task.recall < 1 ? 1 - recall_to_expect(rows.task.recall) : 0;
    shared.crossing = crossing;
    shared.secret = probing;
    allocate_shared<known_row>(owner, shared.known_rows, rows.count);
    allocate_shared<double>(owner, shared.norms, rows.count);
    allocate_shared<std::uint64_t>(owner, shared.digests, rows.count);
    allocate_shared<std::uint32_t>(owner, shared.order, rows.count);
    if (rows.task.scoped)
        count_scopes(rows, shared);
    rows.leader = allocate_shared<std::uint32_t>(owner, shared_of(rows).leader, rows.count);
    return shared;
}

// Counts all shingles, range by range, and makes the lists of rows.
void make_lists(row_set& rows, shared_weights& shared)
{
    host& owner = *rows.owner;
    shared.range = {0, 32};
    std::uint64_t ids = 0;
    do {
        shared.first_id = static_cast<std::uint32_t>(ids);
        count_range(rows, shared);
        ids += shared.known;
        if (ids > std::numeric_limits<std::uint32_t>::max())
            owner.fail_too_many_shingles(owner, std::numeric_limits<std::uint32_t>::max());
        const std::uint64_t next = shared.range.from + (std::uint64_t{1} << shared.range.bits);
        shared.last = next == all_halves;
        shared.earlier = shared.lists;
        expect_stores(rows, shared.lists);
        if (shared.last)
            expect_stores(rows, shared.rare);
        do_step(rows, make_lists_of_units);
        free_left(rows, shared.counted);
        free_left(rows, shared.earlier);
        shared.range.from = next;
    } while (!shared.last);
    rows.budget->used -= table_bytes(shared);
    owner.release_shared(owner, shared.table);
    shared.table = 0;
}

bool are_equal(weighted_search& self, std::uint32_t a, std::uint32_t b, growing<listed_shingle>& buffer)
{
    weighted_part& part = self.part;
    const row_set& rows = *part.rows;
    if (part.digests[a] != part.digests[b] || part.known[a].list_size != part.known[b].list_size ||
        (part.shared->crossing && (a < rows.first_count) != (b < rows.first_count)))
        return false;
    const auto of_a = fetch_list(part, a, buffer);
    growing<listed_shingle> other = {};
    const auto of_b = fetch_list(part, b, other);
    const bool equal = std::equal(of_a.begin(), of_a.end(), of_b.begin());
    release(*rows.owner, other.values);
    return equal;
}

// If several rows of one query have the same shingles, makes the first of them the leader of all. (A row with a shingle
// of its own equals no other row. Rows of different scopes have different shingles.)
void find_same(weighted_search& self)
{
    weighted_part& part = self.part;
    row_set& rows = *part.rows;
    growing<listed_shingle> buffer = {};
    const auto is_alone = [&part, &rows](std::uint32_t row) {
        report(*rows.owner, "looking for rows that are the same", row, rows.count);
        return part.known[row].singles > 0;
    };
    find_leaders(rows, rows.count, part.digests, is_alone, [&](std::uint32_t a, std::uint32_t b) {
        return are_equal(self, a, b, buffer);
    });
    release(*rows.owner, buffer.values);
    link_same(rows);
}

// Lists rows by ascending norm, then by digest and row number.
void order_by_norm(const weighted_part& part)
{
    const row_set& rows = *part.rows;
    std::iota(part.order, part.order + rows.count, 0);
    sort_values(*rows.owner, part.order, rows.count, [&part](std::uint32_t a, std::uint32_t b) {
        if (part.norms[a] != part.norms[b])
            return part.norms[a] < part.norms[b];
        return part.digests[a] != part.digests[b] ? part.digests[a] < part.digests[b] : a < b;
    });
}

// What is indexed of the row at a position.
rare_plan plan_at(const weighted_search& self, std::uint32_t position)
{
    const weighted_part& part = self.part;
    const std::uint32_t row = part.order[position];
    return part.rows->leader[row] == row ? part.known[row].plan : rare_plan{};
}

// Chooses the rows of the next part of the index: from position `from` on, as many as fit into `room` bytes, but at
// least one.
rare_index_dimensions dimensions_from(const weighted_search& self, std::uint32_t from, std::size_t room)
{
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    const row_set& rows = *self.part.rows;
    rare_index_dimensions dimensions = {0, self.part.shared->crossing ? 2U : 1U, 0, 0};
    while (from + dimensions.rows < rows.count && dimensions.rows < most_ordinals) {
        pause(*rows.owner);
        const rare_plan plan = plan_at(self, from + dimensions.rows);
        rare_index_dimensions next = dimensions;
        next.rows++;
        next.ids += plan.count;
        next.drawn += plan.first == 0 ? plan.count : 0;
        if (dimensions.rows > 0 && (next.ids > most || index_bytes(next) > room))
            break;
        dimensions = next;
    }
    return dimensions;
}

// Calls take(ordinal, row, id, kind) for all ids of the rows of the current part of the index, in the order of ordinals
// or the other way round.
template <typename Take>
void each_id(weighted_search& self, bool ascending, Take&& take)
{
    const weighted_part& part = self.part;
    host& owner = *part.rows->owner;
    const shared_weights& shared = *part.shared;
    for (std::uint32_t done = 0; done < shared.dimensions.rows; done++) {
        report(owner, "making the index of rare shingles", shared.first + done, part.rows->count);
        const std::uint32_t ordinal = ascending ? done : shared.dimensions.rows - done - 1;
        const std::uint32_t row = part.order[shared.first + ordinal];
        const rare_plan plan = plan_at(self, shared.first + ordinal);
        std::uint32_t number = 0;
        for (const std::uint32_t id : fetch_values(self.rare, part.known[row].rare_at, plan.count, self.ids, owner))
            take(ordinal, row, id, kind_of(plan, number++));
    }
}

// Makes the part of the index that begins at position `from`. If there is not enough shared memory, the part is made
// smaller.
void index_rows(weighted_search& self, std::uint32_t from)
{
    weighted_part& part = self.part;
    row_set& rows = *part.rows;
    host& owner = *rows.owner;
    shared_weights& shared = *part.shared;
    shared.first = from;
    shared.index = 0;
    for (std::size_t room = std::max<std::size_t>(rows.budget->limit / 4, 4096); shared.index == 0; room /= 2) {
        shared.dimensions = dimensions_from(self, from, room);
        shared.index = owner.allocate_shared(owner, index_bytes(shared.dimensions), shared.dimensions.rows == 1);
    }
    index_of_rare index = open_index(find_shared<char>(rows, shared.index), shared.dimensions);
    const std::size_t buckets = (index.mask + 1) * shared.dimensions.sides;
    const auto bucket_for = [&](std::uint32_t row, std::uint32_t id) {
        return bucket_of(index, id, shared.crossing && row >= rows.first_count ? 1 : 0);
    };
    clear(owner, index.starts, buckets + 1);
    for (std::uint32_t ordinal = 0; ordinal < shared.dimensions.rows; ordinal++) {
        const std::uint32_t row = part.order[from + ordinal];
        const std::uint32_t draws = part.known[row].plan.least;
        index.needed[ordinal] = draws > 0 ? -static_cast<float>(draws) : static_cast<float>(std::sqrt(part.norms[row]));
    }
    clear(owner, index.filter, (index.filter_mask + 1) / 64);
    each_id(self, true, [&](std::uint32_t, std::uint32_t row, std::uint32_t id, rare_kind) {
        index.starts[bucket_for(row, id)]++;
        add_to_filter(index, id);
    });
    // Turn each count into the end of its bucket. Filling the buckets then moves each end down to the bucket's start.
    std::uint32_t end = 0;
    for (std::size_t i = 0; i <= buckets; i++) {
        if (i % 65536 == 0)
            pause(owner);
        end += index.starts[i];
        index.starts[i] = end;
    }
    assert(end == shared.dimensions.ids);
    for (const rare_kind wanted : {rare_kind::further, rare_kind::drawn, rare_kind::first})
        each_id(self,
                wanted == rare_kind::further,
                [&](std::uint32_t ordinal, std::uint32_t row, std::uint32_t id, rare_kind kind) {
                    if (kind == wanted)
                        index.postings[--index.starts[bucket_for(row, id)]] = make_posting(kind, ordinal);
                });
}

// Calls take(pair) for each pair of leaders that was found.
template <typename Take>
void each_near(weighted_search& self, Take&& take)
{
    for (std::size_t i = 0; i < self.found.count; i++) {
        byte_store& store = *self.found.stores.values[i];
        each_piece<found_pair>(store, 0, store.size, [&take](std::span<const found_pair> pairs) {
            for (const found_pair& pair : pairs)
                take(pair);
        });
    }
}

// Finds the near pairs of leaders.
weighted_search search(row_set& rows, bool crossing, bool for_clusters)
{
    host& owner = *rows.owner;
    start_steps(rows);
    shared_weights& shared = share_search(rows, crossing);
    make_lists(rows, shared);
    weighted_search self = {};
    self.part = start_part(rows, shared);
    self.part.lists = open_left(rows, shared.lists);
    self.rare = open_left(rows, shared.rare);
    find_same(self);
    order_by_norm(self.part);
    if (for_clusters) {
        const std::span parent(allocate_shared<std::uint32_t>(owner, rows.search->parent, rows.count), rows.count);
        start_components(parent);
    }
    for (std::uint32_t from = 0; from < rows.count; from += shared.dimensions.rows) {
        index_rows(self, from);
        const std::size_t bytes = index_bytes(shared.dimensions);
        look_up_in_part(rows, self.found, rows.count - from, look_up_rare_units, shared.index, bytes);
    }
    end_steps(rows);
    return self;
}

} // namespace

void find_weighted_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    weighted_search self = search(rows, crossing, false);
    for (std::uint32_t leader = 0; leader < rows.count && !crossing; leader++)
        if (rows.leader[leader] == leader)
            for (std::uint32_t a = leader; a != no_row; a = rows.next[a])
                for (std::uint32_t b = rows.next[a]; b != no_row; b = rows.next[b])
                    emit_pair(rows, emit, {a, b, 1});
    each_near(self, [&](const found_pair& pair) {
        const auto [left, right] = std::minmax(pair.left, pair.right);
        for (std::uint32_t a = left; a != no_row; a = rows.next[a])
            for (std::uint32_t b = right; b != no_row; b = rows.next[b])
                emit_pair(rows, emit, {a, b, pair.similarity});
    });
}

namespace {

// What comparing two rows needs while clusters are emitted.
struct list_comparison {
    weighted_search* search;
    double least; // 0: all rows of a component are compared
    growing<listed_shingle> list;
    growing<listed_shingle> other;
};

std::optional<double> compare_lists(void* with, std::uint32_t a, std::uint32_t b)
{
    list_comparison& self = *static_cast<list_comparison*>(with);
    const weighted_part& part = self.search->part;
    const std::optional<double> found =
        similarity_of(part, a, fetch_list(part, a, self.list), b, fetch_list(part, b, self.other), self.least);
    return found || self.least > 0 ? found : std::optional<double>(0);
}

} // namespace

void find_weighted_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to)
{
    weighted_search self = search(rows, false, true);
    list_comparison comparison = {&self, options.near_representative ? rows.task.threshold : 0, {}, {}};
    cluster_emitter emitter = {};
    emitter.rows = &rows;
    emitter.options = options;
    emitter.to = to;
    emitter.compare = compare_lists;
    emitter.with = &comparison;
    start_emitter(emitter);
    each_near(self, [&](const found_pair& pair) {
        const auto [left, right] = std::minmax(pair.left, pair.right);
        note_similarity(emitter, {left, right, pair.similarity});
    });
    emit_components(emitter);
}

} // namespace minhash::bulk
