// Candidates of all bands, by the row that verifies them. While the buckets of a band are visited,
// their candidates are written to ranges of rows. Afterwards each range is sorted, and each row
// gets all its candidates of all bands at once. So signatures are read nearly in their order, and
// two rows are verified once, however many buckets they share.
//
// Of a small bucket its pairs are written, of a large one only a reference to it. So what is
// written grows with the rows and not with the pairs.
#pragma once

#include "bulk/candidates.h"

#include <algorithm>

namespace minhash::bulk {

// How large buckets are gone through.
enum class large_buckets_for {
    rows,   // each row that verifies others has a reference to them
    caller, // no row has; and a bucket is large, too, if many of its pairs may be near
};

// Two rows of a bucket, by their places in it.
struct two_places {
    std::uint32_t a;
    std::uint32_t b;
};

struct row_candidates {
    row_set* rows;
    host* owner;
    verifier* check;
    large_buckets_for large_for;
    const std::uint32_t* rights; // across two queries, the first row of the second one among each
                                 // leader's rows, or no_row; else null

    int range_bits; // rows per range, as a power of two
    std::size_t range_count;
    byte_store** ranges;      // of candidates: the row that verifies them in the upper half
    std::uint32_t* bucket_of; // the last bucket of each row; 0: none yet
    std::uint32_t bucket_count;
    growing<std::uint32_t> before; // a bucket's rows: their buckets before it
    growing<two_places> likely;    // pairs of a bucket that may be near
    byte_store* large_buckets;
    byte_store* large_rows;
    std::uint32_t large_count;

    std::uint32_t* met;             // for each row, the last one that met it
    void* buffer;                   // a piece of large_rows
    growing<std::uint32_t> buckets; // the large ones of a row, one of each band at most
};

// Goes through all bands of a walk whose twins have been found, and ends it.
void collect_candidates(row_candidates& all,
                        bucket_walk& walk,
                        verifier& check,
                        large_buckets_for large_for,
                        const std::uint32_t* rights = nullptr);

// Calls visit(self, row, others, buckets) for each row that has candidates, in the order of rows:
// with other rows in their order, each once, and large buckets by their numbers. `others` may be
// changed. Frees what was collected but large buckets.
void each_row(row_candidates& all,
              void* self,
              void (*visit)(void* self,
                            std::uint32_t row,
                            std::span<std::uint32_t> others,
                            std::span<const std::uint32_t> buckets));

void end_candidates(row_candidates& all);

// Whether a leader has rows of the first query, and of the second one.
inline bool is_left(const row_candidates& all, std::uint32_t row)
{
    return all.rights == nullptr || row < all.rows->first_count;
}

inline bool is_right(const row_candidates& all, std::uint32_t row)
{
    return all.rights == nullptr || all.rights[row] != no_row;
}

// Whether a left row verifies a right one that it meets: of two that are both, the first does.
inline bool verifies(const row_candidates& all, std::uint32_t left, std::uint32_t right)
{
    return left < right || (left > right && !(is_right(all, left) && is_left(all, right)));
}

// Where the rows of a large bucket are.
struct large_bucket {
    std::uint64_t offset;
    std::uint32_t count; // of rows
    std::uint32_t first; // row
};

large_bucket find_bucket(row_candidates& all, std::uint32_t number);

// Calls take(rows) for the rows of a large bucket, in their order and piece by piece.
template <typename Take>
void each_piece(row_candidates& all, std::uint32_t number, Take&& take)
{
    const large_bucket at = find_bucket(all, number);
    const std::uint64_t end = at.offset + at.count * sizeof(std::uint32_t);
    for (std::uint64_t offset = at.offset; offset < end;) {
        pause(*all.owner);
        const void* piece;
        const std::size_t bytes =
            std::min<std::uint64_t>(fetch_piece(*all.large_rows, offset, all.buffer, piece),
                                    end - offset);
        take(std::span(static_cast<const std::uint32_t*>(piece), bytes / sizeof(std::uint32_t)));
        offset += bytes;
    }
}

// How many candidates before its turn a row is fetched from memory.
constexpr std::size_t fetched_ahead = 4;

// Verifies a row with others, in two steps: signatures, which are fetched ahead, and then sets,
// where texts are to be compared. Calls compare(other, likely) for those that may be near by their
// signatures, which are `likely`; of other tasks, verify(other) for all; not where skip(other) says
// so.
template <typename Skip, typename Verify, typename Compare>
void verify_row(verifier& check,
                std::uint32_t row,
                std::span<std::uint32_t> others,
                Skip&& skip,
                Verify&& verify,
                Compare&& compare)
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
        if (!exact)
            verify(other);
        else if (may_be_near(check, row, other))
            others[likely++] = other;
    }
    for (std::size_t i = 0; i < likely; i++) {
        pause(owner);
        if (!skip(others[i]))
            compare(others[i], likely);
    }
}

} // namespace minhash::bulk
