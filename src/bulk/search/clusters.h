// Clusters of near-duplicates: the connected components of the rows over verified pairs.
//
// Rows that are already connected are not compared. So in a large group of similar rows, each row is compared about
// once. No connection is lost, because candidates that end up unconnected have all been compared. If two rows are near,
// their similarity is computed to the end, not only until it reaches the threshold, because one of the two rows may
// become the other's representative.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

struct cluster_sink {
    // Sorts the rows of a component; the row best suited as its representative comes first.
    void (*order)(host& owner, std::span<std::uint32_t> rows);
    // Receives the rows of a cluster, with the representative first, and the similarity of each row to the
    // representative.
    void (*emit)(host& owner, std::span<const std::uint32_t> rows, std::span<const double> similarities);
};

struct cluster_options {
    bool near_representative; // members must be near their representative
    bool singletons;          // a row that is in no larger cluster is a cluster of its own
};

// Finds the clusters in a non-empty set of rows. Returns how many buckets were left out because they have more than
// task.max_bucket rows.
std::uint64_t find_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to);

} // namespace minhash::bulk
