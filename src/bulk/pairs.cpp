#include "bulk/comparisons.h"
#include "bulk/pairs.h"
#include "bulk/row_candidates.h"

#include <algorithm>

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
    row_candidates candidates;

    verifier check;
    comparisons compared;
};

void emit_found(pair_finder& finder)
{
    finder.emit(*finder.owner, {finder.found, finder.found_count});
    finder.found_count = 0;
}

void add_found(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
    finder.found[finder.found_count++] = {left, right, similarity};
    if (finder.found_count == most_emitted) {
        pause(*finder.owner);
        emit_found(finder);
    }
}

// The pairs of a leader's rows of the first query with another's of the second one. (The first
// query's rows come first.)
void add_across(pair_finder& finder, std::uint32_t left, std::uint32_t right, double similarity)
{
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

// The pairs among the rows that a leader stands for.
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

void add_near(void* self, std::uint32_t a, std::uint32_t b, double similarity)
{
    pair_finder& finder = *static_cast<pair_finder*>(self);
    if (finder.rights == nullptr) {
        add_all(finder, a, b, similarity);
    } else {
        add_across(finder, a, b, similarity);
        add_across(finder, b, a, similarity);
    }
}

void verify_bucket(pair_finder& finder, std::uint32_t row, std::uint32_t number)
{
    row_candidates& candidates = finder.candidates;
    std::uint32_t* const met = candidates.met;
    each_piece(candidates, number, [&](std::span<const std::uint32_t> rows) {
        // Of one query, a row verifies those after it, and rows come in their order.
        const auto after = finder.rights == nullptr
                               ? std::upper_bound(rows.begin(), rows.end(), row)
                               : rows.begin();
        rows = rows.subspan(static_cast<std::size_t>(after - rows.begin()));
        for (std::size_t i = 0; i < rows.size(); i++) {
            if (i + fetched_ahead < rows.size() && met[rows[i + fetched_ahead]] != row)
                prefetch(finder.check, rows[i + fetched_ahead]);
            if (!verifies(candidates, row, rows[i]) || met[rows[i]] == row)
                continue;
            met[rows[i]] = row;
            pause(*finder.owner);
            verify_later(finder.compared, row, rows[i]);
        }
    });
}

void verify_candidates(void* self,
                       std::uint32_t row,
                       std::span<std::uint32_t> others,
                       std::span<const std::uint32_t> buckets)
{
    pair_finder& finder = *static_cast<pair_finder*>(self);
    verify_row(
        finder.check,
        row,
        others,
        [](std::uint32_t) { return false; },
        [&](std::uint32_t other) { verify_later(finder.compared, row, other); },
        [&](std::uint32_t other, std::size_t) { compare_later(finder.compared, row, other); });
    for (const std::uint32_t bucket : buckets)
        verify_bucket(finder, row, bucket);
}

void find_rights(pair_finder& finder)
{
    const row_set& rows = *finder.rows;
    finder.rights = allocate<std::uint32_t>(*finder.owner, rows.count);
    std::fill_n(finder.rights, rows.count, no_row);
    for (std::uint32_t row = rows.count; row-- > rows.first_count;)
        finder.rights[finder.same.leader[row]] = row;
}

void end_finder(pair_finder& finder)
{
    host& owner = *finder.owner;
    end_candidates(finder.candidates);
    end_comparisons(finder.compared);
    end_verifier(finder.check);
    for (void* const memory : {static_cast<void*>(finder.found),
                               static_cast<void*>(finder.same.leader.data()),
                               static_cast<void*>(finder.same.next.data()),
                               static_cast<void*>(finder.rights)})
        release(owner, memory);
}

} // namespace

std::uint64_t find_pairs(row_set& rows, bool crossing, pair_sink emit)
{
    pair_finder finder = {};
    finder.rows = &rows;
    finder.owner = rows.owner;
    finder.emit = emit;
    finder.found = allocate<found_pair>(*rows.owner, most_emitted);
    finish_rows(rows);
    start_verifier(finder.check, rows);
    start_comparisons(finder.compared, finder.check, &finder, add_near);

    bucket_walk walk;
    start_walk(walk, rows, "banding rows");
    finder.same = find_twins(walk, finder.check);
    if (crossing)
        find_rights(finder);
    collect_candidates(finder.candidates,
                       walk,
                       finder.check,
                       large_buckets_for::rows,
                       finder.rights);

    for (std::uint32_t row = 0; row < rows.count; row++)
        if (finder.same.leader[row] == row && finder.same.next[row] != no_row)
            add_twins(finder, row);
    each_row(finder.candidates, &finder, verify_candidates);
    finish_comparisons(finder.compared);
    emit_found(finder);
    end_finder(finder);
    return walk.large_buckets;
}

} // namespace minhash::bulk
