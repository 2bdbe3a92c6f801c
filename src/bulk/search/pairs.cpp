#include "bulk/search/found_pairs.h"
#include "bulk/search/pairs.h"
#include "bulk/search/row_candidates.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

// Emits the pairs (a, b) such that near.left represents a, a row of the first query, and near.right represents b, a row
// of the second query. (In the list of a leader's rows, rows of the first query come first.)
void emit_across(const row_set& rows, pair_sink emit, const found_pair& near)
{
    assert(rows.leader[near.left] == near.left);
    if (rows.rights[near.right] == no_row)
        return;
    for (std::uint32_t a = near.left; a < rows.first_count; a = rows.next[a])
        for (std::uint32_t b = rows.rights[near.right]; b != no_row; b = rows.next[b])
            emit_pair(rows, emit, {a, b, near.similarity});
}

// Emits each pair of a row that near.left represents and a row that near.right represents. If the two leaders are the
// same, emits the pairs among the rows of this leader.
void emit_pair_of_twins(const row_set& rows, pair_sink emit, const found_pair& near)
{
    const auto [left, right, similarity] = near;
    assert(similarity >= rows.task.threshold);
    if (rows.rights != nullptr) {
        emit_across(rows, emit, near);
        if (left != right)
            emit_across(rows, emit, {right, left, similarity});
        return;
    }
    for (std::uint32_t a = left; a != no_row; a = rows.next[a])
        for (std::uint32_t b = left == right ? rows.next[a] : right; b != no_row; b = rows.next[b])
            emit_pair(rows, emit, {a, b, similarity});
}

// The state of a process while it verifies.
struct pair_verifier {
    row_candidates candidates;
    verifier check;
    found_pairs found;
    growing<found_pair> of_row; // the pairs of the current row
    std::size_t count;
};

void verify_bucket(pair_verifier& self, std::uint32_t row, std::uint32_t number)
{
    const row_set& all = *self.candidates.rows;
    std::uint32_t* const met = self.candidates.met;
    each_piece_of_bucket(self.candidates, number, [&](std::span<const std::uint32_t> rows) {
        // Within one query, a row is compared only with later rows. `rows` is sorted, so they are at its end.
        const auto after = all.rights == nullptr ? std::upper_bound(rows.begin(), rows.end(), row) : rows.begin();
        rows = rows.subspan(static_cast<std::size_t>(after - rows.begin()));
        for (std::size_t i = 0; i < rows.size(); i++) {
            if (i + fetched_ahead < rows.size() && met[rows[i + fetched_ahead]] != row)
                prefetch(self.check, rows[i + fetched_ahead]);
            if (!verifies(all, row, rows[i]) || met[rows[i]] == row)
                continue;
            met[rows[i]] = row;
            pause(*all.owner);
            if (const auto similarity = verify(self.check, row, rows[i]))
                add(*all.owner, self.of_row, self.count, {row, rows[i], *similarity});
        }
    });
}

// Compares a row with its candidates. Adds the near pairs, sorted by the number of the candidate.
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
        [&](std::uint32_t other, double similarity) {
            add(*self.check.rows->owner, self.of_row, self.count, {row, other, similarity});
        });
    for (const std::uint32_t bucket : buckets)
        verify_bucket(self, row, bucket);
    if (!buckets.empty())
        std::sort(self.of_row.values, self.of_row.values + self.count, [](const found_pair& a, const found_pair& b) {
            return a.right < b.right;
        });
    for (std::size_t i = 0; i < self.count; i++)
        add_pair(self.found, self.of_row.values[i]);
}

void find_rights(row_set& rows)
{
    assert(rows.first_count <= rows.count);
    rows.rights = allocate_shared<std::uint32_t>(*rows.owner, shared_of(rows).rights, rows.count);
    std::fill_n(rows.rights, rows.count, no_row);
    for (std::uint32_t row = rows.count; row-- > rows.first_count;)
        rows.rights[rows.leader[row]] = row;
}

void verify_units(row_set& rows)
{
    pair_verifier self = {};
    start_candidates(self.candidates, rows);
    start_verifier(self.check, rows);
    start_found(self.found, rows);
    each_range(self.found,
               [&self](std::uint32_t range) { each_row(self.candidates, range, &self, verify_candidates); });
    end_found(self.found);
}

// Emits the pairs of equal rows, and then the pairs that were found by verifying candidates.
void emit_pairs(row_set& rows, pair_sink emit)
{
    host& owner = *rows.owner;
    const std::uint64_t found = count_found(rows);
    for (std::uint32_t row = 0; row < rows.count; row++) {
        report(owner, "returning pairs of equal rows", row, rows.count);
        if (rows.leader[row] == row && rows.next[row] != no_row)
            emit_pair_of_twins(rows, emit, {row, row, 1});
    }
    std::uint64_t emitted = 0;
    each_found(rows, [&](const found_pair& near) {
        report(owner, "returning pairs", emitted++, found);
        emit_pair_of_twins(rows, emit, near);
    });
}

} // namespace

std::uint64_t find_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    start_steps(rows);
    find_twins(rows);
    if (crossing)
        find_rights(rows);
    collect_candidates(rows, false);
    expect_pairs(rows);
    do_step(rows, verify_units);
    end_steps(rows);
    emit_pairs(rows, emit);
    return rows.search->large_buckets;
}

} // namespace minhash::bulk
