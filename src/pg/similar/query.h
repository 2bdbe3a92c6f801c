// The type minhash_query: a signature to search for, with a threshold. If the right side of the operator % has this
// type, the threshold comes from the query, not from a setting. So this form of the operator is IMMUTABLE, and an index
// scan uses the query's threshold.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"

extern "C" {
#include "access/stratnum.h"
}

namespace minhash::pg {

// Strategy numbers of the operator %, the same in every access method that supports it.
enum similar_strategy : StrategyNumber {
    similar_by_setting = 1, // the right side is a signature
    similar_to_query = 2,   // the right side is a query
};

struct query {
    signature sought;
    double threshold; // 0 to 1
    bool is_rough;    // an lsh index may also return rows that are a little farther, since nobody will compare them
};

// Detoasts and reads a query. An ERROR if its bytes are damaged.
query query_of(Datum stored);

// What a scan with this strategy searches for: the signature on the operator's right side, and the threshold.
query query_of(Datum stored, StrategyNumber strategy);

} // namespace minhash::pg
