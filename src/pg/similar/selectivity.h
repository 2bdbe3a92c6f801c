// How many rows the planner may expect to be similar.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace minhash::pg {

// What the sides of an operator % can be.
struct similar_types {
    Oid signature;
    Oid query;
};

similar_types similar_types_in(Oid schema);

// The threshold that an expression of type float8 will give, or what is likely.
double expected_threshold(PlannerInfo* root, Node* expression);

// The share of a relation's rows for which the two sides are similar.
double similar_rows(
    PlannerInfo* root, List* sides, int relation, const similar_types& types, double threshold);

// The share of the pairs of a join, or for semi- and anti-joins of the outer rows.
double similar_pairs(PlannerInfo* root,
                     List* sides,
                     SpecialJoinInfo* join,
                     const similar_types& types,
                     double threshold);

} // namespace minhash::pg
