// The lists of rows: what each row has of the shingles that several rows have. Each pass of counting adds to them.
// After the last pass, the norms of rows are known, and what is indexed of each row is chosen.
#include "bulk/weighted/part.h"

#include "core/hash.h"
#include "core/sort.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace minhash::bulk {

weighted_part start_part(row_set& rows, shared_weights& shared)
{
    weighted_part made = {};
    made.rows = &rows;
    made.shared = &shared;
    made.scope_rows = find_shared<std::uint32_t>(rows, shared.scope_rows);
    made.known = find_shared<known_row>(rows, shared.known_rows);
    made.norms = find_shared<double>(rows, shared.norms);
    made.digests = find_shared<std::uint64_t>(rows, shared.digests);
    made.order = find_shared<std::uint32_t>(rows, shared.order);
    made.weights = allocate<known_weight>(*rows.owner, kept_weights);
    std::fill_n(made.weights, kept_weights, known_weight{});
    made.set.owner = rows.owner;
    return made;
}

std::size_t read_keys(weighted_part& self, std::uint32_t row)
{
    const row_set& rows = *self.rows;
    host& owner = *rows.owner;
    read_text(*rows.signer, fetch_document(*self.rows, row, self.text), self.set);
    const std::span<const std::uint64_t> elements = self.set.elements();
    assert(self.set.count > 0 && self.set.count == elements.size());
    grow(owner, self.keys, 0, elements.size());
    const std::uint64_t salt = salt_of(rows, row);
    const counted_range range = self.shared->range;
    std::uint64_t* const keys = self.keys.values;
    std::size_t count = 0;
    for (const std::uint64_t element : elements) {
        const std::uint64_t salted = element ^ salt;
        const std::uint64_t key = salted + (salted == 0);
        keys[count] = key;
        count += is_in(range, key);
    }
    return count;
}

std::optional<double> similarity_of(const weighted_part& self,
                                    std::uint32_t a,
                                    std::span<const listed_shingle> of_a,
                                    std::uint32_t b,
                                    std::span<const listed_shingle> of_b,
                                    double least)
{
    // The rarest shingles come first, so rows that are not near soon miss too much weight of each other.
    constexpr double rounding = 1 + 1e-9;
    const double norms = std::sqrt(self.norms[a] * self.norms[b]);
    const std::uint32_t rows = scope_rows_of(self, a);
    const double most_missing = self.norms[b] * rounding - least * norms;
    double missing = self.known[b].singles * square_of_weight(self, rows, 1);
    double shared = 0;
    const listed_shingle* const end = of_a.data() + of_a.size();
    const listed_shingle* at = of_a.data();
    for (const listed_shingle shingle : of_b) {
        while (at < end && *at < shingle)
            at++;
        const double square = square_of_weight(self, rows, frequency_of(shingle));
        if (at < end && *at == shingle)
            shared += square;
        else if ((missing += square) > most_missing && least > 0)
            return std::nullopt;
    }
    if (shared <= 0)
        return std::nullopt;
    const double similarity = std::min(shared / norms, 1.0);
    return similarity >= least ? std::optional(similarity) : std::nullopt;
}

namespace {

constexpr std::uint32_t rows_at_once = 64;

// The state of a process while it makes lists.
struct list_maker : weighted_part {
    const listed_shingle* by_number;
    byte_store** counted;
    byte_store** earlier;
    byte_store* made;
    byte_store* rare;
    growing<listed_shingle> list;
    growing<listed_shingle> before;
    growing<std::uint32_t> numbers;
    rare_choice choice;
};

// Appends to self.list the row's shingles that belong to this pass, and returns how many the list then has.
std::size_t add_shingles(list_maker& self, std::uint32_t row, std::size_t listed)
{
    constexpr std::size_t fetched_ahead = 16;
    constexpr std::size_t at_once = 4096;
    host& owner = *self.rows->owner;
    const std::uint64_t at = self.known[row].counted_at;
    const std::size_t count = fetch_values(self.counted, at, 1, self.numbers, owner)[0];
    const auto numbers = fetch_values(self.counted, at + sizeof(std::uint32_t), count, self.numbers, owner);
    const listed_shingle* const by_number = self.by_number;
    grow(owner, self.list, listed, listed + count);
    listed_shingle* const list = self.list.values;
    const std::size_t before = listed;
    for (std::size_t from = 0; from < count; from += at_once) {
        pause(owner);
        const std::size_t end = std::min(count, from + at_once);
        for (std::size_t i = from; i < end; i++) {
            if (i + fetched_ahead < count)
                __builtin_prefetch(&by_number[numbers[i + fetched_ahead]]);
            const listed_shingle shingle = by_number[numbers[i]];
            list[listed] = shingle;
            listed += shingle != 0;
        }
    }
    self.known[row].singles += static_cast<std::uint32_t>(count - (listed - before));
    return listed;
}

// Sorts self.list. (By radix, a list of 1,000 takes a fifth of the time of std::sort().)
void sort_list(list_maker& self, std::size_t listed)
{
    host& owner = *self.rows->owner;
    grow(owner, self.before, 0, listed);
    if (radix_sort<0>(self.list.values, self.before.values, listed, [&] { pause(owner); }) != self.list.values)
        std::swap(self.list, self.before);
}

// Records the norm of a row and its digest, and chooses what is indexed of it.
void finish_row(list_maker& self, std::uint32_t row, std::size_t listed)
{
    host& owner = *self.rows->owner;
    const std::uint32_t rows = scope_rows_of(self, row);
    known_row& known = self.known[row];
    const double of_singles = known.singles * square_of_weight(self, rows, 1);
    const std::span<const listed_shingle> list(self.list.values, listed);
    grow(owner, self.choice.sums, 0, listed);
    double norm = of_singles; // always summed in this order, so that equal sets have equal norms
    double sum = 0;
    std::uint64_t digest = known.singles;
    for (std::size_t i = 0; i < listed; i++) {
        const double square = square_of_weight(self, rows, frequency_of(list[i]));
        norm += square;
        sum += square;
        self.choice.sums.values[i] = sum;
        digest += fmix64(id_of(list[i]) + std::uint64_t{1});
    }
    self.norms[row] = norm;
    self.digests[row] = digest;
    known.plan =
        choose_rarest(self.choice, owner, list, {self.rows->task.threshold, self.shared->missed, norm, digest});
    known.rare_at = offset_in_stores(self.rows->member, self.rare->size);
    append(*self.rare, self.choice.ids.values, known.plan.count * sizeof(std::uint32_t));
}

} // namespace

void make_lists_of_units(row_set& rows)
{
    list_maker self = {};
    static_cast<weighted_part&>(self) = start_part(rows);
    const shared_weights& shared = *self.shared;
    self.by_number = by_number_of(shared, find_shared<frequency>(rows, shared.table));
    self.counted = open_left(rows, shared.counted);
    if (shared.earlier != 0)
        self.earlier = open_left(rows, shared.earlier);
    self.made = open_shared_store(*rows.budget, chunk_for(*rows.budget, 2, found_chunk));
    if (shared.last)
        self.rare = open_shared_store(*rows.budget, chunk_for(*rows.budget, 2, found_chunk));
    each_unit(rows, "weighing shingles", rows.count, rows_at_once, [&](auto row, auto end) {
        for (; row < end; row++) {
            known_row& known = self.known[row];
            std::size_t listed = 0;
            if (self.earlier != nullptr) {
                const auto before =
                    fetch_values(self.earlier, known.list_at, known.list_size, self.before, *rows.owner);
                listed = before.size();
                grow(*rows.owner, self.list, 0, listed);
                std::copy(before.begin(), before.end(), self.list.values);
            }
            listed = add_shingles(self, row, listed);
            if (shared.last) {
                sort_list(self, listed);
                finish_row(self, row, listed);
            }
            known.list_at = offset_in_stores(rows.member, self.made->size);
            known.list_size = static_cast<std::uint32_t>(listed);
            append(*self.made, self.list.values, listed * sizeof(listed_shingle));
        }
    });
    leave_store(rows, self.made, shared.lists);
    if (shared.last)
        leave_store(rows, self.rare, shared.rare);
}

} // namespace minhash::bulk
