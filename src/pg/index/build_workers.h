// The processes of CREATE INDEX: they read rows of the table into pages of records, then write leaves of bands. One
// process does all of it, or several share it, with their common state in a parallel context's memory.
#pragma once

#include "pg/index/run_writer.h"

extern "C" {
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"
}

struct ParallelContext;
struct ParallelTableScanDescData;
struct SnapshotData;

namespace minhash::pg::index {

enum class build_step {
    // Appends pages of records for the rows that each process gets. They follow the meta page without a gap, and each
    // leads to the next block, the last perhaps not.
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
    pg_atomic_uint32 next_band;

    slock_t lock; // protects all members below
    meta made;    // the meta page; the first signature read decides its scheme
    double rows;  // of the table
    bool broken_hot_chain;
    sorted_leaves leaves[max_num_hashes]; // by band; each is written by one process only
};

struct build_crew {
    Relation table;
    Relation index;
    IndexInfo* info;
    shared_build* shared;
    ParallelContext* context;        // null: there are no workers
    ParallelTableScanDescData* scan; // null: this process reads all rows
    SnapshotData* snapshot;          // the scan's registered snapshot, if it has one
    int processes;                   // how many do the steps
};

// Starts as many workers as PostgreSQL plans for the index. `fresh` is the meta page of the empty index.
build_crew make_crew(Relation table, Relation index, IndexInfo* info, const meta& fresh);

// Lets all processes do a step, and waits until it is done. An error of a worker is raised here.
void do_together(build_crew& crew, build_step step);

// Ends the workers, and frees the shared memory.
void dismiss(build_crew& crew);

} // namespace minhash::pg::index
