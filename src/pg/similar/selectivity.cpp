// Estimates for the planner how many rows % and minhash_similar() select. Few texts are similar to a given one, unless
// the statistics of the column say otherwise: its most common values, and a sample of its signatures. These are used by
// PostgreSQL's own rule, that is, if the user may read the column. If a user-defined operator uses these estimators,
// the values might not be signatures at all.
#include "pg/arguments.h"
#include "pg/extension.h"
#include "pg/settings.h"
#include "pg/signature/signatures.h"
#include "pg/similar/column_sample.h"
#include "pg/similar/query.h"
#include "pg/similar/selectivity.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
}

namespace minhash::pg {

namespace {

// The guess if an operator's arguments are not signatures or queries, or if both are columns of the same table.
constexpr double unknown_share = DEFAULT_MATCHING_SEL;

// A pair of rows of one column is seen twice.
constexpr double few_pairs = 2;

struct column {
    double present;  // the share of rows that are not NULL
    double distinct; // the number of distinct signatures, at least 1
};

column examine(VariableStatData& variable)
{
    column seen = {1, 1};
    if (HeapTupleIsValid(variable.statsTuple))
        seen.present -= reinterpret_cast<Form_pg_statistic>(GETSTRUCT(variable.statsTuple))->stanullfrac;
    bool guessed;
    seen.distinct = get_variable_numdistinct(&variable, &guessed);
    // Most texts have a unique signature, so the number of rows is a better guess than PostgreSQL's 200.
    if (guessed && variable.rel != nullptr)
        seen.distinct = std::max(seen.distinct, variable.rel->tuples);
    seen.distinct = std::max(seen.distinct, 1.0);
    return seen;
}

// Of `distinct` different signatures, the share that is similar to a given one of them. Few texts are similar by
// chance. At thresholds from 0.5 up, hardly any signature except the given one itself is similar. Below 0.5, the share
// rises; at threshold 0, it is 1.
double similar_share(double distinct, double threshold) { return std::pow(distinct, std::pow(1 - threshold, 4) - 1); }

bool is_null(const Node* expression)
{
    return IsA(expression, Const) && reinterpret_cast<const Const*>(expression)->constisnull;
}

// The threshold of an operator: from the minhash_query on one of its sides, or else from the setting.
double threshold_of(PlannerInfo* root, List* sides, const similar_types& types)
{
    ListCell* side;
    foreach (side, sides) {
        Node* const expression = static_cast<Node*>(lfirst(side));
        if (exprType(expression) == types.query)
            return threshold_in_query(root, expression);
    }
    return similarity_threshold;
}

bool is_one_of(Oid type, const similar_types& types) { return type == types.signature || type == types.query; }

// The share of similar ones among `all` rows or pairs, of which `similar` were seen to be similar; `at_least` is the
// share if nothing had been seen. A few may be similar by accident, so they move the estimate half of the way.
double share_seen(double similar, double all, double at_least, double few)
{
    if (similar <= 0)
        return at_least;
    const double share = std::max(similar / all, at_least);
    return similar > few ? share : std::sqrt(share * at_least);
}

// The share of a column's rows that have one of its most common values, if this value is similar to `sought`.
double share_of_common_values(VariableStatData& variable, const similar_question& question, const signature& sought)
{
    AttStatsSlot slot;
    if (!HeapTupleIsValid(variable.statsTuple) || !statistic_proc_security_check(&variable, question.function) ||
        !get_attstatsslot(&slot,
                          variable.statsTuple,
                          STATISTIC_KIND_MCV,
                          InvalidOid,
                          ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
        return 0;
    double share = 0;
    for (int at = 0; slot.valuetype == question.types.signature && at < std::min(slot.nvalues, slot.nnumbers); at++) {
        const signature value = signature_of(slot.values[at]);
        if (value.scheme == sought.scheme && similarity(value, sought) >= question.threshold)
            share += slot.numbers[at];
    }
    free_attstatsslot(&slot);
    return share;
}

// The share of a column's rows that are similar to a constant, or on average to a value of the column if the other side
// is not known at plan time. `by_number` is the share if texts are similar by chance only.
double share_of_rows(
    PlannerInfo* root, VariableStatData& variable, Node* other, const similar_question& question, double by_number)
{
    constexpr double few_rows = 1;
    column_sample sample;
    const bool has_sample = read_sample(variable, question.function, sample);
    const Node* const value = estimate_expression_value(root, other);
    if (!IsA(value, Const)) {
        const similar_pairs_seen pairs =
            has_sample ? see_similar_pairs(sample, sample, question.threshold) : similar_pairs_seen{0, 1};
        return share_seen(pairs.similar, pairs.all, by_number, few_pairs);
    }
    if (is_null(value))
        return 0;
    const Datum constant = reinterpret_cast<const Const*>(value)->constvalue;
    const signature sought =
        exprType(other) == question.types.query ? query_of(constant).sought : signature_of(constant);
    const double common = share_of_common_values(variable, question, sought);
    const double near = has_sample ? count_similar(sample, sought, question.threshold) : 0;
    return std::max(std::min(common, 1.0), share_seen(near, has_sample ? sample.rows : 1, by_number, few_rows));
}

} // namespace

similar_types similar_types_in(Oid schema)
{
    return {type_in(schema, "minhash_signature"), type_in(schema, "minhash_query")};
}

double expected_threshold(PlannerInfo* root, Node* expression, double if_unknown)
{
    const Node* const value = estimate_expression_value(root, expression);
    if (!IsA(value, Const) || is_null(value))
        return if_unknown;
    const double threshold = DatumGetFloat8(reinterpret_cast<const Const*>(value)->constvalue);
    return threshold >= 0 && threshold <= 1 ? threshold : if_unknown;
}

double threshold_in_query(PlannerInfo* root, Node* expression, double if_unknown)
{
    Node* const value = estimate_expression_value(root, expression);
    if (IsA(value, Const) && !is_null(value))
        return query_of(reinterpret_cast<const Const*>(value)->constvalue).threshold;
    if (IsA(value, FuncExpr)) {
        List* const arguments = reinterpret_cast<FuncExpr*>(value)->args;
        if (list_length(arguments) == 2 && exprType(static_cast<Node*>(lsecond(arguments))) == FLOAT8OID)
            return expected_threshold(root, static_cast<Node*>(lsecond(arguments)), if_unknown);
    }
    return if_unknown;
}

double similar_rows(PlannerInfo* root, List* sides, int relation, const similar_question& question)
{
    const similar_types& types = question.types;
    VariableStatData variable;
    Node* other;
    bool on_left;
    if (!get_restriction_variable(root, sides, relation, &variable, &other, &on_left))
        return unknown_share;

    double share = unknown_share;
    if (variable.vartype == types.signature && is_one_of(exprType(other), types)) {
        const column seen = examine(variable);
        share =
            is_null(other)
                ? 0
                : seen.present *
                      share_of_rows(root, variable, other, question, similar_share(seen.distinct, question.threshold));
    }
    ReleaseVariableStats(variable);
    return share;
}

double similar_pairs(PlannerInfo* root, List* sides, SpecialJoinInfo* join, const similar_question& question)
{
    const similar_types& types = question.types;
    const double threshold = question.threshold;
    VariableStatData left;
    VariableStatData right;
    bool reversed;
    get_join_variables(root, sides, join, &left, &right, &reversed);

    double share = unknown_share;
    if (is_one_of(left.vartype, types) && is_one_of(right.vartype, types)) {
        VariableStatData& outer = reversed ? right : left;
        VariableStatData& inner = reversed ? left : right;
        const column a = examine(outer);
        column b = examine(inner);
        if (join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI) {
            // Here an outer row counts once, if it has a partner at all. Like eqjoinsel(), this assumes that all texts
            // of the smaller side also occur on the larger side. Inner rows count only if they satisfy the other
            // conditions on the inner table.
            if (inner.rel != nullptr)
                b.distinct = std::clamp(inner.rel->rows, 1.0, b.distinct);
            share = a.present * std::min(1.0, b.distinct * similar_share(a.distinct, threshold));
        } else {
            similar_pairs_seen pairs = {0, 1};
            column_sample of_outer;
            column_sample of_inner;
            if (read_sample(outer, question.function, of_outer) && read_sample(inner, question.function, of_inner))
                pairs = see_similar_pairs(of_outer, of_inner, threshold);
            share = a.present * b.present *
                    share_seen(pairs.similar,
                               pairs.all,
                               similar_share(std::max(a.distinct, b.distinct), threshold),
                               few_pairs);
        }
    }
    ReleaseVariableStats(left);
    ReleaseVariableStats(right);
    return share;
}

// Arguments of both functions below. (For joins the fourth is the type of the join, and there is a fifth.)
enum { arg_planner, arg_operator, arg_sides, arg_relation, arg_join };

namespace {

similar_question arg_question(FunctionCallInfo fcinfo, PlannerInfo* root, List* sides)
{
    const similar_types types = similar_types_in(get_func_namespace(fcinfo->flinfo->fn_oid));
    return {types, get_opcode(PG_GETARG_OID(arg_operator)), threshold_of(root, sides, types)};
}

} // namespace

// minhash_similar_sel(planner, operator, arguments, relation) -> float8
MINHASH_FUNCTION(minhash_similar_sel)
{
    PlannerInfo* const root = arg_internal<PlannerInfo>(fcinfo, arg_planner);
    List* const sides = arg_internal<List>(fcinfo, arg_sides);
    PG_RETURN_FLOAT8(similar_rows(root, sides, PG_GETARG_INT32(arg_relation), arg_question(fcinfo, root, sides)));
}

// minhash_similar_joinsel(planner, operator, arguments, join type, join) -> float8
MINHASH_FUNCTION(minhash_similar_joinsel)
{
    PlannerInfo* const root = arg_internal<PlannerInfo>(fcinfo, arg_planner);
    List* const sides = arg_internal<List>(fcinfo, arg_sides);
    SpecialJoinInfo* const join = arg_internal<SpecialJoinInfo>(fcinfo, arg_join);
    PG_RETURN_FLOAT8(similar_pairs(root, sides, join, arg_question(fcinfo, root, sides)));
}

} // namespace minhash::pg
