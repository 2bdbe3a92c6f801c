// The extension's own objects, found from the function that is called, and names quoted for SQL.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "access/attnum.h"
}

namespace minhash::pg {

// The schema of the extension, quoted.
const char* extension_schema(FunctionCallInfo fcinfo);

// The type minhash_signature of the extension that has the function.
Oid signature_type(Oid function);

// A relation with its schema and a column, quoted. An ERROR if there is none.
const char* quoted_relation(Oid relation);
const char* quoted_column(Oid relation, AttrNumber column);

// " OPERATOR(schema.=) " for the type's default equality.
const char* equality_of(Oid type);

// An id, or any other value, as its type writes it.
const char* output_of(Oid type, Datum value);

} // namespace minhash::pg
