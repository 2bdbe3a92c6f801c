// Lookups in the catalogue: the extension's type, names quoted for SQL, and how values of a type are written and
// ordered.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "utils/sortsupport.h"
}

namespace minhash::pg {

// The type of this name in a schema, or InvalidOid.
Oid type_in(Oid schema, const char* name);

// The schema of a type if it is the extension's type of that name, otherwise InvalidOid. Other users can make types of
// these names in schemas of their own, whose values have other bytes, but only superusers can make base types.
Oid schema_of_own_type(Oid type, const char* name);

// The type minhash_signature of the extension to which the function belongs.
Oid signature_type(Oid function);

// Whether values of a type can be read as text: the type is text, varchar, or a domain over one of them.
bool is_text(Oid type);

[[noreturn]] void fail_no_relation(Oid relation);

// The name of a relation with its schema, quoted for SQL. An ERROR if there is no such relation.
const char* quoted_relation(Oid relation);

// A value in text form, made by the output function of its type.
const char* output_of(Oid type, Datum value);

// An ERROR if values of the type cannot be sorted.
void require_order(Oid type, const char* detail, const char* hint = nullptr);

// How values of the type are compared. The result lasts as long as the current memory context. If the type has a
// collation and `collation` is valid, `collation` replaces the type's collation.
SortSupportData order_of(Oid type, Oid collation = InvalidOid);

} // namespace minhash::pg
