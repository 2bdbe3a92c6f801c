// The triggers of a managed band table: the one that holds its settings (band_table.h), and those
// that keep it in step with its source. All are made as the source's owner, between SPI_connect()
// and SPI_finish().
#pragma once

#include "pg/band_table/band_table.h"

namespace minhash::pg {

// A name for a trigger on a relation. (Another band table, since renamed, may have left triggers of
// the name that is wanted.)
const char* free_name(const char* band_table, Oid relation, const char* suffix);

// Makes the trigger that holds the settings. A source that takes no triggers, as a table that Citus
// distributes, is an error: to be found before the source's rows are read, which can take hours.
void add_settings(FunctionCallInfo fcinfo, const band_table& scheme, const char* name);

void drop_settings(Relation source, const band_table& dropped);

// Gives the source the triggers that it lacks, and its partitions theirs for TRUNCATE, as these are
// not handed down.
void add_maintaining_triggers(FunctionCallInfo fcinfo, Oid table, Relation source);

// Ties what is dropped with what: the band table with its source; the triggers with the one that
// holds the settings, also those of partitions that are none any more; and the extension not
// without CASCADE. pg_dump does not know of it, so what was restored is tied when it is refreshed.
// (A table that depends on a column makes ALTER COLUMN TYPE fail with an internal error. So the
// triggers alone depend on the two columns.) `function`: lsh_maintain_band_table().
void tie_all(const band_table& scheme, Oid function);

} // namespace minhash::pg
