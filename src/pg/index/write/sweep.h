// Frees pages that nothing points to, because their writer was interrupted or because they were replaced.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "access/genam.h"
}

namespace minhash::pg::index {

// For VACUUM: frees pages that nothing points to. Unless this VACUUM has seen all pages already, also checks whether
// the free space map lacks many free pages. If so, enters all free pages in the map.
void sweep(const IndexVacuumInfo& info, IndexBulkDeleteResult& stats, bool has_seen_all);

// The number of pages that nothing points to, not counting the new pages of a merge in progress.
std::uint64_t count_lost_pages(Relation index);

} // namespace minhash::pg::index
