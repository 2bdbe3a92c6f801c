// lsh_components(): the connected components of a query's pairs, wherever these come from.
#include "pg/arguments.h"
#include "pg/bulk/numbered.h"
#include "pg/bulk/select.h"
#include "pg/errors.h"

#include "bulk/components/components.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

// Pairs are collected and joined so many at once, so that the memory of their ids, which is scattered, can be
// prefetched.
constexpr int most_waiting = 256;

struct waiting_pair {
    Datum ids[2];
    std::uint32_t hashes[2];
    std::uint32_t numbers[2];
    int level;
};

struct component_call : bulk_host {
    Oid id_type;
    FmgrInfo compare;
    double* thresholds; // falling; null: there are none
    int levels;

    bulk::memory_budget budget;
    numbered_values ids;
    bulk::component_finder finder;
    Oid short_left; // convert_id()
    Oid short_right;
    waiting_pair waiting[most_waiting];
    int waiting_count;
    std::uint64_t pairs;
    double expected_pairs;
    std::uint64_t skipped; // pairs with a NULL
    MemoryContext row_memory;
    MemoryContext cluster_memory;
    ReturnSetInfo* result;
    MinimalTuple answer; // start_answer(); null: not yet
    int answer_level;
    TupleTableSlot* slot;
};

struct receiver {
    DestReceiver pub; // PostgreSQL knows this part
    component_call* call;
};

// Joins the collected pairs.
void join_waiting(component_call& call)
{
    const std::span<waiting_pair> pairs = {call.waiting, static_cast<std::size_t>(call.waiting_count)};
    for (waiting_pair& pair : pairs) {
        for (const int side : {0, 1}) {
            pair.hashes[side] = hash_of(call.ids, pair.ids[side]);
            bulk::prefetch_entry(call.ids.numbers, pair.hashes[side]);
        }
    }
    for (const waiting_pair& pair : pairs) {
        for (const std::uint32_t hash : pair.hashes) {
            const std::uint32_t number = bulk::likely_number(call.ids.numbers, hash);
            if (number != bulk::no_row && call.ids.plain)
                prefetch_datum(call.ids.values, number);
        }
    }
    const std::uint32_t known = call.finder.count;
    for (waiting_pair& pair : pairs) {
        for (const int side : {0, 1}) {
            pair.numbers[side] = number_of(call.ids, pair.ids[side], pair.hashes[side]);
            if (pair.numbers[side] < known)
                bulk::prefetch_row(call.finder, pair.numbers[side], pair.level);
        }
    }
    bulk::take_rows(call.finder, call.ids.numbers.count);
    for (const waiting_pair& pair : pairs)
        bulk::join_rows(call.finder, pair.numbers[0], pair.numbers[1], pair.level);
    call.waiting_count = 0;
}

// The first level whose threshold a similarity reaches.
int level_of(const component_call& call, double similarity)
{
    int level = 0;
    while (level < call.levels && similarity < call.thresholds[level])
        level++;
    return level;
}

bool take_pair(TupleTableSlot* slot, DestReceiver* self)
{
    component_call& call = *reinterpret_cast<receiver*>(self)->call;
    slot_getallattrs(slot);
    const std::uint64_t read = call.pairs++;
    bulk::report(call,
                 "joining pairs",
                 read,
                 call.expected_pairs >= static_cast<double>(read) ? static_cast<std::uint64_t>(call.expected_pairs)
                                                                  : 0);
    if (slot->tts_isnull[0] || slot->tts_isnull[1] || (call.thresholds != nullptr && slot->tts_isnull[2])) {
        call.skipped++;
        return true;
    }
    int level = 0;
    if (call.thresholds != nullptr) {
        const double similarity = DatumGetFloat8(slot->tts_values[2]);
        if (std::isnan(similarity))
            ereport(ERROR,
                    errcode(ERRCODE_DATA_EXCEPTION),
                    errmsg("similarity of a pair is NaN"),
                    errhint("Leave such pairs out of the query, or make their similarity NULL."));
        level = level_of(call, similarity);
    }
    if (level == call.levels)
        return true;
    Assert(call.waiting_count < most_waiting);
    waiting_pair& pair = call.waiting[call.waiting_count++];
    pair.ids[0] = convert_id(call.short_left, slot->tts_values[0]);
    pair.ids[1] = convert_id(call.short_right, slot->tts_values[1]);
    pair.level = level;
    if (call.ids.plain && call.waiting_count < most_waiting)
        return true;
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    join_waiting(call);
    MemoryContextReset(call.row_memory);
    MemoryContextSwitchTo(former);
    return true;
}

void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    component_call& call = *reinterpret_cast<receiver*>(self)->call;
    const bool similar = columns->natts == 3;
    if (columns->natts != 2 && !similar)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("query must return two or three columns: two ids, and similarity"),
                errdetail_plural("It returns %d column.", "It returns %d columns.", columns->natts, columns->natts),
                errhint("Use, for example, SELECT left_id, right_id, similarity FROM pairs."));
    call.short_left = check_ids(call.id_type, TupleDescAttr(columns, 0)->atttypid);
    call.short_right = check_ids(call.id_type, TupleDescAttr(columns, 1)->atttypid);
    if (call.thresholds == nullptr)
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

void ignore(DestReceiver*) {}

void read_pairs(component_call& call, const char* query, Oid function)
{
    receiver receiving = {};
    receiving.pub.receiveSlot = take_pair;
    receiving.pub.rStartup = take_columns;
    receiving.pub.rShutdown = ignore;
    receiving.pub.rDestroy = ignore;
    receiving.call = &call;
    const planned_select planned = plan_select(query, {function, "left_id, right_id", true});
    call.expected_pairs = planned.rows;
    call.estimated = true;
    run_select(planned, receiving.pub);
    call.estimated = false;
    join_waiting(call);
    if (call.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu pair with a NULL was left out",
                              "%llu pairs with a NULL were left out",
                              static_cast<unsigned long>(call.skipped),
                              static_cast<unsigned long long>(call.skipped)));
    notice_spilling(call.budget);
}

bool is_less(component_call& call, Datum a, Datum b)
{
    return call.ids.plain ? DatumGetInt64(a) < DatumGetInt64(b)
                          : DatumGetInt32(FunctionCall2Coll(&call.compare, call.ids.collation, a, b)) < 0;
}

// Fetches an id of a component, and prefetches one of the next.
Datum fetch_id(component_call& call, const bulk::component_rows& found, std::size_t place)
{
    constexpr std::size_t ahead = 32;
    bool null;
    if (!call.ids.plain)
        return fetch_datum(call.ids.values, found.rows[place], null);
    if (place + ahead < found.rows.size() + found.later)
        prefetch_datum(call.ids.values, found.rows.data()[place + ahead]);
    return fetch_plain(call.ids.values, found.rows[place]);
}

// The smallest id of a component, in the current context.
Datum smallest_of(component_call& call, const bulk::component_rows& found)
{
    Datum smallest = 0;
    const MemoryContext outer = MemoryContextSwitchTo(call.row_memory);
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        const Datum id = fetch_id(call, found, i);
        if (i == 0 || is_less(call, id, smallest)) {
            MemoryContextSwitchTo(outer);
            smallest = datumCopy(id, call.ids.values.by_value, call.ids.values.length);
            MemoryContextSwitchTo(call.row_memory);
        }
        if (!call.ids.plain)
            MemoryContextReset(call.row_memory);
    }
    MemoryContextSwitchTo(outer);
    return smallest;
}

// Makes a result tuple for plain ids, whose first four columns are overwritten for each row: forming a new tuple for
// each would take longer than everything else.
void start_answer(component_call& call, int level)
{
    const bool every_pair = call.thresholds == nullptr;
    Datum values[] = {0, 0, 0, 0, every_pair ? Datum{0} : Float8GetDatum(call.thresholds[level])};
    bool nulls[] = {false, false, false, false, every_pair};
    call.answer = form_minimal_tuple(call.result->setDesc, values, nulls);
    call.answer_level = level;
    if (call.slot == nullptr)
        call.slot = MakeSingleTupleTableSlot(call.result->setDesc, &TTSOpsMinimalTuple);
    ExecStoreMinimalTuple(call.answer, call.slot, false);
}

void emit_plain(component_call& call, int level, const bulk::component_rows& found)
{
    if (call.answer == nullptr || call.answer_level != level)
        start_answer(call, level);
    const Datum smallest = smallest_of(call, found);
    Datum* const columns =
        reinterpret_cast<Datum*>(reinterpret_cast<char*>(call.answer) - MINIMAL_TUPLE_OFFSET + call.answer->t_hoff);
    columns[1] = columns[2] = smallest;
    columns[3] = Int64GetDatum(static_cast<std::int64_t>(found.rows.size()));
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        columns[0] = fetch_id(call, found, i);
        tuplestore_puttupleslot(call.result->setResult, call.slot);
    }
}

void emit_component(bulk::host& host, int level, const bulk::component_rows& found)
{
    component_call& call = static_cast<component_call&>(host);
    if (call.ids.plain) {
        emit_plain(call, level, found);
        return;
    }
    const MemoryContext former = MemoryContextSwitchTo(call.cluster_memory);
    const Datum smallest = smallest_of(call, found);
    const bool every_pair = call.thresholds == nullptr;
    Datum values[] = {0,
                      smallest,
                      smallest,
                      Int64GetDatum(static_cast<std::int64_t>(found.rows.size())),
                      every_pair ? Datum{0} : Float8GetDatum(call.thresholds[level])};
    bool nulls[] = {false, false, false, false, every_pair};
    MemoryContextSwitchTo(call.row_memory);
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        values[0] = fetch_id(call, found, i);
        tuplestore_putvalues(call.result->setResult, call.result->setDesc, values, nulls);
        MemoryContextReset(call.row_memory);
    }
    MemoryContextSwitchTo(former);
    MemoryContextReset(call.cluster_memory);
}

// Looks up the comparison function of ids.
void prepare_order(component_call& call)
{
    const TypeCacheEntry* const type = lookup_type_cache(call.id_type, TYPECACHE_CMP_PROC);
    if (!OidIsValid(type->cmp_proc))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s", format_type_be(call.id_type)),
                errdetail("Ids need an order."));
    fmgr_info_cxt(type->cmp_proc, &call.compare, call.memory);
}

// Reads the thresholds, and sorts them falling, without duplicates.
void take_thresholds(component_call& call, ArrayType* given)
{
    Datum* values;
    bool* nulls;
    int count;
    if (ARR_NDIM(given) > 1)
        ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("thresholds must be an array of one dimension"));
    deconstruct_array(given, FLOAT8OID, sizeof(double), true, TYPALIGN_DOUBLE, &values, &nulls, &count);
    if (count < 1 || count > bulk::most_levels)
        ereport(ERROR,
                errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                errmsg("thresholds must have between 1 and %d values", bulk::most_levels));
    call.thresholds = static_cast<double*>(palloc(sizeof(double) * static_cast<std::size_t>(count)));
    for (int i = 0; i < count; i++) {
        if (nulls[i] || std::isnan(DatumGetFloat8(values[i])))
            ereport(ERROR,
                    errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("thresholds must not have %s", nulls[i] ? "NULLs" : "NaN"));
        call.thresholds[i] = DatumGetFloat8(values[i]);
    }
    std::sort(call.thresholds, call.thresholds + count, [](double a, double b) { return a > b; });
    call.levels = static_cast<int>(std::unique(call.thresholds, call.thresholds + count) - call.thresholds);
}

// -> (id, cluster_id, representative, size, threshold)
Datum return_components(FunctionCallInfo fcinfo, Oid id_type, int thresholds)
{
    enum { arg_query };

    if (PG_ARGISNULL(arg_query))
        fail_null_argument(arg_query, fcinfo->flinfo->fn_oid);
    ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    component_call& call = *allocate<component_call>(CurrentMemoryContext);
    call = {};
    start_host(call);
    start_reporting(call);
    call.result = &result;
    call.id_type = id_type;
    prepare_order(call);
    call.levels = 1;
    if (!PG_ARGISNULL(thresholds))
        take_thresholds(call, PG_GETARG_ARRAYTYPE_P(thresholds));
    call.budget = make_budget(call);
    open_numbered(call.ids, call, call.budget, id_type);
    bulk::start_finder(call.finder, call, call.levels);
    call.row_memory = AllocSetContextCreate(call.memory, "minhash_lsh pair of ids", ALLOCSET_DEFAULT_SIZES);
    call.cluster_memory = AllocSetContextCreate(call.memory, "minhash_lsh cluster", ALLOCSET_SMALL_SIZES);
    read_pairs(call, text_to_cstring(PG_GETARG_TEXT_PP(arg_query)), fcinfo->flinfo->fn_oid);
    bulk::end_numbering(call.ids.numbers);
    bulk::end_finder(call.finder, emit_component);
    bulk::close_stores(call.budget);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace

// lsh_components(query, thresholds)
MINHASH_FUNCTION(lsh_components)
{
    return return_components(fcinfo, INT8OID, 1);
}

// lsh_components(query, anyelement, thresholds)
MINHASH_FUNCTION(lsh_components_typed)
{
    return return_components(fcinfo, get_fn_expr_argtype(fcinfo->flinfo, 1), 2);
}

} // namespace minhash::pg
