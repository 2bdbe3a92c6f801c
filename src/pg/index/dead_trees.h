// The trees of runs that were merged, freed a few pages at a time.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// Under the exclusive lock of the runs: frees pages of the dead trees of the meta page, of which
// `now` is a copy, at most about `most`.
void free_dead_pages(Relation index, const meta& now, int most);

} // namespace minhash::pg::index
