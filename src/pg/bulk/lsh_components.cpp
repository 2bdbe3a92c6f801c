// lsh_components(): the connected components of a query's pairs, wherever these come from.
#include "pg/arguments.h"
#include "pg/bulk/numbered.h"
#include "pg/bulk/select.h"
#include "pg/errors.h"

#include "bulk/components.h"

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

// Pairs that wait until there are enough of them to ask for memory ahead: their ids are all over
// it.
constexpr int most_waiting = 256;

struct waiting_pair {
    Datum ids[2];
    std::uint32_t hashes[2];
    std::uint32_t numbers[2];
    int level;
};

struct component_job : bulk_host {
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
    component_job* job;
};

// Joins the pairs that wait.
void join_waiting(component_job& job)
{
    const std::span<waiting_pair> pairs = {job.waiting,
                                           static_cast<std::size_t>(job.waiting_count)};
    for (waiting_pair& pair : pairs) {
        for (const int side : {0, 1}) {
            pair.hashes[side] = hash_of(job.ids, pair.ids[side]);
            bulk::prefetch_entry(job.ids.numbers, pair.hashes[side]);
        }
    }
    for (const waiting_pair& pair : pairs) {
        for (const std::uint32_t hash : pair.hashes) {
            const std::uint32_t number = bulk::likely_number(job.ids.numbers, hash);
            if (number != bulk::no_row && job.ids.plain)
                prefetch_datum(job.ids.values, number);
        }
    }
    const std::uint32_t known = job.finder.count;
    for (waiting_pair& pair : pairs) {
        for (const int side : {0, 1}) {
            pair.numbers[side] = number_of(job.ids, pair.ids[side], pair.hashes[side]);
            if (pair.numbers[side] < known)
                bulk::prefetch_row(job.finder, pair.numbers[side], pair.level);
        }
    }
    bulk::take_rows(job.finder, job.ids.numbers.count);
    for (const waiting_pair& pair : pairs)
        bulk::join_rows(job.finder, pair.numbers[0], pair.numbers[1], pair.level);
    job.waiting_count = 0;
}

// The first level whose threshold a similarity reaches.
int level_of(const component_job& job, double similarity)
{
    int level = 0;
    while (level < job.levels && similarity < job.thresholds[level])
        level++;
    return level;
}

bool take_pair(TupleTableSlot* slot, DestReceiver* self)
{
    component_job& job = *reinterpret_cast<receiver*>(self)->job;
    slot_getallattrs(slot);
    const std::uint64_t read = job.pairs++;
    bulk::report(job,
                 "joining pairs",
                 read,
                 job.expected_pairs >= static_cast<double>(read)
                     ? static_cast<std::uint64_t>(job.expected_pairs)
                     : 0);
    if (slot->tts_isnull[0] || slot->tts_isnull[1] ||
        (job.thresholds != nullptr && slot->tts_isnull[2])) {
        job.skipped++;
        return true;
    }
    int level = 0;
    if (job.thresholds != nullptr) {
        const double similarity = DatumGetFloat8(slot->tts_values[2]);
        if (std::isnan(similarity))
            ereport(ERROR,
                    errcode(ERRCODE_DATA_EXCEPTION),
                    errmsg("similarity of a pair is NaN"),
                    errhint("Leave such pairs out of the query, or make their similarity NULL."));
        level = level_of(job, similarity);
    }
    if (level == job.levels)
        return true;
    Assert(job.waiting_count < most_waiting);
    waiting_pair& pair = job.waiting[job.waiting_count++];
    pair.ids[0] = convert_id(job.short_left, slot->tts_values[0]);
    pair.ids[1] = convert_id(job.short_right, slot->tts_values[1]);
    pair.level = level;
    if (job.ids.plain && job.waiting_count < most_waiting)
        return true;
    const MemoryContext former = MemoryContextSwitchTo(job.row_memory);
    join_waiting(job);
    MemoryContextReset(job.row_memory);
    MemoryContextSwitchTo(former);
    return true;
}

void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    component_job& job = *reinterpret_cast<receiver*>(self)->job;
    const bool similar = columns->natts == 3;
    if (columns->natts != 2 && !similar)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("query must return two or three columns: two ids, and similarity"),
                errdetail_plural("It returns %d column.",
                                 "It returns %d columns.",
                                 columns->natts,
                                 columns->natts),
                errhint("Use, for example, SELECT left_id, right_id, similarity FROM pairs."));
    job.short_left = check_ids(job.id_type, TupleDescAttr(columns, 0)->atttypid);
    job.short_right = check_ids(job.id_type, TupleDescAttr(columns, 1)->atttypid);
    if (job.thresholds == nullptr)
        return;
    if (!similar)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("thresholds need a third query column, the similarity"),
                errhint("Let the query return it, or leave out thresholds."));
    const Oid type = TupleDescAttr(columns, 2)->atttypid;
    if (getBaseType(type) != FLOAT8OID)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("third query column, the similarity, has type %s, expected double precision",
                       format_type_be(type)),
                errhint("Cast it to double precision."));
}

void ignore(DestReceiver*) {}

void read_pairs(component_job& job, const char* query, Oid function)
{
    receiver receiving = {};
    receiving.pub.receiveSlot = take_pair;
    receiving.pub.rStartup = take_columns;
    receiving.pub.rShutdown = ignore;
    receiving.pub.rDestroy = ignore;
    receiving.job = &job;
    const planned_select planned = plan_select(query, {function, "left_id, right_id", true});
    job.expected_pairs = planned.rows;
    job.estimated = true;
    run_select(planned, receiving.pub);
    job.estimated = false;
    join_waiting(job);
    if (job.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu pair with a NULL was left out",
                              "%llu pairs with a NULL were left out",
                              static_cast<unsigned long>(job.skipped),
                              static_cast<unsigned long long>(job.skipped)));
    notice_spilling(job.budget);
}

bool is_less(component_job& job, Datum a, Datum b)
{
    return job.ids.plain
               ? DatumGetInt64(a) < DatumGetInt64(b)
               : DatumGetInt32(FunctionCall2Coll(&job.compare, job.ids.collation, a, b)) < 0;
}

// An id of a component, of which the next ones are asked for ahead.
Datum fetch_id(component_job& job, const bulk::component_rows& found, std::size_t place)
{
    constexpr std::size_t ahead = 32;
    bool null;
    if (!job.ids.plain)
        return fetch_datum(job.ids.values, found.rows[place], null);
    if (place + ahead < found.rows.size() + found.later)
        prefetch_datum(job.ids.values, found.rows.data()[place + ahead]);
    return fetch_plain(job.ids.values, found.rows[place]);
}

// The smallest id of a component, in the current context.
Datum smallest_of(component_job& job, const bulk::component_rows& found)
{
    Datum smallest = 0;
    const MemoryContext outer = MemoryContextSwitchTo(job.row_memory);
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        const Datum id = fetch_id(job, found, i);
        if (i == 0 || is_less(job, id, smallest)) {
            MemoryContextSwitchTo(outer);
            smallest = datumCopy(id, job.ids.values.by_value, job.ids.values.length);
            MemoryContextSwitchTo(job.row_memory);
        }
        if (!job.ids.plain)
            MemoryContextReset(job.row_memory);
    }
    MemoryContextSwitchTo(outer);
    return smallest;
}

// A row of the answer whose ids are plain: its first four columns are written over for each row, as
// making one from its values takes longer than all else that is done for it.
void start_answer(component_job& job, int level)
{
    const bool every_pair = job.thresholds == nullptr;
    Datum values[] = {0, 0, 0, 0, every_pair ? Datum{0} : Float8GetDatum(job.thresholds[level])};
    bool nulls[] = {false, false, false, false, every_pair};
    job.answer = form_minimal_tuple(job.result->setDesc, values, nulls);
    job.answer_level = level;
    if (job.slot == nullptr)
        job.slot = MakeSingleTupleTableSlot(job.result->setDesc, &TTSOpsMinimalTuple);
    ExecStoreMinimalTuple(job.answer, job.slot, false);
}

void emit_plain(component_job& job, int level, const bulk::component_rows& found)
{
    if (job.answer == nullptr || job.answer_level != level)
        start_answer(job, level);
    const Datum smallest = smallest_of(job, found);
    Datum* const columns = reinterpret_cast<Datum*>(reinterpret_cast<char*>(job.answer) -
                                                    MINIMAL_TUPLE_OFFSET + job.answer->t_hoff);
    columns[1] = columns[2] = smallest;
    columns[3] = Int64GetDatum(static_cast<std::int64_t>(found.rows.size()));
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        columns[0] = fetch_id(job, found, i);
        tuplestore_puttupleslot(job.result->setResult, job.slot);
    }
}

void emit_component(bulk::host& host, int level, const bulk::component_rows& found)
{
    component_job& job = static_cast<component_job&>(host);
    if (job.ids.plain) {
        emit_plain(job, level, found);
        return;
    }
    const MemoryContext former = MemoryContextSwitchTo(job.cluster_memory);
    const Datum smallest = smallest_of(job, found);
    const bool every_pair = job.thresholds == nullptr;
    Datum values[] = {0,
                      smallest,
                      smallest,
                      Int64GetDatum(static_cast<std::int64_t>(found.rows.size())),
                      every_pair ? Datum{0} : Float8GetDatum(job.thresholds[level])};
    bool nulls[] = {false, false, false, false, every_pair};
    MemoryContextSwitchTo(job.row_memory);
    for (std::size_t i = 0; i < found.rows.size(); i++) {
        CHECK_FOR_INTERRUPTS();
        values[0] = fetch_id(job, found, i);
        tuplestore_putvalues(job.result->setResult, job.result->setDesc, values, nulls);
        MemoryContextReset(job.row_memory);
    }
    MemoryContextSwitchTo(former);
    MemoryContextReset(job.cluster_memory);
}

// What ids are ordered by.
void prepare_order(component_job& job)
{
    const TypeCacheEntry* const type = lookup_type_cache(job.id_type, TYPECACHE_CMP_PROC);
    if (!OidIsValid(type->cmp_proc))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s",
                       format_type_be(job.id_type)),
                errdetail("Ids need an order."));
    fmgr_info_cxt(type->cmp_proc, &job.compare, job.memory);
}

// The given thresholds, falling, each once.
void take_thresholds(component_job& job, ArrayType* given)
{
    Datum* values;
    bool* nulls;
    int count;
    if (ARR_NDIM(given) > 1)
        ereport(ERROR,
                errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                errmsg("thresholds must be an array of one dimension"));
    deconstruct_array(given,
                      FLOAT8OID,
                      sizeof(double),
                      true,
                      TYPALIGN_DOUBLE,
                      &values,
                      &nulls,
                      &count);
    if (count < 1 || count > bulk::most_levels)
        ereport(ERROR,
                errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                errmsg("thresholds must have between 1 and %d values", bulk::most_levels));
    job.thresholds = static_cast<double*>(palloc(sizeof(double) * static_cast<std::size_t>(count)));
    for (int i = 0; i < count; i++) {
        if (nulls[i] || std::isnan(DatumGetFloat8(values[i])))
            ereport(ERROR,
                    errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("thresholds must not have %s", nulls[i] ? "NULLs" : "NaN"));
        job.thresholds[i] = DatumGetFloat8(values[i]);
    }
    std::sort(job.thresholds, job.thresholds + count, [](double a, double b) { return a > b; });
    job.levels =
        static_cast<int>(std::unique(job.thresholds, job.thresholds + count) - job.thresholds);
}

// -> (id, cluster_id, representative, size, threshold)
Datum return_components(FunctionCallInfo fcinfo, Oid id_type, int thresholds)
{
    enum { arg_query };

    if (PG_ARGISNULL(arg_query))
        fail_null_argument(arg_query, fcinfo->flinfo->fn_oid);
    ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    component_job& job = *allocate<component_job>(CurrentMemoryContext);
    job = {};
    start_host(job);
    start_reporting(job);
    job.result = &result;
    job.id_type = id_type;
    prepare_order(job);
    job.levels = 1;
    if (!PG_ARGISNULL(thresholds))
        take_thresholds(job, PG_GETARG_ARRAYTYPE_P(thresholds));
    job.budget = make_budget(job);
    open_numbered(job.ids, job, job.budget, id_type);
    bulk::start_finder(job.finder, job, job.levels);
    job.row_memory =
        AllocSetContextCreate(job.memory, "minhash_lsh pair of ids", ALLOCSET_DEFAULT_SIZES);
    job.cluster_memory =
        AllocSetContextCreate(job.memory, "minhash_lsh cluster", ALLOCSET_SMALL_SIZES);
    read_pairs(job, text_to_cstring(PG_GETARG_TEXT_PP(arg_query)), fcinfo->flinfo->fn_oid);
    bulk::end_numbering(job.ids.numbers);
    bulk::end_finder(job.finder, emit_component);
    bulk::close_stores(job.budget);
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
