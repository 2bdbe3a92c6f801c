// Clusters of near-duplicates: the connected components of the rows over verified pairs.
//
// Two rows are compared only if they are not connected yet: so each of many similar rows takes
// about one comparison. Nothing is lost, as all candidates that are not connected in the end have
// been compared. The similarity of rows that are near is computed exactly, as it may be that of a
// row to its representative.
#pragma once

#include "bulk/rows/rows.h"

namespace minhash::bulk {

struct cluster_sink {
    // Brings the rows of a component into the order in which they may represent it.
    void (*order)(host& owner, std::span<std::uint32_t> rows);
    // Takes a cluster, its representative first, and the similarity of each row to it.
    void (*emit)(host& owner,
                 std::span<const std::uint32_t> rows,
                 std::span<const double> similarities);
};

struct cluster_options {
    bool near_representative; // members must reach the threshold with it
    bool singletons;          // rows that are near no other are clusters, too
};

// Finds the clusters of at least one row. Returns how many buckets were left out, as they have more
// than task.max_bucket rows.
std::uint64_t find_clusters(row_set& rows, const cluster_options& options, const cluster_sink& to);

// The parts of a process in connecting rows.
void connect_bucket_units(row_set& rows);
void connect_row_units(row_set& rows);

} // namespace minhash::bulk
