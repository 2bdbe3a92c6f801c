#include "pg/bulk/pair_call.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

bool is_less(pair_job& job, Datum a, Datum b)
{
    return job.plain_ids ? DatumGetInt64(a) < DatumGetInt64(b)
                         : DatumGetBool(FunctionCall2Coll(&job.less, job.collation, a, b));
}

void prepare_order(pair_job& job)
{
    const TypeCacheEntry* const type = lookup_type_cache(job.ids.type, TYPECACHE_LT_OPR);
    job.plain_ids = job.ids.type == INT8OID;
    job.collation = type->typcollation;
    fmgr_info_cxt(get_opcode(type->lt_opr), &job.less, job.memory);
    job.pair_memory = AllocSetContextCreate(job.memory, "minhash_lsh pair", ALLOCSET_DEFAULT_SIZES);
}

void read_and_find(pair_job& job)
{
    read_query(job, job.queries[0]);
    const std::uint32_t first_count = row_count(job);
    if (job.crossing)
        read_query(job, job.queries[1]);
    end_reading(job);
    if (row_count(job) > 1) {
        prepare_order(job);
        job.rows->first_count = first_count;
        job.find(job);
    }
    end_job(job);
}

id_pair fetch_ids(pair_job& job, const bulk::found_pair& pair)
{
    if (!job.plain_ids)
        MemoryContextReset(job.pair_memory);
    const MemoryContext former = MemoryContextSwitchTo(job.pair_memory);
    bool null;
    id_pair found = {
        {fetch_datum(job.ids, pair.left, null), fetch_datum(job.ids, pair.right, null)},
        false,
        false};
    found.falling = is_less(job, found.ids[1], found.ids[0]);
    found.equal = !found.falling && !is_less(job, found.ids[0], found.ids[1]);
    MemoryContextSwitchTo(former);
    return found;
}

} // namespace

void run_pair_call(const bulk_call& call,
                   const bulk_request& wanted,
                   int other_query,
                   void (*find)(pair_job& job))
{
    const FunctionCallInfo fcinfo = call.fcinfo;
    ReturnSetInfo& result = start_rows(fcinfo);
    constexpr Oid others[] = {FLOAT8OID};
    check_result(result, wanted.id_type, 2, others);
    SPI_connect();
    pair_job& job = *allocate<pair_job>(CurrentMemoryContext);
    job = {};
    start_job(job, fcinfo, wanted);
    job.result = &result;
    job.crossing = !PG_ARGISNULL(other_query);
    const wanted_query columns = {fcinfo->flinfo->fn_oid, nullptr, false};
    job.queries[0] = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(arg_query)), columns);
    if (job.crossing) {
        job.queries[1] = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(other_query)), columns);
        job.other_rows = job.queries[1].rows;
    }
    job.find = find;
    read_and_find(job);
    SPI_finish();
}

void put_pairs(bulk::host& host,
               std::span<const bulk::found_pair> pairs,
               bool (*is_turned)(const pair_job& job,
                                 const bulk::found_pair& pair,
                                 const id_pair& found))
{
    pair_job& job = static_cast<pair_job&>(host);
    for (const bulk::found_pair& pair : pairs) {
        CHECK_FOR_INTERRUPTS();
        const id_pair found = fetch_ids(job, pair);
        if (!job.crossing && found.equal)
            continue;
        const bool turned = !job.crossing && is_turned(job, pair, found);
        Datum values[] = {found.ids[turned], found.ids[!turned], Float8GetDatum(pair.similarity)};
        bool nulls[] = {false, false, false};
        tuplestore_putvalues(job.result->setResult, job.result->setDesc, values, nulls);
    }
}

} // namespace minhash::pg
