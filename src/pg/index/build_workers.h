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
    SnapshotData* snapshot; // that the scan was registered with, if any
    int processes;          // that do the steps
};

// Starts as many workers as PostgreSQL plans for the index.
build_crew make_crew(Relation table, Relation index, IndexInfo* info);

// Lets all do a step, and waits until it is done. An error of a worker is raised here.
void do_together(build_crew& crew, build_step step);

// Lets workers end, and lets go of the shared memory.
void dismiss(build_crew& crew);

} // namespace minhash::pg::index
