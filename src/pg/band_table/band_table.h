// Managed band tables: what is known of one, how it is found, and which relation is believed to be
// one.
//
// The settings of a band table are kept in the catalogue, as a trigger on its source that never
// fires:
//
//     CREATE TRIGGER ... BEFORE UPDATE OF <id column>, <signature column>[, <scope column>]
//     ON <source>
//     FOR EACH STATEMENT WHEN ('<band table>'::regclass IS NULL)
//     EXECUTE FUNCTION lsh_maintain_band_table(<bands>, <rows>)
//
// PostgreSQL keeps the columns by number and the band table by OID, so that renaming anything
// does no harm; pg_dump writes them by their current names; and dropping a column or the band
// table is refused, or takes the trigger along with CASCADE. The triggers that do the work say
// WHEN ('<band table>'::regclass IS NOT NULL).
//
// Whoever has the TRIGGER privilege on a source can define such triggers, and what they name is
// written with the rights of the source's owner. So a relation is a band table only if it says so
// itself, by what its owner alone can give it. band_table_rule.cpp has the rule.
#pragma once

#include "pg/arguments.h"

extern "C" {
#include "nodes/primnodes.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"
}

namespace minhash::pg {

struct band_table {
    Oid source;
    Oid owner; // of the source
    Oid table;
    Oid settings;  // the trigger that holds them
    AttrNumber id; // columns of the source
    AttrNumber signature;
    AttrNumber scope; // rows are near each other only if they are equal in it; 0: no such column
    banding shape;
};

// What is looked for: the band table of a source, or the one chosen of several.
struct band_table_search {
    Oid chosen;    // InvalidOid: the only one
    Oid function;  // lsh_maintain_band_table()
    LOCKMODE lock; // held on the band table until the transaction ends; NoLock: none
};

// The argument `band_table` of a function: the one chosen, or NULL.
Oid arg_chosen(FunctionCallInfo fcinfo, int argument);

// What was found. A relation that a trigger names and that breaks the rule is doubtful.
struct band_tables_found {
    int count;
    band_table one;
    bool any_doubtful;
    band_table doubtful;
};

// Opens a source; an ERROR if it does not exist (any more).
Relation open_source(Oid source, LOCKMODE mode);

// To be asked anew for each trigger: the list is another as soon as anything else is looked up.
int count_triggers(Relation relation);

// The band table in a trigger's WHEN, or InvalidOid.
Oid watched_table(const Trigger& trigger);

// The band table of a source: the only one, or the one chosen. An ERROR if there is none, if none
// can be told from others, or if it breaks the rule.
band_table find_band_table(Relation source, const band_table_search& wanted);

// The same for a relation that a trigger fired for: it may be a partition of the source. The first
// says what there is, the second insists on one.
band_tables_found search_above(Relation relation, const band_table_search& wanted);
band_table find_band_table_above(Relation relation, const band_table_search& wanted);

// Reads a trigger that may hold settings; false if it does not. The band table that it names is yet
// to be judged by the rule.
bool read_settings(Relation source, const Trigger& trigger, Oid function, band_table& out);

// The rule by which a relation is believed to be a band table. False if it is broken; with
// `complain` an ERROR that says how, and what to do.
bool is_band_table(const band_table& candidate, const band_table_search& wanted, bool complain);

// The constraint that marks a band table: that of its source.
const char* mark_of(Oid source);

// The relation in a condition '<relation>'::regclass IS [NOT] NULL, or InvalidOid.
Oid tested_relation(const char* condition, NullTestType test);

// A number, at least 1, that rises with every change of the definition of a relation. What has been
// read of definitions since it was asked for holds as long as it stays.
std::uint64_t definitions_seen();

// The column of a partition that has the name of the source's.
AttrNumber partition_column(Relation relation, const band_table& settings, AttrNumber column);

// SQL for the band keys of a row named "source": an array. (lsh_band_keys() is strict: a row
// without a scope has none, as scopes are compared by "=".)
const char* band_keys_of_source(const char* schema, const band_table& scheme);

} // namespace minhash::pg
