// What the columns of a call's query are: the id, a text or a signature, and those that are known
// by their names.
#pragma once

#include "pg/bulk/call.h"

namespace minhash::pg {

// Reads the columns of a query that has been started, which decide how its rows are taken; an ERROR
// if they are not what the call can use, or not like those of a query before it.
void take_columns(bulk_call& call, TupleDesc columns);

} // namespace minhash::pg
