// Frees the trees of merged runs, a few pages at a time.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// Frees about `most` pages, at most, of the dead trees in the meta page, of which `now` is a copy. Needs the exclusive
// lock of the runs.
void free_dead_pages(Relation index, const meta& now, int most);

} // namespace minhash::pg::index
