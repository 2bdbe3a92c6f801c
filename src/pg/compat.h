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
struct IndexInfo;
struct IndexScanDescData;
struct MinimalTupleData;
struct Path;
struct QueryDesc;
struct RelationData;
struct TupleDescData;

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

// The wait event of a bulk function that waits for its workers, or of a worker that waits for work:
// MinhashBulk, or before 17 that of all extensions.
std::uint32_t bulk_wait_event();

// Runs a started query to its end.
void run_to_end(QueryDesc& query);

MinimalTupleData* form_minimal_tuple(TupleDescData* form, const Datum* values, const bool* nulls);

// Answers to cancel, and sleeps as vacuum_cost_delay asks for within VACUUM.
void vacuum_delay();

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

// A relation that is not temporary, as a process without a database needs it to read blocks.
struct block_file {
    Oid tablespace;
    Oid database;
    Oid number;
    bool logged;
};

block_file blocks_of(const RelationData* relation);
int read_block(const block_file& file, std::uint32_t block);

// Appends empty pages to a relation's file. The caller has locked it against others who do so.
void extend_file(RelationData* relation, std::uint32_t first, std::uint32_t pages);

// Appends bytes to what a page holds, up to pd_lower, and logs that. The page is a standard one,
// exclusively locked, and has room for them.
void append_to_page(RelationData* relation, int buffer, std::span<const std::uint8_t> bytes);

// Index expressions run with a search path that nobody else has put anything into. (Before 17,
// PostgreSQL's own maintenance commands do without.)
void restrict_search_path();

// Keeps the planner from a path whose costs are infinite. Before 18 these are enough.
void disable_path(Path& path);

// Lets CREATE INDEX use parallel workers; how many it may use.
void allow_parallel_build(IndexAmRoutine& method);
int workers_of_build(RelationData& table, RelationData& index, const IndexInfo& info);

// Memory that all sessions find by its name; who comes first makes it ready. Before 17 it is of the
// little that the server sets aside, and null if that is used up.
void* shared_memory(const char* name, Size bytes, void (*make_ready)(void* fresh));

} // namespace minhash::pg
