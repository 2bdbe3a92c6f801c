// Estimates how many near pairs there are among all rows, and what share of the rows is in such a pair, from a few
// rows, the anchors. Anchors are drawn at random. They are compared with each other and with others, a random share of
// all other rows.
#pragma once

#include "bulk/rows/rows.h"

#include "core/interval.h"

namespace minhash::bulk {

// What was found about the anchors.
struct anchor_counts {
    double rows;    // how many rows there are in all
    double anchors; // how many of them are anchors
    double share;   // the share of the other rows with which anchors were compared

    double near;         // the sum over anchors of how many rows are near them: those found, but others count 1 / share
    double squares;      // the sum of the squares of these numbers
    double seen_squares; // for each other row, how many anchors are near it; the sum of the squares of these numbers
    double paired;       // how many anchors have a near row, among those with which they were compared
    double single;       // how many of them have just one, which is not an anchor
};

struct sample_estimate {
    double pairs;
    interval pairs_between;
    std::optional<double> near_share; // empty: not known well enough
    interval near_share_between;
};

// The bounds are 95% confidence intervals. If all rows are anchors, everything is exact.
sample_estimate estimate(const anchor_counts& counts) noexcept;

// The median number of different shingles in the texts of a part of the rows. There must be rows, and texts. Texts of
// at least `unread` bytes are not read, but count as having more shingles than any other.
std::uint32_t median_shingles(row_set& rows, std::size_t unread = SIZE_MAX);

} // namespace minhash::bulk
