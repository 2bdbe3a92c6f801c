// Finds out what the columns of a call's query are: the id, a text or a signature, and the columns that are known by
// name.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

// Checks the columns of a query that has been started, and decides by them how to take its rows. An ERROR if the call
// cannot use them, or if they do not match the first query's.
void take_columns(bulk_call& call, TupleDesc columns);

} // namespace minhash::pg
