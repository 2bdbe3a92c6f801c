// Workers of a bulk function: PostgreSQL's parallel workers, which have the snapshot, the user and the settings of the
// call. They start after its queries have ended, so that no user code runs while they do parts of the engine's steps
// (bulk/rows/steps.h).
//
// Shared memory and files are freed with the call, however it ends. If workers are not available, the call does
// without.
#pragma once

#include "pg/bulk/host.h"

namespace minhash::pg {

// Lets a host have up to max_parallel_maintenance_workers workers, or none where there can be none.
void allow_workers(bulk_host& host);

// Closes this process's files, and frees its hold on all that was shared.
void end_host(bulk_host& host);

// The open file for a number that the engine uses.
File file_of(bulk_host& host, int number);

} // namespace minhash::pg
