// Splits a plan that scans several tables one after another, such as the partitions of a table, into a plan for each.
// Values can then be read again from their locations (reread.h), and all processes can read each table (blocks.h).
#pragma once

#include "pg/glue.h"

extern "C" {
#include "nodes/plannodes.h"
}

namespace minhash::pg {

constexpr int most_tables_of_query = 512;

// Whether a plan is just the scan of a table, or of several tables one after another, and its second column is a column
// of each of these tables.
bool can_read_again(const PlannedStmt* planned);

// The number of the table column that a plan's column returns unchanged; 0 if the plan's column returns anything else.
// The plan must be the scan of a table.
AttrNumber table_column(const Plan* plan, int column);

// Plans which, run one after another, return the rows of `planned` in the same order: a plan for each table if it just
// scans several, one after another; otherwise only `planned` itself. A list of PlannedStmt; it shares nodes with
// `planned`.
List* split_into_scans(PlannedStmt* planned);

} // namespace minhash::pg
