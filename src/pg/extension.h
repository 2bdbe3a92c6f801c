// Lookups in the catalogue: the extension's type, names quoted for SQL, and output of types.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

// The type minhash_signature of the extension that has the function.
Oid signature_type(Oid function);

// A relation with its schema, quoted. An ERROR if there is none.
const char* quoted_relation(Oid relation);

// An id, or any other value, as its type writes it.
const char* output_of(Oid type, Datum value);

} // namespace minhash::pg
