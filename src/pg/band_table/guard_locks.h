// Sessions that write near-duplicates at once cannot see each other's rows. So a row takes advisory
// locks on its band keys until its transaction ends: near-duplicates that the bands can find share
// a key, so the second waits for the first, and then sees it. A transaction that would hold too
// many locks takes the whole table's instead, which everybody else holds in share mode.
#pragma once

#include "pg/band_table/guard.h"

namespace minhash::pg {

// Locks the keys of all rows, in their order so that two statements do not wait for each other.
// Says whether there is anything to judge.
bool lock_rows(const guard& given, row_reader& reader);

} // namespace minhash::pg
