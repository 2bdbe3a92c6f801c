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

} // namespace minhash::pg
