// How many rows the planner may expect of the operator %. Only the number of distinct signatures
// and of NULLs is asked of the statistics: no operator is run on the values kept there, which may
// be somebody else's secrets or, by CREATE OPERATOR, of another type.
#include "pg/glue.h"

#include "pg/band_table/band_table.h"
#include "pg/settings.h"

#include <algorithm>
#include <cmath>

namespace minhash::pg {

namespace {

// For operators on other types, and where both sides come from one table.
constexpr double unknown_share = DEFAULT_MATCHING_SEL;

struct column {
    double present;  // the share of rows that are not NULL
    double distinct; // signatures, at least 1
};

column examine(VariableStatData& variable)
{
    column seen = {1, 1};
    if (HeapTupleIsValid(variable.statsTuple))
        seen.present -=
            reinterpret_cast<Form_pg_statistic>(GETSTRUCT(variable.statsTuple))->stanullfrac;
    bool guessed;
    seen.distinct = get_variable_numdistinct(&variable, &guessed);
    // Most texts have a signature of their own: a better guess than PostgreSQL's 200.
    if (guessed && variable.rel != nullptr)
        seen.distinct = std::max(seen.distinct, variable.rel->tuples);
    seen.distinct = std::max(seen.distinct, 1.0);
    return seen;
}

// The share of so many distinct signatures that is similar to one of them. Few pairs of texts are
// similar by chance: from 0.5 on little more than the signature itself, then more and more the
// lower the threshold is, and all at 0.
double similar_share(double distinct)
{
    return std::pow(distinct, std::pow(1 - similarity_threshold, 4) - 1);
}

} // namespace

// minhash_similar_sel(planner, operator, arguments, relation) -> float8
MINHASH_FUNCTION(minhash_similar_sel)
{
    PlannerInfo* const root = arg_internal<PlannerInfo>(fcinfo, 0);
    List* const arguments = arg_internal<List>(fcinfo, 2);
    VariableStatData variable;
    Node* other;
    bool on_left;
    if (!get_restriction_variable(root, arguments, PG_GETARG_INT32(3), &variable, &other, &on_left))
        PG_RETURN_FLOAT8(unknown_share);

    double share = unknown_share;
    const Oid type = signature_type(fcinfo);
    if (variable.vartype == type && exprType(other) == type) {
        const bool null = IsA(other, Const) && reinterpret_cast<const Const*>(other)->constisnull;
        const column seen = examine(variable);
        share = null ? 0 : seen.present * similar_share(seen.distinct);
    }
    ReleaseVariableStats(variable);
    PG_RETURN_FLOAT8(share);
}

// minhash_similar_joinsel(planner, operator, arguments, join type, join) -> float8
MINHASH_FUNCTION(minhash_similar_joinsel)
{
    PlannerInfo* const root = arg_internal<PlannerInfo>(fcinfo, 0);
    List* const arguments = arg_internal<List>(fcinfo, 2);
    SpecialJoinInfo* const join = arg_internal<SpecialJoinInfo>(fcinfo, 4);
    VariableStatData left;
    VariableStatData right;
    bool reversed;
    get_join_variables(root, arguments, join, &left, &right, &reversed);

    double share = unknown_share;
    const Oid type = signature_type(fcinfo);
    if (left.vartype == type && right.vartype == type) {
        VariableStatData& outer = reversed ? right : left;
        VariableStatData& inner = reversed ? left : right;
        const column a = examine(outer);
        column b = examine(inner);
        if (join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI) {
            // Rows with any partner: as eqjoinsel, take the smaller side's texts to be among those
            // of the larger, and the inner side as other conditions leave it.
            if (inner.rel != nullptr)
                b.distinct = std::clamp(inner.rel->rows, 1.0, b.distinct);
            share = a.present * std::min(1.0, b.distinct * similar_share(a.distinct));
        } else {
            share = a.present * b.present * similar_share(std::max(a.distinct, b.distinct));
        }
    }
    ReleaseVariableStats(left);
    ReleaseVariableStats(right);
    PG_RETURN_FLOAT8(share);
}

} // namespace minhash::pg
