// How runs come and go: the tail becomes a run, small runs are merged, and those with many dead
// records are written anew. (Sorted runs of growing size: Bentley and Saxe, "Decomposable Searching
// Problems I", 1980.)
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "storage/lockdefs.h"
#include "utils/relcache.h"
}

namespace minhash::pg::lsh {

// So long a tail becomes a run.
constexpr std::uint32_t long_tail = 34;

// Makes a run of the tail if it is long and no other session is about to; merges small runs with
// it, but leaves large ones to VACUUM.
void merge_long_tail(Relation index);

// One session at a time changes the runs: these are for VACUUM and lsh_check.
void lock_runs(Relation index, LOCKMODE mode);
void unlock_runs(Relation index, LOCKMODE mode);

// Under the exclusive lock: merges what should be merged. `deleted` says that records may have
// died: runs with a fifth of them dead are then written anew without those.
void merge_all(Relation index, bool deleted);

} // namespace minhash::pg::lsh
