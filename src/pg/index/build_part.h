// What one process of CREATE INDEX does: it reads rows of the table into pages of records, then writes leaves of bands.
// One process does all of it, or several share it, with their common state in a parallel context's memory.
#pragma once

#include "pg/index/pages.h"
#include "pg/index/run_writer.h"

extern "C" {
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"
}

struct ParallelTableScanDescData;

namespace minhash::pg::index {

enum class build_step {
    reading_table,
    writing_leaves,
    nothing_more,
};

struct shared_build {
    Oid table;
    Oid index;
    bool concurrently;

    // Phases alternate: all processes do the step; then the leader alone prepares the next one.
    Barrier phases;
    build_step step;

    new_pages supply;
    pg_atomic_uint64 next_id;
    pg_atomic_uint64 records;

    // The run, and the consecutive pages of records, from `first` on, whose leaves are being written.
    std::uint64_t run_id;
    BlockNumber first;
    std::uint32_t pages;
    pg_atomic_uint32 bands_left;

    slock_t lock;                      // protects all members below
    bool has_scheme;                   // decided by the first signature read
    std::uint8_t scheme[header_bytes]; // as in the meta page
    double rows;                       // of the table
    bool broken_hot_chain;
    bool null_rows;                       // there are rows whose signature is NULL
    sorted_leaves leaves[max_num_hashes]; // by band; each is written by one process only
};

void init_shared_build(shared_build& shared, Relation table, Relation index, bool concurrently);

// The layout of the index; without bands while no signature has been read.
layout layout_of(Relation index, shared_build& shared);

// Appends pages of records for the rows that this process gets: all rows if `scan` is null. They follow the meta page
// without a gap, and each leads to the next block, the last perhaps not.
void read_rows(Relation table, Relation index, IndexInfo* info, shared_build& shared, ParallelTableScanDescData* scan);

// Writes leaves of bands until none is left.
void write_leaves(Relation index, shared_build& shared);

} // namespace minhash::pg::index
