#include "bulk/components/numbering.h"
#include "bulk/containment/containment.h"
#include "bulk/containment/witnesses.h"
#include "bulk/rows/steps.h"
#include "bulk/tuning/choose_bands.h"

#include "core/overlap.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace minhash::bulk {

namespace {

// A search for rows that lie within others. Rows are known by their positions in `order`, in which
// a row comes after all that may contain it, unless there are two queries.
struct search {
    row_set* rows;
    host* owner;
    double missed; // share of pairs that may be
    std::uint32_t* order;
    bool crossing;
    growing<std::uint8_t> text;

    witness_index index;
    std::uint32_t first;   // position of the index's first row
    std::uint8_t* missing; // of each of its rows, how many witnesses the row
                           // in hand needs yet
    growing<std::span<const std::uint32_t>> having; // places that have its witnesses
    growing<std::uint32_t> enough;                  // places of rows with enough

    std::uint32_t in_hand; // a row, or no_row
    distinct_elements set;
    growing<std::uint32_t> times; // for each number of its elements, when it was met last
    std::size_t timed;
    std::uint32_t time;
};

std::uint64_t salt_of(const row_set& rows, std::uint32_t row)
{
    return rows.task.scoped ? (rows.scopes.values[row] + std::uint64_t{1}) * 0x9E3779B97F4A7C15 : 0;
}

// Takes a row in hand.
void read_row(search& self, std::uint32_t row)
{
    if (self.in_hand == row)
        return;
    self.in_hand = no_row;
    read_text(*self.rows->signer, fetch_document(*self.rows, row, self.text), self.set);
    self.in_hand = row;
    assert(self.set.count == set_size(*self.rows, row));
}

// A new time, at which no element has been met.
void start_time(search& self)
{
    if (self.timed <= self.set.count) {
        grow(*self.owner, self.times, 0, self.set.count + 1);
        self.timed = self.times.room;
        self.time = 0;
    }
    if (++self.time > 1)
        return;
    for (std::size_t i = 0; i < self.timed; i++) {
        if (i % 65536 == 0)
            pause(*self.owner);
        self.times.values[i] = 0;
    }
    self.time = 1;
}

// How many distinct shingles a row shares with the one in hand.
std::uint64_t count_shared(search& self, std::uint32_t row)
{
    start_time(self);
    const searched_elements in(self.set);
    std::uint32_t* const times = self.times.values;
    std::uint64_t shared = 0;
    each_batch(*self.rows->signer,
               fetch_document(*self.rows, row, self.text),
               [&](const shingle_batch& batch) {
                   for (std::size_t i = 0; i < batch.count; i++) {
                       const std::uint32_t number = in.entry(element_of(batch.lo[i], batch.hi[i]));
                       shared += number != 0 && times[number] != self.time;
                       times[number] = self.time;
                   }
               });
    return shared;
}

// The share of a row's shingles that the row in hand has, if it reaches the threshold.
std::optional<double> contained_share(search& self, std::uint32_t row, std::uint32_t within)
{
    const row_set& rows = *self.rows;
    const std::uint64_t size = set_size(rows, row);
    if (!in_one_scope(rows, row, within) ||
        least_contained(size, rows.task.threshold) > set_size(rows, within))
        return std::nullopt;
    const double share = containment({size, 0, count_shared(self, row)});
    return share >= rows.task.threshold ? std::optional(share) : std::nullopt;
}

// Finds the places of the index from `from` on that have witnesses in the row in hand. Returns the
// number of lists of such places.
std::size_t find_having(search& self, std::uint32_t row, std::uint32_t from)
{
    constexpr std::size_t ahead = 8;
    const witness_index& index = self.index;
    const std::uint64_t salt = salt_of(*self.rows, row);
    const std::span<const std::uint64_t> list = self.set.elements();
    std::size_t count = 0;
    grow(*self.owner, self.having, 0, list.size());
    for (std::size_t i = 0; i < list.size(); i++) {
        if (i % 4096 == 0)
            pause(*self.owner);
        if (i + ahead < list.size() && (list[i + ahead] ^ salt) <= index.most_mark)
            __builtin_prefetch(&index.entries[place_of_mark(index, list[i + ahead] ^ salt)]);
        const std::uint64_t mark = list[i] ^ salt;
        if (mark > index.most_mark)
            continue;
        const std::span<const std::uint32_t> places = places_having(index, mark);
        if (!places.empty() && places.back() >= from)
            self.having.values[count++] = places;
    }
    return count;
}

// Says of the places from `from` on that no witness has been met yet, after `met` have been.
void start_count(search& self, std::uint32_t from, std::size_t lists, std::size_t met)
{
    constexpr std::size_t copied_at_once = 64;
    const std::uint8_t* const least = self.index.least.values;
    const std::uint32_t end = self.index.places;
    if (from < end && (end - from) / copied_at_once < met) {
        std::copy(least + from, least + end, self.missing + from);
        return;
    }
    for (const auto places : std::span(self.having.values, lists))
        for (std::size_t at = places.size(); at-- > 0 && places[at] >= from;)
            self.missing[places[at]] = least[places[at]];
}

// Calls take(place) for each place of the index from `from` on that has enough witnesses in the row
// in hand.
template <typename Take>
void each_candidate(search& self, std::uint32_t row, std::uint32_t from, Take&& take)
{
    constexpr std::size_t ahead = 4;
    host& owner = *self.owner;
    const std::size_t lists = find_having(self, row, from);
    std::uint8_t* const missing = self.missing;
    std::size_t met = 0;
    std::size_t enough = 0;
    for (std::size_t i = 0; i < lists; i++) {
        pause(owner);
        if (i + ahead < lists)
            __builtin_prefetch(&self.having.values[i + ahead].back());
        const std::span<const std::uint32_t> places = self.having.values[i];
        grow(owner, self.enough, enough, enough + places.size());
        std::uint32_t* const to = self.enough.values;
        for (std::size_t at = places.size(); at-- > 0 && places[at] >= from; met++) {
            const std::uint32_t place = places[at];
            const std::uint8_t left = missing[place];
            to[enough] = place;
            assert(self.index.least.values[place] > 0);
            enough += left == 1;
            missing[place] = static_cast<std::uint8_t>(left - (left != 0));
        }
    }
    start_count(self, from, lists, met);
    for (std::size_t i = 0; i < enough; i++) {
        pause(owner);
        take(self.enough.values[i]);
    }
}

// Pairs that are emitted at once.
constexpr std::size_t most_emitted = 512;

// All pairs. Of rows that are the same, one stands for all.
struct pair_search {
    search self;
    std::uint32_t* leader; // of each row; itself for most
    std::uint32_t* next;   // the next row of the same leader, or no_row
    pair_sink emit;
    found_pair* found; // not emitted yet
    std::size_t found_count;

    bool is_leader(std::uint32_t row) const
    {
        return leader[row] == row;
    }

    void emit_found()
    {
        emit(*self.owner, {found, found_count});
        found_count = 0;
    }

    void add(std::uint32_t row, std::uint32_t within, double share)
    {
        found[found_count++] = {row, within, share};
        if (found_count == most_emitted) {
            pause(*self.owner);
            emit_found();
        }
    }

    void add_all(std::uint32_t row, std::uint32_t within, double share)
    {
        for (std::uint32_t a = row; a != no_row; a = next[a])
            for (std::uint32_t b = within; b != no_row; b = next[b])
                add(a, b, share);
    }
};

// Makes an index of the leaders from a position on, as many as fit. Returns the position after
// them.
std::uint32_t index_rows(pair_search& task, std::uint32_t from, std::uint32_t end)
{
    search& self = task.self;
    row_set& rows = *self.rows;
    start_index(self.index, *self.owner, std::max<std::size_t>(rows.budget->limit / 4, 4096));
    self.first = from;
    std::uint32_t position = from;
    for (; position < end && !(position > from && is_full(self.index)); position++) {
        report(*self.owner, "choosing witnesses of rows", position, end);
        const std::uint32_t row = self.order[position];
        if (!task.is_leader(row)) {
            skip_place(self.index);
            continue;
        }
        read_row(self, row);
        add_row(self.index,
                *rows.notes,
                self.set,
                salt_of(rows, row),
                rows.task.threshold,
                self.missed);
    }
    make_index(self.index);
    self.missing = allocate<std::uint8_t>(*self.owner, position - from);
    std::copy_n(self.index.least.values, position - from, self.missing);
    return position;
}

// Finds the pairs of leaders, once each, and adds what they stand for.
void run_search(pair_search& task)
{
    search& self = task.self;
    row_set& rows = *self.rows;
    host& owner = *self.owner;
    const std::uint32_t contained = self.crossing ? rows.first_count : rows.count;
    for (std::uint32_t from = 0; from < contained;) {
        const std::uint32_t to = index_rows(task, from, contained);
        const std::uint32_t end = self.crossing ? rows.count : to;
        for (std::uint32_t position = self.crossing ? contained : 0; position < end; position++) {
            report(owner, "looking for rows within others", position, end);
            const std::uint32_t within = self.order[position];
            if (!task.is_leader(within))
                continue;
            read_row(self, within);
            const std::uint32_t after = self.crossing || position < from ? 0 : position - from + 1;
            each_candidate(self, within, after, [&](std::uint32_t place) {
                const std::uint32_t row = self.order[from + place];
                if (const auto share = contained_share(self, row, within))
                    task.add_all(row, within, *share);
            });
        }
        release(owner, self.missing);
        end_index(self.index);
        from = to;
    }
}

// Rows by falling numbers of shingles, and then by their numbers: by the lower and then the upper
// half of the number, each time by counting.
std::uint32_t* order_by_size(const row_set& rows)
{
    constexpr std::size_t keys = 1 << 16;
    host& owner = *rows.owner;
    std::uint32_t* from = allocate<std::uint32_t>(owner, rows.count);
    std::uint32_t* to = allocate<std::uint32_t>(owner, rows.count);
    std::uint32_t* const starts = allocate<std::uint32_t>(owner, keys + 1);
    for (std::uint32_t row = 0; row < rows.count; row++)
        from[row] = row;
    for (const int shift : {0, 16}) {
        const auto key_of = [&](std::uint32_t row) {
            return ~set_size(rows, row) >> shift & 0xFFFF;
        };
        std::fill_n(starts, keys + 1, 0);
        for (std::uint32_t row = 0; row < rows.count; row++) {
            pause(owner);
            starts[key_of(row) + 1]++;
        }
        for (std::size_t key = 0; key < keys; key++)
            starts[key + 1] += starts[key];
        for (std::uint32_t i = 0; i < rows.count; i++) {
            pause(owner);
            to[starts[key_of(from[i])]++] = from[i];
        }
        std::swap(from, to);
    }
    release(owner, starts);
    release(owner, to);
    return from;
}

search start_search(row_set& rows, bool crossing)
{
    start_steps(rows);
    search fresh = {};
    fresh.rows = &rows;
    fresh.owner = rows.owner;
    fresh.missed = 1 - recall_to_expect(rows.task.recall);
    fresh.crossing = crossing;
    fresh.in_hand = no_row;
    fresh.set.owner = rows.owner;
    return fresh;
}

void end_search(search& self)
{
    host& owner = *self.owner;
    for (void* const memory : {static_cast<void*>(self.order),
                               static_cast<void*>(self.text.values),
                               static_cast<void*>(self.having.values),
                               static_cast<void*>(self.enough.values),
                               static_cast<void*>(self.times.values)})
        release(owner, memory);
    end_elements(self.set);
}

bool are_same(search& self, std::uint32_t a, std::uint32_t b)
{
    const row_set& rows = *self.rows;
    if (rows.notes->digests.values[a] != rows.notes->digests.values[b] ||
        set_size(rows, a) != set_size(rows, b) || !in_one_scope(rows, a, b) ||
        (self.crossing && (a < rows.first_count) != (b < rows.first_count)))
        return false;
    read_row(self, a);
    return count_shared(self, b) == set_size(rows, b);
}

// Finds rows that are the same, by their digests.
void find_same(pair_search& task)
{
    search& self = task.self;
    host& owner = *self.owner;
    const row_set& rows = *self.rows;
    task.leader = allocate<std::uint32_t>(owner, rows.count);
    task.next = allocate<std::uint32_t>(owner, rows.count);
    std::uint32_t* const leaders = allocate<std::uint32_t>(owner, rows.count); // by their numbers
    std::uint32_t* const last = allocate<std::uint32_t>(owner, rows.count);
    numbering numbers = start_numbering(owner);
    for (std::uint32_t row = 0; row < rows.count; row++) {
        pause(owner);
        const auto hash =
            static_cast<std::uint32_t>(place_of(rows.notes->digests.values[row]) >> 32);
        const std::uint32_t count = numbers.count;
        const std::uint32_t number = number_of(numbers, hash, [&](std::uint32_t known) {
            return are_same(self, leaders[known], row);
        });
        if (number == count) {
            leaders[number] = row;
        } else {
            task.next[last[number]] = row;
        }
        last[number] = row;
        task.leader[row] = leaders[number];
        task.next[row] = no_row;
    }
    end_numbering(numbers);
    release(owner, last);
    release(owner, leaders);
}

} // namespace

void find_contained_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    host& owner = *rows.owner;
    pair_search task = {};
    task.self = start_search(rows, crossing);
    task.emit = emit;
    task.found = allocate<found_pair>(owner, most_emitted);
    find_same(task);
    if (crossing) {
        task.self.order = allocate<std::uint32_t>(owner, rows.count);
        for (std::uint32_t row = 0; row < rows.count; row++)
            task.self.order[row] = row;
    } else {
        task.self.order = order_by_size(rows);
        for (std::uint32_t leader = 0; leader < rows.count; leader++)
            if (task.leader[leader] == leader)
                for (std::uint32_t b = leader; b != no_row; b = task.next[b])
                    for (std::uint32_t a = task.next[b]; a != no_row; a = task.next[a])
                        task.add(a, b, 1);
    }
    run_search(task);
    task.emit_found();
    end_search(task.self);
    for (void* const memory : {static_cast<void*>(task.found),
                               static_cast<void*>(task.leader),
                               static_cast<void*>(task.next)})
        release(owner, memory);
}

} // namespace minhash::bulk
