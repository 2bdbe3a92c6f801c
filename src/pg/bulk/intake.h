// Gives the rows of a call's query to the engine, one by one as the executor returns them.
#pragma once

#include "pg/bulk/call.h"

extern "C" {
#include "executor/tuptable.h"
}

namespace minhash::pg {

// Takes the row that the query has just returned.
void take_row(bulk_call& call, TupleTableSlot* slot);

} // namespace minhash::pg
