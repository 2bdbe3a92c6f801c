// The trigger functions and triggers that keep a band table in step with its source, as SQL. They
// are the user's own, in PL/pgSQL, and run as whoever writes to the source.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg {

struct band_table {
    Oid source;
    AttrNumber id;
    AttrNumber signature;
    banding shape;
    const char* schema; // of the source and of the band table
    const char* name;
    const char* extension; // its schema, quoted
    bool by_rows;          // whether triggers fire for each row
};

// The comment of the trigger functions, by which they are known.
constexpr const char* upkeep_comment =
    "keeps a band table in step; made by lsh_create_band_table()";

// The schema and the name, quoted.
const char* qualified(const band_table& made);

// Rows (key, id) of the source, for the band table.
const char* wanted_rows(const band_table& made);

struct upkeep_trigger {
    const char* name; // of the trigger and of its function
    const char* create_function;
    const char* create_trigger;
};

// The triggers that the source needs, in a new array.
std::span<const upkeep_trigger> upkeep_triggers(const band_table& made);

} // namespace minhash::pg
