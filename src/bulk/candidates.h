// Which rows share band keys, band by band; and which rows are the same, so that one of them stands
// for all in the bands.
#pragma once

#include "bulk/grouping.h"
#include "bulk/rows.h"
#include "bulk/verifier.h"

namespace minhash::bulk {

// Rows that are the same as an earlier one take no part in banding; their leader stands for them.
struct twins {
    std::span<std::uint32_t> leader; // of each row; itself for most
    std::span<std::uint32_t> next;   // the next row of the same leader, or no_row
};

// Memory for going through the buckets of one band after the other.
struct bucket_walk : grouping {
    row_set* rows;
    const char* phase;
    std::span<const std::uint32_t> leader; // rows with another leader are left out; none: no row
    void* buffer;                          // a piece of a store
    std::uint64_t done;                    // rows of the bands before
    std::uint64_t large_buckets;           // left out
};

void start_walk(bucket_walk& walk, row_set& rows, const char* phase);

// Brings the rows of a band into partitions.
void scatter(bucket_walk& walk, int band);

// Calls visit(std::span<const std::uint32_t>) for all buckets of a band with two rows or more.
template <typename Visit>
void walk_band(bucket_walk& walk, int band, Visit&& visit)
{
    scatter(walk, band);
    row_set& rows = *walk.rows;
    const std::uint64_t total =
        std::uint64_t{rows.count} * static_cast<unsigned>(rows.task.shape.bands + 1);
    const std::uint32_t max_bucket = rows.task.max_bucket;
    for (std::size_t i = 0; i < partition_count(walk); i++) {
        report(*rows.owner, walk.phase, walk.done + walk.starts[i], total);
        each_bucket(partition(walk, i), walk.room, [&](std::span<const std::uint32_t> bucket) {
            if (max_bucket > 0 && bucket.size() > max_bucket)
                walk.large_buckets++;
            else
                visit(bucket);
        });
    }
    walk.done += rows.count;
}

// Calls visit(self, bucket) for all buckets of all bands, as walk_band() would band by band, and
// frees the keys of each. Workers group bands where there are any, and memory for it.
void walk_bands(bucket_walk& walk,
                void* self,
                void (*visit)(void* self, std::span<const std::uint32_t> bucket));

// Frees the walk's memory.
void end_walk(bucket_walk& walk);

// Finds all twins. Classes of more than max_bucket rows are not collapsed, and left out.
twins find_twins(bucket_walk& walk, verifier& same);

} // namespace minhash::bulk
