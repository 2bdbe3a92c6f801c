// Marks: the ids of the nearest other rows, in a column of the source.
//
// PostgreSQL does not record who made a trigger, and anybody with the TRIGGER privilege can. So a
// mark is written with the rights of the user who writes the row: no trigger makes anybody write
// what he could not write himself, and the source's triggers for UPDATE run as him.
#pragma once

#include "pg/band_table/guard.h"
#include "pg/band_table/statements.h"

namespace minhash::pg {

// An ERROR if the writer lacks the rights that marks need.
void check_mark_rights(const guard& given, Oid writer);

// Sets the mark of a row to the id of another, or to NULL without one, as the writer. A row that
// policies keep from the writer stays as it is.
void set_mark(const guard& given, identity writer, Datum id, const Datum* other);

} // namespace minhash::pg
