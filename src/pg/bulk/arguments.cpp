#include "pg/bulk/arguments.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/signer.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
}

namespace minhash::pg {

namespace {

// Several arguments determine how texts are signed. Returns the name of the first of them that the user has specified,
// or null if the user has specified none.
const char* signing_argument(const call_form& form)
{
    constexpr const char* names[] = {"num_hashes", "shingle_size", "unit", "fold", "bag", "seed", "method"};

    const FunctionCallInfo fcinfo = form.fcinfo;
    for (int each = 0; each < static_cast<int>(lengthof(names)); each++)
        if (!PG_ARGISNULL(position_of(form, arg_num_hashes + each)))
            return names[each];
    return nullptr;
}

} // namespace

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

void refuse_value(FunctionCallInfo fcinfo, const char* named)
{
    if (PG_ARGISNULL(arg_query + 1))
        return;
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, arg_query + 1);
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("the argument after the query must be NULL"),
            errdetail("Only its type, %s, is used: that of the ids.", format_type_be(type)),
            errhint("Give other arguments by name, for instance %s.", named));
}

Oid arg_id_type(const call_form& form)
{
    const FunctionCallInfo fcinfo = form.fcinfo;
    if (form.ids == id_form::bigints)
        return INT8OID;
    const bool named = form.ids == id_form::named;
    if (named)
        refuse_null(fcinfo, arg_query + 1);
    const Oid type = named ? PG_GETARG_OID(arg_query + 1) : get_fn_expr_argtype(fcinfo->flinfo, arg_query + 1);
    if (!named)
        refuse_value(fcinfo, "threshold => 0.8");
    require_order(type, "Ids need an order.");
    return type;
}

void check_result(const ReturnSetInfo& result, Oid id_type, int ids, std::span<const Oid> others)
{
    const TupleDesc columns = result.setDesc;
    bool fits = columns->natts == ids + static_cast<int>(others.size());
    for (int i = 0; fits && i < columns->natts; i++)
        fits = TupleDescAttr(columns, i)->atttypid == (i < ids ? id_type : others[static_cast<std::size_t>(i - ids)]);
    if (!fits)
        fail_result();
}

void fail_result()
{
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("columns of the result are not of the types that the call gives"));
}

double arg_threshold_of(const call_form& form)
{
    const FunctionCallInfo fcinfo = form.fcinfo;
    const int argument = position_of(form, arg_threshold);
    // The user may have written (query, 0.8, NULL). The typed form then gets 0.8 as a value of the type of ids, and
    // NULL as the threshold.
    if (PG_ARGISNULL(argument))
        ereport(ERROR,
                errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("threshold must not be NULL"),
                errhint("Leave it out to get the default, or give it by name, for instance threshold => 0.8."));
    return arg_fraction(fcinfo, argument, "threshold");
}

bulk_request arg_bulk(const call_form& form)
{
    const FunctionCallInfo fcinfo = form.fcinfo;
    const auto at = [&form](int argument) { return position_of(form, argument); };
    refuse_null(fcinfo, arg_query);
    bulk_request wanted = {};
    wanted.id_type = arg_id_type(form);
    wanted.threshold = arg_threshold_of(form);
    wanted.recall = PG_ARGISNULL(at(arg_recall)) ? default_recall : arg_fraction(fcinfo, at(arg_recall), "recall");
    if (PG_ARGISNULL(at(arg_bands)) != PG_ARGISNULL(at(arg_rows)))
        fail_half_banding();
    if (!PG_ARGISNULL(at(arg_bands))) {
        wanted.banding = arg_banding(fcinfo, at(arg_bands));
        if (!PG_ARGISNULL(at(arg_recall)))
            ereport(ERROR,
                    errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("recall cannot be given with bands and rows"),
                    errdetail("Bands and rows determine the recall."),
                    errhint("Leave out bands and rows, which are then chosen for the recall."));
    }
    if (!PG_ARGISNULL(at(arg_verify)))
        wanted.verify = arg_verification(fcinfo, at(arg_verify));
    if (!PG_ARGISNULL(at(arg_max_bucket)))
        wanted.max_bucket = arg_between(fcinfo, at(arg_max_bucket), "max_bucket", 1, INT_MAX);
    wanted.texts = arg_scheme(fcinfo, at(arg_num_hashes));
    wanted.hashes_given = !PG_ARGISNULL(at(arg_num_hashes));
    wanted.signing = signing_argument(form);
    wanted.notes_short_texts = true;
    return wanted;
}

void arg_weight(const call_form& form, int argument, bulk_request& wanted)
{
    struct named_argument {
        int number;
        const char* name;
    };

    constexpr named_argument without_effect[] = {{arg_bands, "bands"},
                                                 {arg_max_bucket, "max_bucket"},
                                                 {arg_num_hashes, "num_hashes"},
                                                 {arg_num_hashes + 5, "seed"},
                                                 {arg_num_hashes + 6, "method"}};

    const FunctionCallInfo fcinfo = form.fcinfo;
    if (form.ids == id_form::named || PG_ARGISNULL(position_of(form, argument)))
        return;
    text* const given = PG_GETARG_TEXT_PP(position_of(form, argument));
    if (view(given) == "none")
        return;
    if (view(given) != "idf")
        fail_choice("weight", given, "\"none\" and \"idf\"");
    for (const auto& [number, name] : without_effect)
        if (!PG_ARGISNULL(position_of(form, number)))
            ereport(ERROR,
                    errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s cannot be given with weight", name),
                    errdetail("Weighted texts are found by their rare shingles, without signatures and bands."),
                    errhint("Leave it out."));
    if (wanted.verify == verification::estimate)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("weighted similarity cannot be estimated"),
                errdetail("Signatures say how many shingles two texts share, not which."),
                errhint("Leave out verify, or leave out weight."));
    if (wanted.texts.shingles.bag)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("bags cannot be weighted"),
                errdetail("With weight, each shingle of a text counts once."),
                errhint("Leave out bag => true, or leave out weight."));
    wanted.weighted = true;
    wanted.notes_short_texts = false; // rare shingles decide, not how many there are
    wanted.sets_only = true;
    wanted.texts_only =
        "The weight of a shingle depends on how many of the texts have it, which signatures do not say.";
}

} // namespace minhash::pg
