// Compares anchors with all rows. All processes take part: a unit of work is a range of rows, looked up in the tables
// of some bands.
//
// Equal rows, anchors or not, are represented by one of them, their leader. So thousands of copies of a text are
// compared as fast as a single copy. The search for true pairs uses enough bands to reach the task's recall, which is
// nearly 1. Rows that share a band are verified as in lsh_pairs().
#pragma once

#include "bulk/evaluation/evaluation.h"
#include "bulk/rows/steps.h"

namespace minhash::bulk {

// A pair of leaders. `anchor` is the number of an anchor's leader (anchor_set::number), and `row` is the row number of
// any leader.
struct candidate {
    std::uint32_t anchor;
    std::uint32_t row;
};

struct true_pair {
    candidate rows;
    double similarity;
};

// The anchors in use, as each process sees them.
struct anchor_set {
    row_set* rows;
    std::span<const std::uint32_t> anchors;
    std::uint32_t count;         // how many different leaders the anchors have; they are numbered from 0
    std::uint32_t* leaders;      // the row number of each of these leaders
    std::uint32_t* first_anchor; // for each of these leaders, the index of its first anchor
    std::uint32_t* anchors_of;   // how many anchors each of these leaders represents
    std::uint32_t* rows_of;      // how many rows each of these leaders represents
    std::uint32_t* slots;        // the signature of each of these leaders
    std::uint32_t* number;       // for each row: its number if it is one of these leaders, else no_row
    std::uint32_t* members;      // how many rows each leader represents
    void* buffer;                // a buffer for slots
};

// Shares the anchors with all processes. Call this when the leaders of equal rows are known.
void share_anchors(row_set& rows, std::span<const std::uint32_t> anchors, std::size_t most_pairs);

// The anchors that are used.
anchor_set open_anchors(row_set& rows);

// Finds the true pairs of different leaders, sorted by row and then by anchor. If there are too many candidates, some
// anchors are no longer used.
std::span<const true_pair> find_true_pairs(anchor_set& self);

// Counts the candidates of each setting whose rows have different leaders, and adds them to setting::candidates.
void count_candidates(row_set& rows, std::span<setting> settings);

// The first band in which two signatures agree, or the number of bands if there is none.
int first_shared(const std::uint32_t* a, const std::uint32_t* b, banding banding);

inline const std::uint32_t* slots_of_anchor(const anchor_set& self, std::uint32_t anchor)
{
    return self.slots + anchor * std::size_t{self.rows->task.scheme.num_hashes};
}

inline const std::uint32_t* slots_of_row(const anchor_set& self, std::uint32_t row)
{
    return static_cast<const std::uint32_t*>(fetch_start(*self.rows, row, self.buffer));
}

// How many anchors a leader represents.
inline std::uint64_t anchors_in(const anchor_set& self, std::uint32_t leader)
{
    const std::uint32_t number = self.number[leader];
    return number < self.count ? self.anchors_of[number] : 0;
}

// How many pairs consist of a row that an anchor's leader represents and a row whose leader is `row`, at least one of
// them an anchor. (`rows_of` spares a look into `members`, which is not in the cache.)
inline std::uint64_t pairs_between(const anchor_set& self, const candidate& pair)
{
    const std::uint64_t in_anchor = self.anchors_of[pair.anchor];
    const std::uint64_t in_row = anchors_in(self, pair.row);
    return in_anchor * self.members[pair.row] + in_row * self.rows_of[pair.anchor] - in_anchor * in_row;
}

} // namespace minhash::bulk
