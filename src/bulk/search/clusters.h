// Clusters of near-duplicates: the connected components of the rows over verified pairs.
//
// Two rows are compared only if they are not connected yet, so each of many similar rows takes about one comparison. No
// connection is lost, because all candidates that end up unconnected have been compared. The similarity of near rows is
// always computed exactly, because one of the two may become the other's representative.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

struct cluster_sink {
    // Sorts the rows of a component; the row best suited as its representative comes first.
    void (*order)(host& owner, std::span<std::uint32_t> rows);
    // Takes a cluster, with its representative first, and the similarity of each row to the representative.
    void (*emit)(host& owner, std::span<const std::uint32_t> rows, std::span<const double> similarities);
};

struct cluster_options {
    bool near_representative; // members must be near their representative
    bool singletons;          // a row that is near no other is a cluster, too
};

// Finds the clusters of at least one row. Returns how many buckets were left out because they have more than
// task.max_bucket rows.
std::uint64_t find_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to);

} // namespace minhash::bulk
