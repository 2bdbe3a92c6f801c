#include "pg/arguments.h"
#include "pg/bulk/arguments.h"
#include "pg/errors.h"
#include "pg/signer.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

verification arg_verification(FunctionCallInfo fcinfo, int argument)
{
    text* const given = PG_GETARG_TEXT_PP(argument);
    const std::string_view name = view(given);
    if (name == "exact")
        return verification::exact;
    if (name != "estimate")
        fail_choice("verify", given, "\"exact\" and \"estimate\"");
    return verification::estimate;
}

bulk::measure arg_measure_of(FunctionCallInfo fcinfo, int argument)
{
    text* const given = PG_GETARG_TEXT_PP(argument);
    const std::string_view name = view(given);
    if (name == "containment")
        return bulk::measure::containment;
    if (name != "jaccard")
        fail_choice("measure", given, "\"jaccard\" and \"containment\"");
    return bulk::measure::jaccard;
}

// Containment has neither signatures nor bands.
void refuse_with_containment(const bulk_call& call, const bulk_request& wanted)
{
    const FunctionCallInfo fcinfo = call.fcinfo;
    const char* name = wanted.verify == verification::estimate ? "verify => 'estimate'" : nullptr;

    const struct {
        bulk_argument argument;
        const char* name;
    } others[] = {{arg_bands, "bands"},
                  {arg_rows, "rows"},
                  {arg_max_bucket, "max_bucket"},
                  {arg_num_hashes, "num_hashes"}};

    for (const auto& each : others)
        if (name == nullptr && !PG_ARGISNULL(position_of(call, each.argument)))
            name = each.name;
    if (name != nullptr)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s cannot be given with measure 'containment'", name),
                errdetail("Containment is computed from texts, without signatures and bands."),
                errhint("Leave it out; recall says how many pairs are to be found."));
}

} // namespace

bulk_request arg_bulk(const bulk_call& call)
{
    const FunctionCallInfo fcinfo = call.fcinfo;
    const auto at = [&call](int argument) { return position_of(call, argument); };
    // The typed form with a number for the type of ids, and without a threshold, comes here.
    if (!call.typed && PG_ARGISNULL(arg_threshold))
        ereport(ERROR,
                errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("threshold must not be NULL"),
                errhint("If the argument after the query gives the type of ids, give the threshold "
                        "by name, for instance threshold => 0.8."));
    for (int argument = arg_query; argument < arg_own; argument++) {
        const bool optional = argument >= arg_bands && argument <= arg_num_hashes;
        if (!optional && PG_ARGISNULL(at(argument)))
            fail_null_argument(at(argument), fcinfo->flinfo->fn_oid);
    }
    bulk_request wanted = {};
    wanted.id_type = call.typed ? get_fn_expr_argtype(fcinfo->flinfo, arg_query + 1) : Oid{INT8OID};
    if (!OidIsValid(lookup_type_cache(wanted.id_type, TYPECACHE_LT_OPR)->lt_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s",
                       format_type_be(wanted.id_type)),
                errdetail("Ids need an order."));
    wanted.threshold = arg_fraction(fcinfo, at(arg_threshold), "threshold");
    wanted.recall = arg_fraction(fcinfo, at(arg_recall), "recall");
    if (PG_ARGISNULL(at(arg_bands)) != PG_ARGISNULL(at(arg_rows)))
        fail_half_banding();
    if (!PG_ARGISNULL(at(arg_bands)))
        wanted.shape = arg_banding(fcinfo, at(arg_bands));
    if (!PG_ARGISNULL(at(arg_verify)))
        wanted.verify = arg_verification(fcinfo, at(arg_verify));
    if (!PG_ARGISNULL(at(arg_max_bucket)))
        wanted.max_bucket = arg_between(fcinfo, at(arg_max_bucket), "max_bucket", 1, INT_MAX);
    wanted.texts = arg_scheme(fcinfo, at(arg_num_hashes));
    wanted.hashes_given = !PG_ARGISNULL(at(arg_num_hashes));
    wanted.measure = arg_measure_of(fcinfo, at(arg_measure));
    if (wanted.measure == bulk::measure::containment)
        refuse_with_containment(call, wanted);
    return wanted;
}

} // namespace minhash::pg
