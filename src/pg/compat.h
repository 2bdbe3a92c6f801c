// Differences between PostgreSQL versions, all of them, here and in compat.cpp.
#pragma once

#if PG_VERSION_NUM < 150000
#error "minhash_lsh needs PostgreSQL 15 or later"
#endif

// 16 took the macros for varlenas out of postgres.h.
#if PG_VERSION_NUM >= 160000
extern "C" {
#include "varatt.h"
}
#endif

struct ExplainState;
struct IndexAmRoutine;
struct IndexFetchTableData;
struct IndexInfo;
struct IndexScanDescData;
struct LOCKTAG;
struct MinimalTupleData;
struct ParallelTableScanDescData;
struct Path;
struct QueryDesc;
struct RelationData;
struct TableScanDescData;
struct TupleDescData;
struct Tuplesortstate;

// Soft errors came with 16: before, input functions have no context to save an error in, and it
// is raised.
#if PG_VERSION_NUM < 160000
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

#if PG_VERSION_NUM >= 180000
#define MINHASH_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "minhash_lsh", .version = MINHASH_VERSION)
#else
#define MINHASH_MODULE_MAGIC PG_MODULE_MAGIC
#endif

namespace minhash::pg {

// Makes the caller's tuplestore for the rows of a set-returning function, of the row type that the
// query expects.
void materialize_rows(FunctionCallInfo fcinfo);

bool owns_relation(Oid relation, Oid user);
bool may_use_schema(Oid schema, Oid user);

// The wait event of a bulk function that waits for its workers, or of a worker that waits for work:
// MinhashBulk, or before 17 that of all extensions.
std::uint32_t bulk_wait_event();

// Whether a developer asks for parallel workers whatever they cost (debug_parallel_query).
bool workers_are_forced();

// Runs a started query to its end.
void run_to_end(QueryDesc& query);

MinimalTupleData* form_minimal_tuple(TupleDescData* form, const Datum* values, const bool* nulls);

// 19 has an enum of the lock modes, whose values fit into an int.
void lock_buffer(int buffer, int mode);

// A worker's part of a parallel scan of a table; rows of a table fetched by their places.
TableScanDescData* begin_parallel_scan(RelationData* table, ParallelTableScanDescData* scan);
IndexFetchTableData* begin_index_fetch(RelationData* table);

// The next value of a sort; false if there is none. What is passed by reference is the caller's to
// free.
bool next_of_sort(Tuplesortstate* sort, Datum& value);

// Answers to cancel, and sleeps as vacuum_cost_delay asks for within VACUUM.
void vacuum_delay();

// The memory that VACUUM may use, in kB.
int vacuum_memory();

// Counts a search of an index for its statistics, and for EXPLAIN where that shows it.
void count_index_scan(IndexScanDescData& scan);

// Has `show` called for each scan of an index that EXPLAIN ANALYZE prints, so that it can add what
// the scan did by the functions below. Only 18 asks for that.
void show_scans(void (*show)(IndexScanDescData& scan, ExplainState& state));
void show_property(ExplainState& state, const char* name, const char* value);
void show_property(ExplainState& state, const char* name, std::int64_t value);

// Whether rows can be removed that a snapshot still sees (old_snapshot_threshold).
bool may_remove_visible_rows();

// The file number of a relation, and the buffer that its block was in when it was last read, pinned
// if it still is: that costs a third of finding the block's buffer.
Oid file_of(RelationData* relation);
bool pin_recent(RelationData* relation, std::uint32_t block, int buffer);

// Appends empty pages to a relation's file. The caller has locked it against others who do so.
void extend_file(RelationData* relation, std::uint32_t first, std::uint32_t pages);

// Whether this session holds a lock, or may change a page, for assertions.
bool holds_lock(const LOCKTAG& tag, int mode);
bool may_change(int buffer);

// Index expressions run with a search path that nobody else has put anything into. (Before 17,
// PostgreSQL's own maintenance commands do without.)
void restrict_search_path();

// Keeps the planner from a path whose costs are infinite. Before 18 these are enough.
void disable_path(Path& path);

// An access method as its handler returns it: 19 wants what lasts as long as the process, and
// before, PostgreSQL frees what it is given.
Datum hand_out(const IndexAmRoutine& method);

// Lets CREATE INDEX use parallel workers; how many it may use. Before 17, PostgreSQL plans workers
// for indexes of its own only.
constexpr void allow_parallel_build(auto& method)
{
#if PG_VERSION_NUM >= 170000
    method.amcanbuildparallel = true;
#endif
}

int workers_of_build(RelationData& table, RelationData& index, const IndexInfo& info);

} // namespace minhash::pg
