// What functions that define band tables and guards have in common. Only the owner of the source
// may call them, and they act as that owner.
#pragma once

#include "pg/band_table/band_table.h"
#include "pg/band_table/statements.h"

namespace minhash::pg {

// Locks a table with all of its partitions: against writes and other changes of its triggers, or
// against everything. Only its owner may, and others may not even try.
Relation lock_source(Oid source, LOCKMODE mode);

// Acts as the owner, restricted; but temporary tables cannot be made under the restriction.
identity act_for_owner(Relation source);

// Whether rows come and go by other names than the table's own: as those of a partitioned table, a
// partition, or a table that inherits.
bool needs_row_triggers(Relation source);

} // namespace minhash::pg
