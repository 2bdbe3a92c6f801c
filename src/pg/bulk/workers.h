// Workers of a bulk function: parallel workers of PostgreSQL's, which have the snapshot, the user
// and the settings of the call. They are started when its queries have ended, so that nothing of
// the user's runs while they work, and do parts of the engine's steps (bulk/rows/steps.h).
//
// What they share is in memory and files that end with the call, whatever ends it. Workers that
// cannot be had are done without.
#pragma once

#include "pg/bulk/host.h"

namespace minhash::pg {

// Lets a host have as many workers as max_parallel_maintenance_workers says, or none where there
// can be none.
void allow_workers(bulk_host& host);

// Frees what was shared, as far as this process has it.
void end_sharing(bulk_host& host);

// The file of a number that the engine has.
File file_of(bulk_host& host, int number);

} // namespace minhash::pg
