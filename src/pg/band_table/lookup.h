// SQL for lookups through a band table.
#pragma once

#include "pg/band_table/band_table.h"

namespace minhash::pg {

// The rows whose signature's similarity with the signature $2 is at least $3, among those with one
// of the band keys $1: (id, similarity). Of buckets with more than max_bucket rows (unless that is
// 0), no row counts. `cast` follows the id ("::bigint"), `rest` the conditions; both may name
// "source".
const char* near_rows(FunctionCallInfo fcinfo,
                      const band_table& from,
                      int max_bucket,
                      const char* cast,
                      const char* rest);

// " AND " and the condition that the row named "source" has the scope in a parameter, of the type
// of the column; nothing where there is no scope. Keys of other scopes are equal by chance only,
// but that must not be the answer.
const char* within_scope(const band_table& from, const char* parameter);

} // namespace minhash::pg
