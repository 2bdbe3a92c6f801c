// Row estimates for the planner.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace minhash::pg {

// The types that the sides of an operator % can have.
struct similar_types {
    Oid signature;
    Oid query;
};

similar_types similar_types_in(Oid schema);

// For thresholds that are unknown at plan time.
constexpr double likely_threshold = 0.8;

// The value of a threshold's expression, of type float8, if it is known.
double expected_threshold(PlannerInfo* root, Node* expression, double if_unknown = likely_threshold);

// The threshold in an expression of type minhash_query, if it is known: a constant, or minhash_query(signature,
// constant).
double threshold_in_query(PlannerInfo* root, Node* expression, double if_unknown = likely_threshold);

// The share of a relation's rows for which the two sides are similar.
double similar_rows(PlannerInfo* root, List* sides, int relation, const similar_types& types, double threshold);

// The share of the pairs of a join that are similar; for semi- and anti-joins, of the outer rows.
double
similar_pairs(PlannerInfo* root, List* sides, SpecialJoinInfo* join, const similar_types& types, double threshold);

} // namespace minhash::pg
