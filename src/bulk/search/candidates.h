// Finds rows that share band keys, band by band. Equal rows are found first, and only one row of each set of equal rows
// takes part in banding. A unit of work is a slice of a band: the rows whose keys in this band begin with the same
// given bits.
#pragma once

#include "bulk/buckets/buckets.h"
#include "bulk/rows/steps.h"
#include "bulk/search/verifier.h"

namespace minhash::bulk {

// Visits the buckets of one slice after another, using the same memory.
struct bucket_walk {
    row_set* rows;
    const std::uint32_t* leader; // only rows that are their own leaders are visited; if null, all rows
    int bits;                    // how many bits choose a row's partition
    growing<std::uint64_t> entries;
    std::uint32_t* starts;         // where each partition starts, and where the last one ends
    growing<std::uint32_t> memory; // the memory behind `room`
    bucket_room room;
};

void start_walk(bucket_walk& walk, row_set& rows, const std::uint32_t* leader);

// Sorts the entries of a slice of a band into partitions.
void scatter(bucket_walk& walk, std::size_t band, std::uint32_t slice);

// Calls visit(std::span<const std::uint32_t>) for each of a slice's buckets with at least two rows. Buckets of more
// than max_bucket rows, if there is such a limit, are only counted.
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
    std::atomic_ref(rows.shared->large_buckets).fetch_add(left_out, std::memory_order_relaxed);
}

// The number of slices of all bands together.
inline std::uint64_t unit_count(const row_set& rows)
{
    return static_cast<std::uint64_t>(rows.task.shape.bands) << rows.shared->slice_bits;
}

// Takes the next slice of a band, and calls visit(std::span<const std::uint32_t>) for its buckets. Returns false if no
// slice is left for this process.
template <typename Visit>
bool walk_next(bucket_walk& walk, const char* phase, Visit&& visit)
{
    const row_set& rows = *walk.rows;
    const int bits = rows.shared->slice_bits;
    const std::uint64_t units = unit_count(rows);
    const std::uint64_t unit = next_unit(rows);
    if (unit >= units)
        return false;
    report(*rows.owner, phase, unit, units);
    walk_slice(walk, unit >> bits, static_cast<std::uint32_t>(unit & ((1U << bits) - 1)), visit);
    return true;
}

// Call this before documents are compared. If the table with the documents is larger than memory, and each comparison
// read its documents, pages would be read many times, and each read would cause a wait. So rows that may be compared
// are marked first. Then the documents of the marked rows are read once, in the order of their places, and kept
// (far_documents.cpp).
void bring_documents(row_set& rows);

// Finds twins: rows that equal an earlier row, their leader, which represents them in banding. If more than max_bucket
// rows are equal, they do not become twins, because banding leaves out such large buckets.
void find_twins(row_set& rows);

} // namespace minhash::bulk
