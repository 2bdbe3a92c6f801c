// lsh_contained(): which texts of a query are contained in others, of the same query or of another.
#include "pg/arguments.h"
#include "pg/bulk/pair_call.h"
#include "pg/errors.h"
#include "pg/signer.h"

#include "bulk/containment/containment.h"

namespace minhash::pg {

namespace {

// Two texts with equally many shingles contain each other: the one with the larger id goes left, so that deleting
// contained texts keeps the smallest id.
void emit_contained(bulk::host& host, std::span<const bulk::found_pair> pairs)
{
    const auto is_turned = [](const pair_call& call, const bulk::found_pair& pair, const id_pair& found) {
        return !found.falling && bulk::set_size(*call.rows, pair.left) == bulk::set_size(*call.rows, pair.right);
    };
    put_pairs(host, pairs, is_turned);
}

void find_contained(pair_call& call)
{
    bulk::find_contained_pairs(*call.rows, call.crossing, emit_contained);
}

// -> (contained_id, container_id, containment)
Datum return_contained(const call_form& form)
{
    // After arg_query, arg_threshold and arg_recall.
    enum { arg_shingle_size = arg_recall + 1, arg_other_query = arg_shingle_size + 4 };

    const FunctionCallInfo fcinfo = form.fcinfo;
    bulk_request wanted = {};
    wanted.threshold = arg_threshold_of(form);
    for (int argument = arg_query; argument < arg_other_query; argument++)
        if (PG_ARGISNULL(position_of(form, argument)))
            fail_null_argument(position_of(form, argument), fcinfo->flinfo->fn_oid);
    wanted.id_type = arg_id_type(form);
    wanted.recall = arg_fraction(fcinfo, position_of(form, arg_recall), "recall");
    wanted.texts = default_text_scheme;
    wanted.texts.shingles = arg_shingling(fcinfo, position_of(form, arg_shingle_size));
    wanted.sets_only = true;
    wanted.texts_only = "The signature of a large text says little about a small one in it.";
    run_pair_call(form, wanted, position_of(form, arg_other_query), find_contained);
    return static_cast<Datum>(0);
}

} // namespace

// lsh_contained(query, threshold, recall, shingle_size, unit, fold, bag, other_query)
MINHASH_FUNCTION(lsh_contained)
{
    return return_contained({fcinfo, id_form::bigints});
}

// lsh_contained(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_contained_typed)
{
    return return_contained({fcinfo, id_form::typed});
}

} // namespace minhash::pg
