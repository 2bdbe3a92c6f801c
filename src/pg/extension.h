// Lookups in the catalogue: the extension's type, names quoted for SQL, and how values of a type are written and
// ordered.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "utils/sortsupport.h"
}

namespace minhash::pg {

// The type minhash_signature of the extension to which the function belongs.
Oid signature_type(Oid function);

// A relation with its schema, quoted. An ERROR if there is none.
const char* quoted_relation(Oid relation);

// An id, or any other value, in the text form that its type writes.
const char* output_of(Oid type, Datum value);

// An ERROR if values of the type cannot be sorted.
void require_order(Oid type, const char* detail, const char* hint = nullptr);

// How values of the type are compared. The result lasts as long as the current memory context. If the type has a
// collation, a collation in the argument replaces it.
SortSupportData order_of(Oid type, Oid collation = InvalidOid);

} // namespace minhash::pg
