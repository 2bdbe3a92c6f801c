// Functions that return pairs of rows, within one query or between two queries. lsh_pairs() returns pairs of
// near-duplicates; lsh_contained() returns pairs of a text and another text that contains it.
#include "pg/bulk/blocks.h"
#include "pg/bulk/phases.h"
#include "pg/errors.h"
#include "pg/extension.h"
#include "pg/signer.h"

#include "bulk/containment/containment.h"
#include "bulk/search/pairs.h"
#include "bulk/weighted/weighted.h"

#include <optional>
#include <utility>

extern "C" {
#include "catalog/pg_type.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

// If there are two queries, the left row of each pair belongs to the first query.
struct pair_call : bulk_call {
    SortSupportData order;
    MemoryContext pair_memory;
};

// Starts a call and reads its rows. `other_query` is the position of the argument for the second query, `apart` that of
// the query of verdicts, if the function has this argument. Each argument can be NULL.
pair_call& read_rows(const call_form& form, const bulk_request& wanted, int other_query, std::optional<int> apart)
{
    const FunctionCallInfo fcinfo = form.fcinfo;
    pair_call& call = start_call<pair_call>(fcinfo, wanted);
    constexpr Oid others[] = {FLOAT8OID};
    check_result(*call.result, wanted.id_type, 2, others);
    call.crossing = !PG_ARGISNULL(other_query);
    const planned_select first = plan_select(fcinfo, arg_query);
    const planned_select second = call.crossing ? plan_select(fcinfo, other_query, "other_query") : first;
    if (apart)
        read_verdicts(call, fcinfo, *apart);
    const planned_select queries[] = {first, second};
    read_queries(call, std::span(queries).first(call.crossing ? 2 : 1));
    end_reading(call);
    call.order = order_of(call.ids.type);
    call.pair_memory = AllocSetContextCreate(call.memory, "minhash_lsh pair", ALLOCSET_DEFAULT_SIZES);
    return call;
}

// Adds a pair to the result. Within one query, a pair of equal ids is left out, and the ids of a pair are swapped if
// is_turned(call, pair, order) returns true. `order` is the result of comparing the left id with the right one.
template <auto is_turned>
void put_pair(bulk::host& host, const bulk::found_pair& pair)
{
    pair_call& call = static_cast<pair_call&>(host);
    const MemoryContext former = MemoryContextSwitchTo(call.pair_memory);
    if (!call.ids.by_value)
        MemoryContextReset(call.pair_memory);
    Datum left = fetch_datum(call.ids, pair.left);
    Datum right = fetch_datum(call.ids, pair.right);
    const int order = call.crossing ? 1 : ApplySortComparator(left, false, right, false, &call.order);
    if (!call.crossing && order != 0 && is_turned(call, pair, order))
        std::swap(left, right);
    if (order != 0)
        put_row(*call.result, {left, right, Float8GetDatum(pair.similarity)});
    MemoryContextSwitchTo(former);
}

// True if the left id is larger than the right one. The ids are then swapped, and the smaller id is the left one.
bool is_falling(const pair_call&, const bulk::found_pair&, int order) { return order > 0; }

// If the texts of a pair have equally many shingles, each contains the other to the same degree. Then the left text
// (the contained one) should have the larger id, so that deleting contained texts keeps the text with the smallest id.
bool contains_smaller(const pair_call& call, const bulk::found_pair& pair, int order)
{
    return order < 0 && bulk::set_size(*call.rows, pair.left) == bulk::set_size(*call.rows, pair.right);
}

// -> (left_id, right_id, similarity)
Datum return_pairs(const call_form& form)
{
    enum { arg_other_query = arg_own, arg_apart, arg_weighting };

    bulk_request wanted = arg_bulk(form);
    arg_weight(form, arg_weighting, wanted);
    wanted.phases = wanted.weighted ? std::span<const char* const>(weighted_phases) : pair_phases;
    pair_call& call = read_rows(form, wanted, position_of(form, arg_other_query), position_of(form, arg_apart));
    if (row_count(call) > 1 && wanted.weighted) {
        bulk::find_weighted_pairs(*call.rows, call.crossing, put_pair<is_falling>);
    } else if (row_count(call) > 1) {
        const std::uint64_t left_out = bulk::find_pairs(*call.rows, call.crossing, put_pair<is_falling>);
        notice_large_buckets(left_out, call.rows->task.max_bucket);
    }
    return end_call(call);
}

// -> (contained_id, container_id, containment)
Datum return_contained(const call_form& form)
{
    // These arguments follow arg_query, arg_threshold and arg_recall.
    enum { arg_shingle_size = arg_recall + 1, arg_other_query = arg_shingle_size + 4 };

    const FunctionCallInfo fcinfo = form.fcinfo;
    bulk_request wanted = {};
    wanted.threshold = arg_threshold_of(form);
    for (int argument = arg_query; argument < arg_other_query; argument++)
        refuse_null(fcinfo, position_of(form, argument));
    wanted.id_type = arg_id_type(form);
    wanted.recall = arg_fraction(fcinfo, position_of(form, arg_recall), "recall");
    wanted.texts = default_text_scheme;
    wanted.texts.shingles = arg_shingling(fcinfo, position_of(form, arg_shingle_size));
    wanted.sets_only = true;
    wanted.phases = contained_phases;
    wanted.texts_only = "The signature of a large text says little about a small one in it.";
    pair_call& call = read_rows(form, wanted, position_of(form, arg_other_query), std::nullopt);
    if (row_count(call) > 1)
        bulk::find_contained_pairs(*call.rows, call.crossing, put_pair<contains_smaller>);
    return end_call(call);
}

} // namespace

// lsh_pairs(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//           unit, fold, bag, seed, method, other_query, apart, weight)
MINHASH_FUNCTION(lsh_pairs) { return return_pairs({fcinfo, id_form::bigints}); }

// lsh_pairs(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_pairs_typed) { return return_pairs({fcinfo, id_form::typed}); }

// lsh_contained(query, threshold, recall, shingle_size, unit, fold, bag, other_query)
MINHASH_FUNCTION(lsh_contained) { return return_contained({fcinfo, id_form::bigints}); }

// lsh_contained(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_contained_typed) { return return_contained({fcinfo, id_form::typed}); }

} // namespace minhash::pg
