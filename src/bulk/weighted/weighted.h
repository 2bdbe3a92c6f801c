// Finds near rows by a similarity in which rare shingles count more than common ones: the cosine of two rows' sets of
// shingles, where a shingle that `df` of N rows have weighs ln((N + 1) / df) (inverse document frequency: Spärck Jones
// 1972). N is the number of rows of the call, or of the row's scope. As each shingle counts once, the cosine is
//
//     the sum of w² over the shingles that both rows have / sqrt(the row's norm · the other row's norm),
//
// where a row's norm is the sum of w² over its shingles. Equal sets have exactly 1.
//
// First the frequencies of all shingles are counted (frequencies.cpp). Then each row gets a list of its shingles, the
// rarest first (lists.cpp). Some of the rare shingles of each row are indexed (rarest.h), and each row looks up its
// shingles in the index (look_up.cpp).
#pragma once

#include "bulk/search/clusters.h"
#include "bulk/search/pairs.h"

namespace minhash::bulk {

// Like find_pairs(), but by weighted similarity. Two rows without a common shingle are never near. The task must have
// sets_only set, and must not be about bags.
void find_weighted_pairs(row_set& rows, bool crossing, pair_sink emit);

// Like find_clusters(), but by weighted similarity.
void find_weighted_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to);

} // namespace minhash::bulk
