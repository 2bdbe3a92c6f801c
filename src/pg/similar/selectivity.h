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

// The guess for thresholds that are unknown at plan time.
constexpr double likely_threshold = 0.8;

// The value of a float8 expression that gives a threshold. `if_unknown` if the value is not known at plan time or is
// out of range.
double expected_threshold(PlannerInfo* root, Node* expression, double if_unknown = likely_threshold);

// The threshold in an expression of type minhash_query. The expression is a constant or a call
// _minhash_query(signature, threshold). `if_unknown` if the threshold is not known at plan time.
double threshold_in_query(PlannerInfo* root, Node* expression, double if_unknown = likely_threshold);

// What is asked of two sides: whether their similarity reaches the threshold. `function` answers this; PostgreSQL asks
// for it to decide who may use statistics.
struct similar_question {
    similar_types types;
    Oid function;
    double threshold;
};

// The share of a relation's rows for which the two sides are similar.
double similar_rows(PlannerInfo* root, List* sides, int relation, const similar_question& question);

// The share of a join's pairs that are similar. For semi- and anti-joins, the share of outer rows that have a similar
// row.
double similar_pairs(PlannerInfo* root, List* sides, SpecialJoinInfo* join, const similar_question& question);

} // namespace minhash::pg
