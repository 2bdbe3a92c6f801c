// The functions of the access method, declared with PostgreSQL's types for them (see its manual, Index Access Method
// Interface Definition). handler.cpp lists the functions.
#pragma once

#include "pg/glue.h"

#include <type_traits>

struct ExplainState;

extern "C" {
#include "access/amapi.h"
#include "access/genam.h"
}

namespace minhash::pg::index {

template <typename Pointer>
using function = std::remove_pointer_t<Pointer>;

// build.cpp
function<ambuild_function> build;
function<ambuildempty_function> build_empty;
function<ambuildphasename_function> name_phase;

// insert.cpp
function<aminsert_function> insert;

// vacuum.cpp
function<ambulkdelete_function> bulk_delete;
function<amvacuumcleanup_function> clean_up;

// scan.cpp
function<ambeginscan_function> begin_scan;
function<amrescan_function> rescan;
function<amgettuple_function> next_row;
function<amgetbitmap_function> all_rows;
function<amendscan_function> end_scan;

// Adds to EXPLAIN ANALYZE what a scan of an lsh index did.
void show_scan(IndexScanDescData& scan, ExplainState& state);

// plan.cpp
function<amcostestimate_function> estimate_cost;

} // namespace minhash::pg::index
