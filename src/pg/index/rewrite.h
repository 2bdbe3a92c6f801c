// VACUUM rewrites runs that have many dead records without these.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// Rewrites runs in which at least one record in five is dead, except those that are being merged, without locking
// readers or writers out. A sweep frees the old pages.
void rewrite_runs(Relation index);

} // namespace minhash::pg::index
