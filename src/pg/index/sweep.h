// Pages that nothing leads to any more, as what wrote them was interrupted or replaced them.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "access/genam.h"
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// VACUUM's: lets them be used again; and free pages that the map of free space has forgotten,
// unless this VACUUM has seen all pages already.
void sweep(const IndexVacuumInfo& info, IndexBulkDeleteResult& stats, bool has_seen_all);

// How many there are, by a whole copy of the meta page.
std::uint64_t count_lost_pages(Relation index, const meta& now);

} // namespace minhash::pg::index
