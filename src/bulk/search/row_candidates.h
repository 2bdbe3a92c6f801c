// Collects the candidates from all bands. Of two rows that share a bucket, one can become a candidate of the other,
// which is called the verifying row. While buckets are visited, candidates are written to stores, one store for each
// range of verifying rows. Afterwards each range is sorted by verifying row, so that a row gets its candidates from all
// bands at once. So signatures are read nearly in order, and two rows are verified only once, no matter how many
// buckets they share.
//
// A small bucket is written as pairs of rows. For a large bucket, only a reference to the bucket is written for each
// row, so that memory grows with the number of rows, not with the number of pairs.
//
// Each process writes the candidates that it finds to stores of its own, one for each range and two for large buckets.
// At the end of the step, all processes can read these stores. When candidates are verified, a unit of work is a range.
#pragma once

#include "bulk/search/candidates.h"

namespace minhash::bulk {

// The state of a process while it reads the candidates that all processes have collected, range by range.
struct row_candidates {
    row_set* rows;
    byte_store** large_buckets; // for each member, its store of large_bucket
    byte_store** large_rows;
    std::uint32_t* met;             // for each row, the last row that had this row as a candidate
    growing<std::uint32_t> buckets; // the current row's large buckets, at most one of each band
    growing<std::uint32_t> others;
    std::uint64_t* ends;      // for each row of the range, where its candidates end
    std::uint64_t* collected; // how many candidates come before each range; the last entry counts all of them
};

// A bucket of at most this many rows is written as all of its pairs, unless the limits below apply to the bucket.
constexpr std::size_t small_bucket = 32;

// These limits apply if can_gather(). If the number of a bucket's rows is within the limits, the starts of the rows'
// signatures are compared, and only pairs that may be near are written. This pays off, because the bucket has fewer
// signatures than pairs, and these signatures fit into the processor's cache.
constexpr std::size_t least_gathered = 8;
constexpr std::size_t most_gathered = 1024;

// Collects candidates. Call this after find_twins(): twins are left out, because their leaders represent them. For
// clusters, a bucket also counts as large if many of its pairs may be near.
void collect_candidates(row_set& rows, bool for_clusters);

// Prepares to read the collected candidates.
void start_candidates(row_candidates& all, row_set& rows);

using row_visitor = void (*)(void* self,
                             std::uint32_t row,
                             std::span<std::uint32_t> others,
                             std::span<const std::uint32_t> buckets);

// Calls visit(self, row, others, buckets) for the rows of a range, in order. Rows without candidates are skipped.
// `buckets` are the numbers of the row's large buckets. `others` are the row's candidates from all other buckets,
// sorted and without duplicates; visit() may change this array. At the end, the range's candidates are freed.
void each_row(row_candidates& all, std::uint32_t range, void* self, row_visitor visit);

// Whether a leader represents rows of the first query (is_left()), or of the second query (is_right()). If there is
// only one query, both are true.
inline bool is_left(const row_set& rows, std::uint32_t row) { return rows.rights == nullptr || row < rows.first_count; }

inline bool is_right(const row_set& rows, std::uint32_t row)
{
    return rows.rights == nullptr || rows.rights[row] != no_row;
}

// Whether a left row verifies a right row. If both rows are left and right, so that each could verify the other, only
// the row with the lower number does.
inline bool verifies(const row_set& rows, std::uint32_t left, std::uint32_t right)
{
    return left < right || (left > right && !(is_right(rows, left) && is_left(rows, right)));
}

// Where the rows of a large bucket are stored. Bucket n of member m has the number n * p + m, where p is the number of
// processes.
struct large_bucket {
    std::uint64_t offset;
    std::uint32_t count; // how many rows
};

// Calls take(rows) for the rows of a large bucket, in order and piece by piece.
template <typename Take>
void each_piece_of_bucket(row_candidates& all, std::uint32_t number, Take&& take)
{
    const std::uint32_t processes = all.rows->shared->processes;
    const std::uint32_t member = number % processes;
    const auto at = fetch_value<large_bucket>(*all.large_buckets[member], number / processes);
    each_piece<std::uint32_t>(*all.large_rows[member],
                              at.offset,
                              at.offset + at.count * std::uint64_t{sizeof(std::uint32_t)},
                              take);
}

// While a candidate is verified, the candidate this many positions later is prefetched.
constexpr std::size_t fetched_ahead = 4;

// Compares a row with each of `others`, except those for which skip(other) returns true. Calls take(other, similarity)
// for those that are near the row. Signatures are prefetched, and all of them are compared first. In exact tasks, rows
// whose signatures allow them to be near are then compared by their sets.
template <typename Skip, typename Take>
void verify_row(verifier& check, std::uint32_t row, std::span<std::uint32_t> others, Skip&& skip, Take&& take)
{
    host& owner = *check.rows->owner;
    const bool exact = check.rows->task.exact;
    std::size_t likely = 0;
    for (std::size_t i = 0; i < others.size(); i++) {
        pause(owner);
        if (i + fetched_ahead < others.size())
            prefetch(check, others[i + fetched_ahead]);
        const std::uint32_t other = others[i];
        if (skip(other))
            continue;
        if (exact) {
            if (may_be_near(check, row, other))
                others[likely++] = other;
        } else if (const auto similarity = verify(check, row, other)) {
            take(other, *similarity);
        }
    }
    for (std::size_t i = 0; i < likely; i++) {
        pause(owner);
        if (skip(others[i]))
            continue;
        if (const auto similarity = compare(check.sets, row, others[i], check.threshold))
            take(others[i], *similarity);
    }
}

} // namespace minhash::bulk
