// What all processes share in a search for near rows.
#pragma once

#include "bulk/rows/steps.h"

namespace minhash::bulk {

struct shared_search {
    // far_documents.cpp
    shared_number marks;    // a bit for each row
    shared_number bringing; // each member's store_note of the documents that it reads in the current step

    // candidates.h
    int slice_bits;
    std::uint64_t large_buckets; // how many buckets were left out; atomic

    // row_candidates.h
    bool for_clusters;
    int range_bits;
    std::uint32_t range_count;
    shared_number candidates;        // store_notes of each member's candidates, one for each range
    shared_number large_bucket_list; // each member's store_note of its list of large_bucket
    shared_number large_bucket_rows; // each member's store_note of the rows of these buckets

    // found_pairs.h
    shared_number found;  // each member's store_note of its pairs
    shared_number ranges; // a found_range for each range

    // clusters.cpp
    shared_number parent;
    shared_number groups;             // each member's store_note of its groups of large buckets
    shared_number bucket_group_lists; // a bucket_groups for each large bucket
};

// Call this after start_steps().
inline void start_search(row_set& rows)
{
    rows.search = allocate_shared<shared_search>(*rows.owner, shared_of(rows).search);
}

} // namespace minhash::bulk
