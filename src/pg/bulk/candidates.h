// Which rows of a bulk function share band keys.
#pragma once

#include "pg/bulk/bulk_rows.h"
#include "pg/bulk/verifier.h"

#include "core/buckets.h"

namespace minhash::pg {

// Rows that are the same as an earlier one take no part in banding; their leader stands for them.
struct twins {
    std::span<std::uint32_t> leader; // of each row; itself for most
    std::span<std::uint32_t> next;   // the next row of the same leader, or no_row
};

// Memory for going through the buckets of one band.
struct bucket_walk {
    bulk_rows* rows;
    std::span<const std::uint32_t>
        leader; // rows that are not their own leader are passed over; none: all rows
    int bits;
    std::uint64_t* entries;
    std::uint32_t* starts; // of partitions, and the end
    bucket_room room;
    std::size_t room_entries;
    void* buffer; // a piece of a store
    progress progress_of;
    std::uint64_t done;          // rows of the bands before
    std::uint64_t large_buckets; // left out
};

void start_walk(bucket_walk& walk, bulk_rows& rows, const char* phase);

// Brings the rows of a band into partitions.
void scatter(bucket_walk& walk, int band);

// Calls visit(std::span<const std::uint32_t>) for all buckets of a band with two rows or more.
template <typename Visit>
void walk_band(bucket_walk& walk, int band, Visit&& visit)
{
    scatter(walk, band);
    const std::size_t partitions = std::size_t{1} << walk.bits;
    const int max_bucket = walk.rows->wanted.max_bucket;
    for (std::size_t i = 0; i < partitions; i++) {
        report(walk.progress_of, walk.done + walk.starts[i]);
        const std::span<const std::uint64_t> entries = {walk.entries + walk.starts[i],
                                                        walk.starts[i + 1] - walk.starts[i]};
        each_bucket(entries, walk.room, [&](std::span<const std::uint32_t> rows) {
            if (max_bucket > 0 && rows.size() > static_cast<std::size_t>(max_bucket))
                walk.large_buckets++;
            else
                visit(rows);
        });
    }
    walk.done += walk.rows->count;
}

// Frees the walk's memory.
void end_walk(bucket_walk& walk);

// Finds all twins. Classes of more than max_bucket rows are not collapsed, and left out.
twins find_twins(bucket_walk& walk, verifier& same);

} // namespace minhash::pg
