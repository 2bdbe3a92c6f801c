// Splits a plan that scans several tables one after another, such as the partitions of a table, into a plan for each.
// Values can then be read again from their locations (reread.h), and all processes can read each table (blocks.h).
#pragma once

#include "pg/glue.h"

extern "C" {
#include "nodes/plannodes.h"
}

namespace minhash::pg {

constexpr int most_tables_of_query = 512;

// Whether a plan is just the scan of a table, or of several tables one after another.
bool just_scans(const PlannedStmt* planned);

// Plans which, run one after another, return the rows of `planned` in the same order: a plan for each table if there
// are several and just_scans(); otherwise only `planned` itself. A list of PlannedStmt; it shares nodes with `planned`.
List* split_into_scans(PlannedStmt* planned);

} // namespace minhash::pg
