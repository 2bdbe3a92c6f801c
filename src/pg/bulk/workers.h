// Workers of a bulk function: background workers of PostgreSQL that need no database, each with a
// queue there and one back in shared memory that ends with the call, whatever ends it. (A parallel
// context would forbid the user's query to write, as it runs while they work.)
//
// A worker that cannot be had is done without. One that fails, or is terminated, fails the call.
#pragma once

#include "pg/bulk/host.h"

namespace minhash::pg {

// Lets a host have as many workers as max_parallel_maintenance_workers says, or none where there
// can be none. `function` is the SQL function that is called.
void allow_workers(bulk_host& host, Oid function);

// Ends the workers, and waits until they are gone.
void end_workers(bulk_host& host);

} // namespace minhash::pg
