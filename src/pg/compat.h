// All differences between PostgreSQL versions are handled here and in compat.cpp.
#pragma once

#if PG_VERSION_NUM < 150000
#error "minhash_lsh needs PostgreSQL 15 or later"
#endif

// PostgreSQL 16 moved the macros for varlenas out of postgres.h.
#if PG_VERSION_NUM >= 160000
extern "C" {
#include "varatt.h"
}
#endif

struct Append;
struct ExplainState;
struct IndexAmRoutine;
struct IndexFetchTableData;
struct IndexInfo;
struct IndexScanDescData;
struct LOCKTAG;
struct MinimalTupleData;
struct Node;
struct ParallelTableScanDescData;
struct Path;
struct PlannerInfo;
struct PlanState;
struct QueryDesc;
struct RangeTblEntry;
struct RelationData;
struct TableScanDescData;
struct TupleDescData;
struct Tuplesortstate;

// PostgreSQL 16 introduced soft errors. In earlier versions, input functions have no context in which to save an error,
// so they raise it.
#if PG_VERSION_NUM < 160000
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

#if PG_VERSION_NUM >= 180000
#define MINHASH_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "minhash_lsh", .version = MINHASH_VERSION)
#else
#define MINHASH_MODULE_MAGIC PG_MODULE_MAGIC
#endif

namespace minhash::pg {

// Makes a tuplestore for the rows of a function that returns a set. The rows have the type that the query expects.
void materialize_rows(FunctionCallInfo fcinfo);

bool owns_relation(Oid relation, Oid user);
bool may_use_schema(Oid schema, Oid user);

// The wait event while a bulk function waits for its workers, or a worker waits for work. It is MinhashBulk or, before
// PostgreSQL 17, the event that all extensions share.
std::uint32_t bulk_wait_event();

// Whether parallel workers must be used even if they cost more (debug_parallel_query, for developers).
bool workers_are_forced();

void run_to_end(QueryDesc& query);

MinimalTupleData* form_minimal_tuple(TupleDescData* form, const Datum* values, const bool* nulls);

// begin_parallel_scan() begins a worker's part of a parallel scan. begin_index_fetch() lets the caller fetch a table's
// rows by TID.
TableScanDescData* begin_parallel_scan(RelationData* table, ParallelTableScanDescData* scan);
IndexFetchTableData* begin_index_fetch(RelationData* table);

// Sets `value` to the next value of a sort; returns false if there is none. If values of the type are passed by
// reference, the caller must free `value`.
bool next_of_sort(Tuplesortstate* sort, Datum& value);

// Checks for cancel and, within VACUUM, sleeps as vacuum_cost_delay requires.
void vacuum_delay();

// The memory that VACUUM may use, in kB.
int vacuum_memory();

// Counts an index search for statistics, and for EXPLAIN in versions that show it.
void count_index_scan(IndexScanDescData& scan);

// Registers `show`, which PostgreSQL 18 and later call for each index scan that EXPLAIN ANALYZE prints. `show` calls
// show_property() to add properties of the scan to the output.
void show_scans(void (*show)(IndexScanDescData& scan, ExplainState& state));
void show_property(ExplainState& state, const char* name, const char* value);
void show_property(ExplainState& state, const char* name, std::int64_t value);

// Calls visit(child, context) for the parts of an expression, or for the nodes below a node of a plan. Ends, and
// returns true, when a call has returned true.
bool walk_expression(Node* expression, bool (*visit)(Node*, void*), void* context);
bool walk_plan_states(PlanState* state, bool (*visit)(PlanState*, void*), void* context);

// Whether an Append leaves plans out when it runs, and whether the rights to a table are checked when a plan starts.
bool prunes_at_run_time(const Append& append);
bool has_rights_to_check(const RangeTblEntry& table);

// Whether VACUUM may remove rows that a snapshot still sees (old_snapshot_threshold).
bool may_remove_visible_rows();

// file_of() returns the file number of a relation. If `buffer` still holds this block of the relation, pin_recent()
// pins the buffer and returns true. Looking the block up would take three times as long.
Oid file_of(RelationData* relation);
bool pin_recent(RelationData* relation, std::uint32_t block, int buffer);

// Appends empty pages to a relation's file. The caller must hold the lock that keeps other processes from extending it.
void extend_file(RelationData* relation, std::uint32_t first, std::uint32_t pages);

// For assertions: whether this session holds a lock, and whether it may change a page.
bool holds_lock(const LOCKTAG& tag, int mode);
bool may_change(int buffer);

// Makes index expressions run with a safe search path. Before PostgreSQL 17, this function does nothing, because in
// those versions PostgreSQL's own maintenance commands do not use a safe path either.
void restrict_search_path();

// Keeps the planner from using a path whose costs are already infinite. Before PostgreSQL 18, the costs are enough.
void disable_path(Path& path);

// How many values the planner expects in an array.
double expected_length(PlannerInfo* root, Node* array);

// What an access method's handler returns for `method`. For PostgreSQL 19 and later, this is `method` itself, which
// must last as long as the process. For earlier versions, it is a copy that PostgreSQL frees.
Datum hand_out(const IndexAmRoutine& method);

// Lets CREATE INDEX use parallel workers. Before 17, PostgreSQL plans workers only for its own index types.
constexpr void allow_parallel_build(auto& method)
{
#if PG_VERSION_NUM >= 170000
    method.amcanbuildparallel = true;
#endif
}

int workers_of_build(RelationData& table, RelationData& index, const IndexInfo& info);

} // namespace minhash::pg
