// The source of a band table: who may define band tables and guards on it, and what it must be
// like.
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

// An ERROR if it is no table, or others inherit from it.
void check_source(Relation source);

// A column by its name, or an ERROR.
AttrNumber find_column(Relation source, Name column);

// The column that is to be the scope, or an ERROR: if it is none, or the id or the signature, or if
// its type cannot be hashed.
AttrNumber find_scope_column(Relation source, const band_table& scheme, Name column);

// An ERROR if the id need not name one row: keys of two rows with one id could not be told apart.
// The unique index of a partitioned table has the partition key besides, so there we trust the
// user.
void check_unique(Relation source, AttrNumber column);

// An ERROR if the id cannot be sorted or be in arrays, or if the signatures are of another type
// than `signature`.
void check_column_types(const band_table& scheme, Oid id_type, Oid signature);

} // namespace minhash::pg
