// Workers of a bulk function: background workers of PostgreSQL that need no database, each with a
// queue there and one back in shared memory that ends with the call, whatever ends it. (A parallel
// context would forbid the user's query to write, as it runs while they work.) They read texts in
// the tables that the query scans by themselves (reread.h).
//
// A worker that cannot be had is done without. One that fails, or is terminated, fails the call.
#pragma once

#include "pg/bulk/host.h"

namespace minhash::pg {

// Lets a host have as many workers as max_parallel_maintenance_workers says, or none where there
// can be none. `function` is the SQL function that is called.
void allow_workers(bulk_host& host, Oid function);

// Lets workers read the values of a table by their places, before any is sent to them: the first or
// the second of the call.
void share_table(bulk_host& host, int number, const block_file& file);

// Ends the workers, and waits until they are gone.
void end_workers(bulk_host& host);

// Calls work(host), and ends the host's workers if an error, or the end of the session, leaves it.
// Else they would go on until the transaction gives back its resources: by then its snapshot is
// gone, and with it what keeps the rows that they read.
void run_with_workers(bulk_host& host, void (*work)(bulk_host& host));

} // namespace minhash::pg
