// Finds rows that share band keys, band by band. Equal rows are found first, and only one row of each set of equal rows
// takes part in banding. A unit of work is a slice of a band: the rows whose keys in this band begin with the same few
// bits.
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/search/shared_search.h"
#include "bulk/search/verifier.h"

namespace minhash::bulk {

// The state of a process while it visits the buckets of its slices. All slices use the same memory, one after another.
struct bucket_walk {
    row_set* rows;
    const std::uint32_t* leader; // null: all rows are visited; otherwise, only rows that are their own leaders
    int bits;                    // how many bits choose a row's partition
    growing<std::uint64_t> entries;
    std::uint32_t* starts;         // where each partition starts, and where the last one ends
    growing<std::uint32_t> memory; // the memory behind `room`
    bucket_room room;
};

void start_walk(bucket_walk& walk, row_set& rows, const std::uint32_t* leader);

// Sorts the entries of a slice of a band into partitions.
void scatter(bucket_walk& walk, std::size_t band, std::uint32_t slice);

// Calls visit(std::span<const std::uint32_t>) for each bucket of a slice that has at least two rows. If max_bucket is
// not 0, buckets of more than max_bucket rows are only counted.
template <typename Visit>
void walk_slice(bucket_walk& walk, std::size_t band, std::uint32_t slice, Visit&& visit)
{
    scatter(walk, band, slice);
    row_set& rows = *walk.rows;
    const std::uint32_t max_bucket = rows.task.max_bucket;
    std::uint64_t left_out = 0;
    for (std::size_t i = 0; i < std::size_t{1} << walk.bits; i++) {
        pause(*rows.owner);
        const std::uint64_t* const entries = walk.entries.values;
        const std::span partition(entries + walk.starts[i], entries + walk.starts[i + 1]);
        each_bucket(partition, walk.room, [&](std::span<const std::uint32_t> bucket) {
            if (max_bucket > 0 && bucket.size() > max_bucket)
                left_out++;
            else
                visit(bucket);
        });
    }
    std::atomic_ref(rows.search->large_buckets).fetch_add(left_out, std::memory_order_relaxed);
}

// The number of slices of all bands together.
inline std::uint64_t unit_count(const row_set& rows)
{
    return static_cast<std::uint64_t>(rows.task.banding.bands) << rows.search->slice_bits;
}

// Works on the next slice: calls visit(std::span<const std::uint32_t>) for the buckets of the slice. Returns false if
// no slice is left for this process.
template <typename Visit>
bool walk_next(bucket_walk& walk, const char* phase, Visit&& visit)
{
    const row_set& rows = *walk.rows;
    const int bits = rows.search->slice_bits;
    const std::uint64_t units = unit_count(rows);
    const std::uint64_t unit = next_unit(rows);
    if (unit >= units)
        return false;
    report(*rows.owner, phase, unit, units);
    walk_slice(walk, unit >> bits, static_cast<std::uint32_t>(unit & ((1U << bits) - 1)), visit);
    return true;
}

// Call this before documents are compared. The call matters if the table with the documents is larger than memory. If
// each comparison then read two documents from the table, the same pages would be read many times, each time with a
// wait. So rows that may be compared are marked first. Then the documents of the marked rows are read once, in the
// order of their locations, and kept (far_documents.cpp).
void bring_documents(row_set& rows);

// Finds twins. A twin is a row that equals an earlier row, its leader. The leader represents the twin in banding. If
// more than max_bucket rows are equal, they do not become twins, so that banding leaves out their buckets as too large.
void find_twins(row_set& rows);

} // namespace minhash::bulk
