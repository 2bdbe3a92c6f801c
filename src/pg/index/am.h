// The functions of the access method, as PostgreSQL calls them (Index Access Method Interface Definition, in its
// manual). handler.cpp lists them.
#pragma once

#include "pg/glue.h"

struct ExplainState;

extern "C" {
#include "access/genam.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
}

namespace minhash::pg::index {

// build.cpp
IndexBuildResult* build(Relation heap, Relation index, IndexInfo* info);
void build_empty(Relation index);
char* name_phase(int64 phase);

// insert.cpp
bool insert(Relation index,
            Datum* values,
            bool* nulls,
            ItemPointer tid,
            Relation heap,
            IndexUniqueCheck unique,
            bool unchanged,
            IndexInfo* info);

// vacuum.cpp
IndexBulkDeleteResult*
bulk_delete(IndexVacuumInfo* info, IndexBulkDeleteResult* stats, IndexBulkDeleteCallback is_dead, void* state);
IndexBulkDeleteResult* clean_up(IndexVacuumInfo* info, IndexBulkDeleteResult* stats);

// scan.cpp
IndexScanDesc begin_scan(Relation index, int keys, int orders);
void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey orders, int order_count);
bool next_row(IndexScanDesc scan, ScanDirection direction);
int64 all_rows(IndexScanDesc scan, TIDBitmap* bitmap);
void end_scan(IndexScanDesc scan);

// Adds to EXPLAIN ANALYZE what a scan of an lsh index did.
void show_scan(IndexScanDescData& scan, ExplainState& state);

// cost.cpp
void estimate_cost(PlannerInfo* root,
                   IndexPath* path,
                   double loops,
                   Cost* startup,
                   Cost* total,
                   Selectivity* selectivity,
                   double* correlation,
                   double* pages);

} // namespace minhash::pg::index
