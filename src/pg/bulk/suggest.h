// What a call most probably means that gives the name of a table instead of a query, for hints.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// The function that is called, and what its query returns.
struct wanted_query {
    Oid function;
    const char* columns; // null: id and text
    bool any_ids;        // it takes ids of any type as they are
};

// The table or view that a text names; InvalidOid if it names none. `is_name` says whether it is
// but a name.
Oid named_relation(const char* given, bool& is_name);

// A call of the function with a query of the relation's own columns: its primary key, and its first
// column of texts or else of signatures.
const char* suggest_call(const wanted_query& wanted, Oid relation);

// The same with columns that a user names, as far as the relation has them.
const char*
suggest_call(const wanted_query& wanted, Oid relation, const char* id, const char* text);

} // namespace minhash::pg
