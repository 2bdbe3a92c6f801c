// Frees pages that nothing points to, because their writer was interrupted or because they were replaced.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "access/genam.h"
}

namespace minhash::pg::index {

// For VACUUM: frees pages that nothing points to. Also records free pages that the free space map does not know, unless
// this VACUUM has seen all pages already.
void sweep(const IndexVacuumInfo& info, IndexBulkDeleteResult& stats, bool has_seen_all);

// How many pages nothing points to, apart from pages of work in progress.
std::uint64_t count_lost_pages(Relation index);

} // namespace minhash::pg::index
