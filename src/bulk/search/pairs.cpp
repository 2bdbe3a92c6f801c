#include "bulk/search/found_pairs.h"
#include "bulk/search/pairs.h"
#include "bulk/search/row_candidates.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

constexpr std::size_t most_emitted = 512; // pairs at once

struct pair_finder {
    row_set* rows;
    host* owner;
    pair_sink emit;
    found_pair* found; // not emitted yet
    std::size_t found_count;

    twins same;
    std::uint32_t* rights; // across two queries, the first row of the second one among each
                           // leader's rows, or no_row; else null
};

void emit_found(pair_finder& finder)
{
    finder.emit(*finder.owner, {finder.found, finder.found_count});
    finder.found_count = 0;
}

void add_found(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    assert(left != right && similarity >= finder.rows->task.threshold);
    finder.found[finder.found_count++] = {left, right, similarity};
    if (finder.found_count == most_emitted) {
        pause(*finder.owner);
        emit_found(finder);
    }
}

// Adds the pairs of one leader's rows of the first query with another leader's rows of the second. (A leader's rows of
// the first query come before those of the second.)
void add_across(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    assert(finder.rights != nullptr && finder.same.leader[left] == left);
    const std::uint32_t first = finder.rights[right];
    if (first == no_row)
        return;
    for (std::uint32_t a = left; a < finder.rows->first_count; a = finder.same.next[a])
        for (std::uint32_t b = first; b != no_row; b = finder.same.next[b])
            add_found(finder, a, b, similarity);
}

void add_all(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    for (std::uint32_t a = left; a != no_row; a = finder.same.next[a])
        for (std::uint32_t b = right; b != no_row; b = finder.same.next[b])
            add_found(finder, a, b, similarity);
}

// Adds the pairs among the rows that a leader stands for.
void add_twins(pair_finder& finder, std::uint32_t leader)
{
    if (finder.rights != nullptr) {
        add_across(finder, leader, leader, 1);
        return;
    }
    for (std::uint32_t a = leader; a != no_row; a = finder.same.next[a])
        for (std::uint32_t b = finder.same.next[a]; b != no_row; b = finder.same.next[b])
            add_found(finder, a, b, 1);
}

void add_near(pair_finder& finder, const found_pair& near)
{
    const auto [a, b, similarity] = near;
    if (finder.rights == nullptr) {
        add_all(finder, a, b, similarity);
    } else {
        add_across(finder, a, b, similarity);
        add_across(finder, b, a, similarity);
    }
}

// The state of a process while it verifies.
struct pair_verifier {
    row_candidates candidates;
    verifier check;
    found_pairs found;
    growing<found_pair> of_row; // of the current row
    std::size_t count;
};

void add_near(pair_verifier& self, std::uint32_t row, std::uint32_t other, double similarity)
{
    assert(row != other);
    grow(*self.check.rows->owner, self.of_row, self.count, self.count + 1);
    self.of_row.values[self.count++] = {row, other, similarity};
}

void verify_bucket(pair_verifier& self, std::uint32_t row, std::uint32_t number)
{
    row_candidates& candidates = self.candidates;
    std::uint32_t* const met = candidates.met;
    each_piece(candidates, number, [&](std::span<const std::uint32_t> rows) {
        // Within one query, a row verifies only rows after it. `rows` is sorted.
        const auto after =
            candidates.rights == nullptr ? std::upper_bound(rows.begin(), rows.end(), row) : rows.begin();
        rows = rows.subspan(static_cast<std::size_t>(after - rows.begin()));
        for (std::size_t i = 0; i < rows.size(); i++) {
            if (i + fetched_ahead < rows.size() && met[rows[i + fetched_ahead]] != row)
                prefetch(self.check, rows[i + fetched_ahead]);
            if (!verifies(candidates, row, rows[i]) || met[rows[i]] == row)
                continue;
            met[rows[i]] = row;
            pause(*candidates.owner);
            if (const auto similarity = verify(self.check, row, rows[i]))
                add_near(self, row, rows[i], *similarity);
        }
    });
}

// Verifies a row's candidates, and adds its pairs in the order of the other rows.
void verify_candidates(void* of,
                       std::uint32_t row,
                       std::span<std::uint32_t> others,
                       std::span<const std::uint32_t> buckets)
{
    pair_verifier& self = *static_cast<pair_verifier*>(of);
    self.count = 0;
    verify_row(
        self.check,
        row,
        others,
        [](std::uint32_t) { return false; },
        [&](std::uint32_t other, double similarity) { add_near(self, row, other, similarity); });
    for (const std::uint32_t bucket : buckets)
        verify_bucket(self, row, bucket);
    if (!buckets.empty())
        std::sort(self.of_row.values, self.of_row.values + self.count, [](const found_pair& a, const found_pair& b) {
            return a.right < b.right;
        });
    for (std::size_t i = 0; i < self.count; i++)
        add_pair(self.found, self.of_row.values[i]);
}

void find_rights(pair_finder& finder, shared_number& number)
{
    const row_set& rows = *finder.rows;
    assert(rows.first_count <= rows.count);
    finder.rights = allocate_shared<std::uint32_t>(*finder.owner, number, rows.count);
    std::fill_n(finder.rights, rows.count, no_row);
    for (std::uint32_t row = rows.count; row-- > rows.first_count;)
        finder.rights[finder.same.leader[row]] = row;
}

} // namespace

void verify_units(row_set& rows)
{
    pair_verifier self = {};
    start_candidates(self.candidates, rows);
    start_verifier(self.check, rows);
    start_found(self.found, rows);
    each_range(self.found,
               [&self](std::uint32_t range) { each_row(self.candidates, range, &self, verify_candidates); });
    end_found(self.found);
    end_verifier(self.check);
    end_candidates(self.candidates);
    release(*rows.owner, self.of_row.values);
}

std::uint64_t find_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    pair_finder finder = {};
    finder.rows = &rows;
    finder.owner = rows.owner;
    finder.emit = emit;
    finder.found = allocate<found_pair>(*rows.owner, most_emitted);
    start_steps(rows);
    finder.same = find_twins(rows);
    shared_number rights = 0;
    if (crossing)
        find_rights(finder, rights);
    collect_candidates(rows, false, rights);
    expect_pairs(rows);
    do_step(rows, step::verify_pairs);
    end_steps(rows);

    for (std::uint32_t row = 0; row < rows.count; row++) {
        pause(*rows.owner);
        if (finder.same.leader[row] == row && finder.same.next[row] != no_row)
            add_twins(finder, row);
    }
    each_found(rows, [&finder](const found_pair& near) { add_near(finder, near); });
    emit_found(finder);
    drop_candidates(rows);
    release(*rows.owner, finder.found);
    return rows.shared->large_buckets;
}

} // namespace minhash::bulk
