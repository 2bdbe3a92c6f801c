// A sample of the signatures in a column, which ANALYZE keeps among the column's statistics. From it the planner learns
// how many rows are similar to a given one, for texts that occur many times with small changes: PostgreSQL's own
// statistics of such a column are of little use, because all of its values differ, and values of more than 1 kB are
// left out of them.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"

extern "C" {
#include "utils/selfuncs.h"
}

namespace minhash::pg {

// Signatures of one scheme, compressed to two bits per slot and cut to their first 128 slots. Rows whose signature is
// empty or has another scheme count in `rows`, but are not among the copies.
struct column_sample {
    minhash::scheme scheme; // of the signatures before they were compressed
    double rows;            // how many rows that are not NULL were drawn
    std::span<const std::uint8_t> copies;
};

// Reads the sample of a column. False if there is none, or if PostgreSQL would not let `function` see the column's
// statistics, because the user may not read the column.
bool read_sample(VariableStatData& variable, Oid function, column_sample& sample);

// How many rows of the sample are similar to `sought`, besides one that is equal to it: the sought text itself may be
// in the sample by accident.
double count_similar(const column_sample& sample, const signature& sought, double threshold);

// Pairs of a row of each side that have been compared, at most 10,000, and the similar ones among them. No row is
// compared with itself if both sides are the same column.
struct similar_pairs_seen {
    double similar;
    double all;
};

similar_pairs_seen see_similar_pairs(const column_sample& left, const column_sample& right, double threshold);

} // namespace minhash::pg
