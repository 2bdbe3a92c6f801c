// Turns components of connected rows into clusters, and emits them.
#pragma once

#include "bulk/rows/steps.h"
#include "bulk/search/clusters.h"
#include "bulk/search/pairs.h"

#include <optional>

namespace minhash::bulk {

struct cluster_emitter {
    row_set* rows;
    cluster_options options;
    cluster_sink to;
    // The similarity of two leaders of one component: if they are near or, without options.near_representative, always.
    std::optional<double> (*compare)(void* with, std::uint32_t a, std::uint32_t b);
    void* with;

    std::uint32_t* met;     // for each row, the lowest row that forms a known pair with it and precedes it, or no_row
    double* met_similarity; // for each row, its similarity to the row in `met`

    // The cluster that is being built.
    growing<std::uint32_t> members;
    growing<double> similarities;
};

// Call this when the rows, the options, the sink and the comparison are set.
void start_emitter(cluster_emitter& emitter);

// Remembers the similarity of two leaders. The left row has the lower number.
void note_similarity(cluster_emitter& emitter, const found_pair& pair);

// Emits the components in the array shared_search::parent.
void emit_components(cluster_emitter& emitter);

} // namespace minhash::bulk
