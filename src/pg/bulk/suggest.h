// For hints: guesses what a call means that gives a table's name instead of a query.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// The function that is called, and what its query should return.
struct wanted_query {
    Oid function;
    const char* columns; // null: id and text
    bool any_ids;        // the function takes ids of any type
};

// The table or view that a text names; InvalidOid if it names none. `is_name` says whether the text is only a name.
Oid named_relation(const char* given, bool& is_name);

// A call of the function with a query of the relation's own columns: its primary key, and its first column of texts or
// else of signatures.
const char* suggest_call(const wanted_query& wanted, Oid relation);

// The same with columns that the user names, if the relation has them.
const char* suggest_call(const wanted_query& wanted, Oid relation, const char* id, const char* text);

} // namespace minhash::pg
