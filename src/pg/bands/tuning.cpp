// The S-curve, the functions that choose bands and rows by this curve, and row estimates for the planner.
#include "pg/arguments.h"
#include "pg/errors.h"

#include "core/tuning.h"

#include <cmath>

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
}

namespace minhash::pg {

// lsh_probability(similarity, bands, rows) -> float8
MINHASH_FUNCTION(lsh_probability)
{
    const double similarity = arg_fraction(fcinfo, 0, "similarity");
    const banding banding = arg_banding(fcinfo, 1);
    PG_RETURN_FLOAT8(band_probability(similarity, banding.bands, banding.rows));
}

// lsh_threshold(bands, rows) -> float8, by the rule of thumb (1 / bands)^(1 / rows)
MINHASH_FUNCTION(lsh_threshold)
{
    const banding banding = arg_banding(fcinfo, 0);
    PG_RETURN_FLOAT8(threshold_rule(banding.bands, banding.rows));
}

// lsh_curve(bands, rows, steps) -> (similarity, probability) rows
MINHASH_FUNCTION(lsh_curve)
{
    const banding banding = arg_banding(fcinfo, 0);
    const int steps = arg_between(fcinfo, 2, "steps", 1, 1000000);
    const ReturnSetInfo& result = start_rows(fcinfo);
    for (int step = 0; step <= steps; step++) {
        CHECK_FOR_INTERRUPTS();
        const double similarity = static_cast<double>(step) / steps;
        put_row(
            result,
            {Float8GetDatum(similarity), Float8GetDatum(band_probability(similarity, banding.bands, banding.rows))});
    }
    return static_cast<Datum>(0);
}

namespace {

// The arguments of lsh_params().
enum { at_threshold, at_num_hashes, at_recall, at_rule, false_candidate, missed_pair };

// An ERROR if this argument is given. The rule of the call does not use it.
void refuse_argument(FunctionCallInfo fcinfo, int argument, const char* name, const char* rule)
{
    if (!PG_ARGISNULL(argument))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s cannot be given with rule '%s'", name, rule),
                errhint("Rule 'recall' uses recall, rule 'area' the two weights."));
}

double arg_weight(FunctionCallInfo fcinfo, int argument)
{
    constexpr double default_weight = 0.5;
    return PG_ARGISNULL(argument) ? default_weight : PG_GETARG_FLOAT8(argument);
}

banding choose_as_asked(FunctionCallInfo fcinfo, double threshold, int num_hashes, double recall)
{
    text* const rule = PG_GETARG_TEXT_PP(at_rule);
    const std::string_view rule_name = view(rule);
    if (rule_name == "recall") {
        refuse_argument(fcinfo, false_candidate, "false_candidate_weight", "recall");
        refuse_argument(fcinfo, missed_pair, "missed_pair_weight", "recall");
        return choose_by_recall(threshold, num_hashes, recall);
    }
    if (rule_name != "area")
        fail_choice("rule", rule, "\"recall\" and \"area\"");
    refuse_argument(fcinfo, at_recall, "recall", "area");
    const double false_candidates = arg_weight(fcinfo, false_candidate);
    const double missed_pairs = arg_weight(fcinfo, missed_pair);
    if (!(false_candidates >= 0 && missed_pairs >= 0 && false_candidates + missed_pairs > 0) ||
        !std::isfinite(false_candidates + missed_pairs))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("weights must be finite, not negative, and not both 0"),
                errhint("Equal weights of 0.5 are the usual choice."));
    return choose_by_area(threshold, num_hashes, false_candidates, missed_pairs);
}

} // namespace

// lsh_params(threshold, num_hashes, recall, rule, false_candidate_weight, missed_pair_weight)
// -> one row
MINHASH_FUNCTION(lsh_params)
{
    for (const int argument : {at_threshold, at_num_hashes, at_rule})
        if (PG_ARGISNULL(argument))
            PG_RETURN_NULL();
    const int num_hashes = arg_between(fcinfo, at_num_hashes, "num_hashes", 1, max_num_hashes);
    const auto [threshold, recall] = arg_aim(fcinfo, at_threshold, at_recall);
    const banding chosen = choose_as_asked(fcinfo, threshold, num_hashes, recall);
    if (chosen.bands == 0)
        fail_no_choice(threshold, num_hashes, recall);

    return make_row(fcinfo,
                    {
                        Int32GetDatum(chosen.bands),
                        Int32GetDatum(chosen.rows),
                        Int32GetDatum(chosen.bands * chosen.rows),
                        Float8GetDatum(band_probability(threshold, chosen.bands, chosen.rows)),
                        Float8GetDatum(steepest_point(chosen.bands, chosen.rows)),
                    });
}

namespace {

// Estimates for the planner how many rows a function returns: the value of an integer argument plus `more`, if the
// argument is known at plan time.
Node* estimate_rows(FunctionCallInfo fcinfo, int argument, int more)
{
    Node* const asked = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
    if (!IsA(asked, SupportRequestRows))
        return nullptr;
    SupportRequestRows* const request = reinterpret_cast<SupportRequestRows*>(asked);
    if (!is_funcclause(request->node))
        return nullptr;
    List* const arguments = reinterpret_cast<FuncExpr*>(request->node)->args;
    if (argument >= list_length(arguments))
        return nullptr;
    Node* const given = estimate_expression_value(request->root, static_cast<Node*>(list_nth(arguments, argument)));
    const Const* const known = reinterpret_cast<const Const*>(given);
    if (!IsA(given, Const) || known->constisnull || known->consttype != INT4OID)
        return nullptr;
    request->rows = std::fmax(1, DatumGetInt32(known->constvalue) + static_cast<double>(more));
    return asked;
}

} // namespace

// lsh_bands yields as many rows as there are bands.
MINHASH_FUNCTION(lsh_bands_support) { PG_RETURN_POINTER(estimate_rows(fcinfo, 1, 0)); }

// lsh_curve yields one row more than there are steps.
MINHASH_FUNCTION(lsh_curve_support) { PG_RETURN_POINTER(estimate_rows(fcinfo, 2, 1)); }

} // namespace minhash::pg
