// The columns of an index: one column of signatures and, optionally, other columns, which form the scope. If a query
// has values for all columns of the scope, a search finds only rows whose values have the same hash.
//
// The hash of the scope has 32 bits and is stored in the record. The hash is also spread over 40 bits and XORed into
// band keys. This separates the rows of different scopes without making keys longer. Within a scope, keys that begin
// alike stay neighbours.
#pragma once

#include "pg/index/format/format.h"
#include "pg/similar/query.h"

extern "C" {
#include "access/skey.h"
}

namespace minhash::pg::index {

// Strategy numbers of operators, besides those in similar/query.h.
enum {
    distance = similar_to_query + 1,
    equality,   // for a column of the scope
    inequality, // for a column of a constraint, as in (id WITH <>): not searched, only checked
    strategies = inequality,
};

struct columns {
    int signature;       // the position of the column of signatures, from 0
    std::uint32_t scope; // a bit for each column of the scope

    bool in_scope(int column) const { return (scope >> column & 1) != 0; }
};

static_assert(INDEX_MAX_KEYS <= 32);

// An ERROR unless there is exactly one column of signatures.
columns columns_of(Relation index);

// Raises a NOTICE if a column of the scope is unique in the table, or nearly so, because then (nearly) every row would
// have a scope of its own.
void notice_unique_scope(Relation heap, Relation index, const columns& columns);

// An ERROR if a column of the scope has a type without a hash function, such as an array of points.
void require_hashes(Relation index, const columns& columns);

// Whether values that are equal by this key's operator have the same hash. The operator family is for all types, so
// PostgreSQL also offers the operators of a type that the column is cast to, as in (text_column::bpchar = 'a').
bool is_hashed_by(Relation index, int column, const ScanKeyData& key);

// The hash of the values in the columns of the scope; 0 if there are no such columns. `types` has the types of the
// values; null: the values have the types of the columns.
std::uint32_t
hash_scope(Relation index, const columns& columns, const Datum* values, const bool* nulls, const Oid* types = nullptr);

} // namespace minhash::pg::index
