// Parallel workers that help to build an index.
#pragma once

#include "pg/index/build_part.h"

struct ParallelContext;
struct SnapshotData;

namespace minhash::pg::index {

struct build_crew {
    Relation table;
    Relation index;
    IndexInfo* info;
    shared_build* shared;
    ParallelContext* context; // null: there are no workers
    ParallelTableScanDescData* scan;
    SnapshotData* snapshot; // the scan's registered snapshot, if it has one
    int processes;          // how many do the steps
};

// Starts as many workers as PostgreSQL plans for the index.
build_crew make_crew(Relation table, Relation index, IndexInfo* info);

// Lets all processes do a step, and waits until it is done. An error of a worker is raised here.
void do_together(build_crew& crew, build_step step);

// Ends the workers, and frees the shared memory.
void dismiss(build_crew& crew);

} // namespace minhash::pg::index
