// Public functions that are written in SQL or PL/pgSQL are called through C functions. So an error shows the statements
// and functions of the user in its context, and none of ours.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// Calls the SQL function of the same name with a leading underscore, which has the same arguments.
Datum call_internal(FunctionCallInfo fcinfo);

// Call this if an error arises within a query of the user, with a context that shows only what this query called.
void keep_context(bool wanted);

} // namespace minhash::pg
