// The type minhash_query: a signature to search for, with a threshold. On the right side of the operator %, it supplies
// the threshold, so that the operator is IMMUTABLE and an index also knows the threshold.
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
};

// Reads a query, detoasted; an ERROR if its bytes are damaged.
query query_of(Datum stored);

// The signature that a strategy's right side searches for, and its threshold.
query query_of(Datum stored, StrategyNumber strategy);

} // namespace minhash::pg
