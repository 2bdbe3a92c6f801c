// lsh_components(): the connected components of the pairs that a query returns. The pairs can come from any source.
#include "pg/bulk/call.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "bulk/components/components.h"

#include <algorithm>
#include <cmath>
#include <functional>

extern "C" {
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

// If ids are of type bigint (`plain`), pairs are collected and joined in batches of this size. Looking up ids reads
// scattered memory, which can be prefetched for a whole batch.
constexpr int most_waiting = 256;

struct waiting_pair {
    Datum ids[2];
    std::uint32_t hashes[2];
    std::uint32_t numbers[2];
    int level;
};

struct component_call : bulk_call {
    SortSupportData order;
    std::span<const double> thresholds; // in descending order; empty: there are none

    numbered_values numbered; // ids
    bulk::component_finder finder;
    Oid short_left; // for convert_id()
    Oid short_right;
    waiting_pair waiting[most_waiting];
    int waiting_count;
    std::uint64_t pairs;
    MemoryContext cluster_memory;

    // The result row, which start_row() prepares.
    Datum values[5];
    bool nulls[5];
    Datum* columns;       // the row's columns; all but the first are the same for a whole component
    TupleTableSlot* slot; // holds the tuple that `columns` points into; null: `columns` is `values`
};

// Joins the collected pairs.
void join_waiting(component_call& call)
{
    const std::span<waiting_pair> pairs = {call.waiting, static_cast<std::size_t>(call.waiting_count)};
    for (waiting_pair& pair : pairs) {
        for (const int side : {0, 1}) {
            pair.hashes[side] = hash_of(call.numbered, pair.ids[side]);
            bulk::prefetch_entry(call.numbered.numbers, pair.hashes[side]);
        }
    }
    for (const waiting_pair& pair : pairs) {
        for (const std::uint32_t hash : pair.hashes) {
            const std::uint32_t number = bulk::likely_number(call.numbered.numbers, hash);
            if (number != bulk::no_row && call.numbered.plain)
                prefetch_datum(call.numbered.values, number);
        }
    }
    const std::uint32_t known = call.finder.count;
    for (waiting_pair& pair : pairs) {
        for (const int side : {0, 1}) {
            pair.numbers[side] = number_of(call.numbered, pair.ids[side], pair.hashes[side]);
            if (pair.numbers[side] < known)
                bulk::prefetch_row(call.finder, pair.numbers[side], pair.level);
        }
    }
    bulk::take_rows(call.finder, call.numbered.numbers.count);
    for (const waiting_pair& pair : pairs)
        bulk::join_rows(call.finder, pair.numbers[0], pair.numbers[1], pair.level);
    call.waiting_count = 0;
}

bool take_pair(TupleTableSlot* slot, DestReceiver* self)
{
    component_call& call = call_of<component_call>(self);
    slot_getallattrs(slot);
    report_read(call, "joining pairs", call.pairs++, call.expected_rows);
    const std::span<const double> thresholds = call.thresholds;
    if (slot->tts_isnull[0] || slot->tts_isnull[1] || (!thresholds.empty() && slot->tts_isnull[2])) {
        call.skipped++;
        return true;
    }
    int level = 0;
    if (!thresholds.empty()) {
        const double similarity = DatumGetFloat8(slot->tts_values[2]);
        if (std::isnan(similarity))
            ereport(ERROR,
                    errcode(ERRCODE_DATA_EXCEPTION),
                    errmsg("similarity of a pair is NaN"),
                    errhint("Leave such pairs out of the query, or make their similarity NULL."));
        // Find the first threshold that the similarity reaches.
        while (level < call.finder.levels && similarity < thresholds[level])
            level++;
        if (level == call.finder.levels)
            return true;
    }
    Assert(call.waiting_count < most_waiting);
    waiting_pair& pair = call.waiting[call.waiting_count++];
    pair.ids[0] = convert_id(call.short_left, slot->tts_values[0]);
    pair.ids[1] = convert_id(call.short_right, slot->tts_values[1]);
    pair.level = level;
    if (call.numbered.plain && call.waiting_count < most_waiting)
        return true;
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    join_waiting(call);
    MemoryContextReset(call.row_memory);
    MemoryContextSwitchTo(former);
    return true;
}

// An ERROR if only one id of a pair has the right type, as in a query that was meant for lsh_clusters().
void check_pairs(Oid wanted, TupleDesc columns)
{
    const Oid left = TupleDescAttr(columns, 0)->atttypid;
    const Oid right = TupleDescAttr(columns, 1)->atttypid;
    if (takes_ids(wanted, left) == takes_ids(wanted, right))
        return;
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("query returns ids of two types, %s and %s", format_type_be(left), format_type_be(right)),
            errhint("Return two ids of one type: SELECT left_id, right_id FROM pairs. Texts are compared by "
                    "lsh_pairs() and lsh_clusters()."));
}

void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    component_call& call = call_of<component_call>(self);
    const bool similar = columns->natts == 3;
    if (columns->natts != 2 && !similar)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("query must return two or three columns: two ids, and similarity"),
                errdetail_plural("It returns %d column.", "It returns %d columns.", columns->natts, columns->natts),
                errhint("Use, for example, SELECT left_id, right_id, similarity FROM pairs."));
    check_pairs(call.wanted.id_type, columns);
    call.short_left = check_ids(call.wanted.id_type, TupleDescAttr(columns, 0)->atttypid, ids_of::pairs);
    call.short_right = check_ids(call.wanted.id_type, TupleDescAttr(columns, 1)->atttypid, ids_of::pairs);
    if (call.thresholds.empty())
        return;
    if (!similar)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("thresholds need a third query column, the similarity"),
                errhint("Let the query return it, or leave out thresholds."));
    const Oid type = TupleDescAttr(columns, 2)->atttypid;
    if (getBaseType(type) != FLOAT8OID)
        ereport(
            ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("third query column, the similarity, has type %s, expected double precision", format_type_be(type)),
            errhint("Cast it to double precision."));
}

void read_pairs(component_call& call, const planned_select& query)
{
    call.expected_rows = query.rows;
    run_select(query, call, take_columns, take_pair);
    join_waiting(call);
    if (call.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu pair with a NULL was left out",
                              "%llu pairs with a NULL were left out",
                              static_cast<unsigned long>(call.skipped),
                              static_cast<unsigned long long>(call.skipped)));
}

// Fetches an id of a component, and prefetches an id that will be needed soon (perhaps an id of a later component).
Datum fetch_id(component_call& call, const bulk::component_rows& found, std::size_t ordinal)
{
    constexpr std::size_t ahead = 32;
    if (!call.numbered.plain)
        return fetch_datum(call.numbered.values, found.rows[ordinal]);
    if (ordinal + ahead < found.rows.size() + found.later)
        prefetch_datum(call.numbered.values, found.rows.data()[ordinal + ahead]);
    return fetch_plain(call.numbered.values, found.rows[ordinal]);
}

// The smallest id of a component, as a copy in the current context.
Datum smallest_of(component_call& call, const bulk::component_rows& found)
{
    Datum smallest = 0;
    const MemoryContext outer = MemoryContextSwitchTo(call.row_memory);
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        const Datum id = fetch_id(call, found, i);
        if (i == 0 || ApplySortComparator(id, false, smallest, false, &call.order) < 0) {
            MemoryContextSwitchTo(outer);
            smallest = datumCopy(id, call.numbered.values.by_value, call.numbered.values.length);
            MemoryContextSwitchTo(call.row_memory);
        }
        if (!call.numbered.plain)
            MemoryContextReset(call.row_memory);
    }
    MemoryContextSwitchTo(outer);
    return smallest;
}

// Prepares the result row, which is reused for all rows of the result. If ids are plain, the result row is a tuple, and
// its columns are overwritten. Forming a new tuple for each row would take longer than everything else.
void start_row(component_call& call)
{
    call.nulls[4] = call.thresholds.empty();
    call.columns = call.values;
    if (!call.numbered.plain)
        return;
    const MinimalTuple row = form_minimal_tuple(call.result->setDesc, call.values, call.nulls);
    call.columns = reinterpret_cast<Datum*>(reinterpret_cast<char*>(row) - MINIMAL_TUPLE_OFFSET + row->t_hoff);
    call.slot = MakeSingleTupleTableSlot(call.result->setDesc, &TTSOpsMinimalTuple);
    ExecStoreMinimalTuple(row, call.slot, false);
}

void emit_component(bulk::host& host, int level, const bulk::component_rows& found)
{
    component_call& call = static_cast<component_call&>(host);
    const MemoryContext former = MemoryContextSwitchTo(call.cluster_memory);
    call.columns[1] = call.columns[2] = smallest_of(call, found);
    call.columns[3] = Int64GetDatum(static_cast<std::int64_t>(found.rows.size()));
    if (!call.thresholds.empty())
        call.columns[4] = Float8GetDatum(call.thresholds[level]);
    MemoryContextSwitchTo(call.row_memory);
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        call.columns[0] = fetch_id(call, found, i);
        if (call.slot != nullptr) {
            tuplestore_puttupleslot(call.result->setResult, call.slot);
        } else {
            tuplestore_putvalues(call.result->setResult, call.result->setDesc, call.values, call.nulls);
            MemoryContextReset(call.row_memory);
        }
    }
    MemoryContextSwitchTo(former);
    MemoryContextReset(call.cluster_memory);
}

// The thresholds, in descending order and without duplicates.
std::span<const double> arg_thresholds(FunctionCallInfo fcinfo, int argument)
{
    if (PG_ARGISNULL(argument))
        return {};
    ArrayType* const given = PG_GETARG_ARRAYTYPE_P_COPY(argument);
    const int count = ArrayGetNItems(ARR_NDIM(given), ARR_DIMS(given));
    if (ARR_NDIM(given) > 1)
        ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("thresholds must be an array of one dimension"));
    if (count < 1 || count > bulk::most_levels)
        ereport(ERROR,
                errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                errmsg("thresholds must have between 1 and %d values", bulk::most_levels));
    double* const first = reinterpret_cast<double*>(ARR_DATA_PTR(given));
    double* const end = first + count;
    const bool nulls = array_contains_nulls(given);
    if (nulls || std::any_of(first, end, [](double value) { return std::isnan(value); }))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("thresholds must not have %s", nulls ? "NULLs" : "NaN"));
    std::sort(first, end, std::greater());
    return {first, std::unique(first, end)};
}

// -> (id, cluster_id, representative, size, threshold)
Datum return_components(FunctionCallInfo fcinfo, Oid id_type, int thresholds)
{
    refuse_null(fcinfo, arg_query);
    require_order(id_type, "Ids need an order.");
    bulk_request wanted = {};
    wanted.id_type = id_type;
    component_call& call = start_call<component_call>(fcinfo, wanted);
    call.order = order_of(id_type);
    call.thresholds = arg_thresholds(fcinfo, thresholds);
    open_numbered(call.numbered, call, call.budget, id_type);
    bulk::start_finder(call.finder, call, std::max(1, static_cast<int>(call.thresholds.size())));
    call.cluster_memory = AllocSetContextCreate(call.memory, "minhash_lsh cluster", ALLOCSET_SMALL_SIZES);
    read_pairs(call, plan_select(fcinfo, arg_query));
    bulk::release(call, call.numbered.numbers.entries);
    start_row(call);
    bulk::end_finder(call.finder, emit_component);
    return end_call(call);
}

} // namespace

// lsh_components(query, thresholds)
MINHASH_FUNCTION(lsh_components) { return return_components(fcinfo, INT8OID, 1); }

// lsh_components(query, anyelement, thresholds)
MINHASH_FUNCTION(lsh_components_typed)
{
    refuse_value(fcinfo, "thresholds => '{0.8}'");
    return return_components(fcinfo, get_fn_expr_argtype(fcinfo->flinfo, 1), 2);
}

} // namespace minhash::pg
