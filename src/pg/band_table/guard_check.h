// What a guard needs of its table. It is checked when the guard is made, and again whenever it
// fires, once per statement, as tables and triggers change.
#pragma once

#include "pg/band_table/band_table.h"

extern "C" {
#include "commands/trigger.h"
}

namespace minhash::pg {

// An ERROR if no trigger would put rows into the band table on an event, TRIGGER_TYPE_INSERT or
// TRIGGER_TYPE_UPDATE, so that a guard would not find them. `maintaining`: the function of these
// triggers.
void check_kept(Relation relation, const band_table& settings, Oid maintaining, int event);

// An ERROR if a guard that fires would do so before the trigger that puts the rows of its statement
// into the band table: they must find each other.
void check_order(const TriggerData& event, const band_table& settings, Oid maintaining);

// The column of the source that a guard's argument names. An ERROR if it cannot hold marks, or if a
// rule would take the place of the UPDATE that writes them. `trigger` is the name of one that
// exists already; null: it is yet to be made.
AttrNumber find_mark_column(const band_table& settings, const char* name, const char* trigger);

} // namespace minhash::pg
