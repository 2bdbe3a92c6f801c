// Clusters of near-duplicates: the connected components that verified pairs form, or parts of these components
// (cluster_options).
//
// Rows that are already connected are not compared. So in a large group of similar rows, each row is compared about
// once. No connection is lost, because any two candidates in different components have been compared. If two rows are
// near, their similarity is computed, not only whether it reaches the threshold, because one of the two rows may become
// the other's representative.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

struct cluster_sink {
    // Sorts the rows of a component, the row best suited as a representative first.
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
