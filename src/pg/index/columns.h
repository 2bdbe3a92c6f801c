// The columns of an index: one of signatures, and perhaps others, the scope, in which rows must be
// equal to be found.
//
// The scope is hashed to 32 bits, which stand in the record. Spread over the keys of bands by
// exclusive or, they part the rows of different scopes and leave the keys of one scope side by
// side as they were, so that a scope takes no room in keys.
#pragma once

#include "pg/index/format.h"
#include "pg/similar/query.h"

namespace minhash::pg::index {

// Strategies of operators: those of similar_strategy, and
enum {
    distance = similar_to_query + 1,
    equality,   // of a column of the scope
    inequality, // found by nothing, but checked: in constraints, a column that names the row
    strategies = inequality,
};

constexpr int scope_hash_bytes = sizeof(std::uint32_t);

struct columns {
    int signature;       // which one, from 0
    std::uint32_t scope; // a bit for each one of the scope

    bool in_scope(int column) const
    {
        return (scope >> column & 1) != 0;
    }
};

static_assert(INDEX_MAX_KEYS <= 32);

// An ERROR if there is not one column of signatures.
columns columns_of(Relation index);

// A NOTICE if a column of the scope is unique in the table, so that no row is compared with
// another.
void notice_unique_scope(Relation heap, Relation index, const columns& which);

inline int scope_bytes_of(const columns& which)
{
    return which.scope == 0 ? 0 : scope_hash_bytes;
}

// The hash of the values in the columns of the scope; 0 without any. `types` are those of the
// values, null: those of the columns.
std::uint32_t hash_scope(Relation index,
                         const columns& which,
                         const Datum* values,
                         const bool* nulls,
                         const Oid* types = nullptr);

} // namespace minhash::pg::index
