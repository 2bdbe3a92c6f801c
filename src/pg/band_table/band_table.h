// Managed band tables: what is known of one, and how it is found.
//
// The settings of a band table are kept in the catalogue, as a trigger on its source that never
// fires:
//
//     CREATE TRIGGER ... BEFORE UPDATE OF <id column>, <signature column> ON <source>
//     FOR EACH STATEMENT WHEN ('<band table>'::regclass IS NULL)
//     EXECUTE FUNCTION lsh_maintain_band_table(<bands>, <rows>)
//
// PostgreSQL keeps the columns by number and the band table by OID, so that renaming anything
// does no harm; pg_dump writes them by their names of that day; and dropping a column or the band
// table is refused, or takes the trigger along with CASCADE. The triggers that do the work say
// WHEN ('<band table>'::regclass IS NOT NULL).
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

struct band_table {
    Oid source;
    Oid owner; // of the source
    Oid table;
    Oid settings;  // the trigger that holds them
    AttrNumber id; // columns of the source
    AttrNumber signature;
    banding shape;
};

// The extension's trigger function lsh_maintain_band_table().
Oid maintaining_function(FunctionCallInfo fcinfo);

// The schema of the extension, quoted.
const char* extension_schema(FunctionCallInfo fcinfo);

// The type minhash_signature of the extension that the calling function belongs to.
Oid signature_type(FunctionCallInfo fcinfo);

// Opens a source; an ERROR if it does not exist (any more).
Relation open_source(Oid source, LOCKMODE mode);

// The band table in a trigger's WHEN, or InvalidOid.
Oid watched_table(const Trigger& trigger);

// The band table of a source: the only one, or the one chosen (unless InvalidOid). An ERROR if
// there is none, or none can be told from others.
band_table find_band_table(Relation source, Oid chosen, Oid function);

// The same for a relation that a trigger fired for: it may be a partition of the source. The first
// says whether there is exactly one, the second insists.
bool has_band_table_above(Relation relation, Oid chosen, Oid function, band_table& found);
band_table find_band_table_above(Relation relation, Oid chosen, Oid function);

// The column of a partition that has the name of the source's.
AttrNumber partition_column(Relation relation, const band_table& settings, AttrNumber column);

// The band keys of a signature as a bigint[]; an ERROR if it has too few hashes.
Datum band_key_array(const signature& value, banding shape);

// Names for SQL, quoted and with their schema.
const char* quoted_relation(Oid relation);
const char* quoted_column(Oid relation, AttrNumber column);

// " OPERATOR(schema.=) " for the type's default equality.
const char* equality_of(Oid type);

} // namespace minhash::pg
