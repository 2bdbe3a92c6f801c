// Collects candidates from all bands by the row that verifies them. While the buckets of a band are visited, their
// candidates are written to stores, one for each range of rows. Afterwards each range is sorted, and each row gets its
// candidates from all bands at once. So signatures are read nearly in order, and two rows are verified once, however
// many buckets they share.
//
// A small bucket is written as pairs, and a large one only as a reference to the bucket, so that memory grows with the
// number of rows and not of pairs.
//
// Each process writes the candidates that it finds to its own stores, one for each range and one for large buckets, and
// leaves them to all. Verifying then takes ranges as its units of work.
#pragma once

#include "bulk/search/candidates.h"

namespace minhash::bulk {

// For reading what all processes have collected, range by range.
struct row_candidates {
    row_set* rows;
    byte_store** large_buckets; // the store of each member
    byte_store** large_rows;
    std::uint32_t* met;             // for each row, the last row that had it as a candidate
    growing<std::uint32_t> buckets; // a row's large buckets, at most one of each band
    growing<std::uint32_t> others;
    std::uint64_t* starts;
    std::uint64_t* collected; // how many candidates come before each range; the last entry counts all of them
};

// The most rows that a bucket may have to be written as pairs without comparing signatures.
constexpr std::size_t small_bucket = 32;

// In buckets of these sizes, only pairs whose signatures start similarly are written. This pays off, because such a
// bucket has far fewer signatures than pairs, and its signatures fit into the processor's cache.
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

// Calls visit(self, row, others, buckets) for each row of a range that has candidates, in row order. `others` are the
// row's candidates, sorted and without duplicates; visit() may change this array. `buckets` are the numbers of the
// row's large buckets. At the end, what was collected for the range is freed.
void each_row(row_candidates& all, std::uint32_t range, void* self, row_visitor visit);

// Whether a leader represents rows of the first query (is_left()), or of the second one (is_right()).
inline bool is_left(const row_set& rows, std::uint32_t row) { return rows.rights == nullptr || row < rows.first_count; }

inline bool is_right(const row_set& rows, std::uint32_t row)
{
    return rows.rights == nullptr || rows.rights[row] != no_row;
}

// Whether a left row verifies a right row. If each of the two could verify the other, only the lower one does.
inline bool verifies(const row_set& rows, std::uint32_t left, std::uint32_t right)
{
    return left < right || (left > right && !(is_right(rows, left) && is_left(rows, right)));
}

// Where the rows of a large bucket are stored. The bucket n of member m has the number n * p + m, where p is the number
// of processes.
struct large_bucket {
    std::uint64_t offset;
    std::uint32_t count; // how many rows
};

// Calls take(rows) for the rows of a large bucket, in their order and piece by piece.
template <typename Take>
void each_part(row_candidates& all, std::uint32_t number, Take&& take)
{
    const std::uint32_t processes = all.rows->shared->processes;
    const std::uint32_t member = number % processes;
    const auto at = fetch_value<large_bucket>(*all.large_buckets[member], number / processes);
    each_piece<std::uint32_t>(*all.large_rows[member],
                              at.offset,
                              at.offset + at.count * std::uint64_t{sizeof(std::uint32_t)},
                              take);
}

// A row is prefetched this many candidates before it is verified.
constexpr std::size_t fetched_ahead = 4;

// Calls take(other, similarity) for those of the others that are near the row, except if skip(other). Signatures are
// prefetched and compared first. In exact tasks, the sets of the rows that may be near are compared afterwards.
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
        if (const auto similarity = compare(check.sets, row, others[i], check.least, true))
            take(others[i], *similarity);
    }
}

} // namespace minhash::bulk
