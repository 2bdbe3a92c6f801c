// The columns of an index: one of signatures, and perhaps others, the scope. A search finds only rows that have the
// same values in the scope as the query.
//
// The scope is hashed to 32 bits, which are stored in the record and XORed into the keys of bands. This separates the
// rows of different scopes, but keys of one scope that begin alike stay side by side, and keys need no more room.
#pragma once

#include "pg/index/format.h"
#include "pg/similar/query.h"

namespace minhash::pg::index {

// Strategy numbers of operators, besides those in similar/query.h.
enum {
    distance = similar_to_query + 1,
    equality,   // for a column of the scope
    inequality, // for a column of a constraint that distinguishes rows: not searched, only checked
    strategies = inequality,
};

constexpr int scope_hash_bytes = sizeof(std::uint32_t);

struct columns {
    int signature;       // the position of the column of signatures, from 0
    std::uint32_t scope; // a bit for each column of the scope

    bool in_scope(int column) const { return (scope >> column & 1) != 0; }
};

static_assert(INDEX_MAX_KEYS <= 32);

// An ERROR unless there is exactly one column of signatures.
columns columns_of(Relation index);

// A NOTICE if a column of the scope is unique in the table, because then no two rows could be found similar.
void notice_unique_scope(Relation heap, Relation index, const columns& which);

// The hash of the values in the columns of the scope; 0 if there are no such columns. `types` are the types of the
// values; if it is null, they are those of the columns.
std::uint32_t
hash_scope(Relation index, const columns& which, const Datum* values, const bool* nulls, const Oid* types = nullptr);

} // namespace minhash::pg::index
