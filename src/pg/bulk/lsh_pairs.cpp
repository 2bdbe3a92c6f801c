// lsh_pairs(): all near-duplicate pairs of a query's rows, or between two queries.
#include "pg/arguments.h"
#include "pg/bulk/query.h"

#include "bulk/containment.h"

#include <utility>

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

struct pair_job : bulk_job {
    bool crossing;  // between two queries: the left one is the first's
    bool plain_ids; // of type bigint
    FmgrInfo less;  // of ids
    Oid collation;
    MemoryContext pair_memory;
};

bool is_less(pair_job& self, Datum a, Datum b)
{
    return self.plain_ids ? DatumGetInt64(a) < DatumGetInt64(b)
                          : DatumGetBool(FunctionCall2Coll(&self.less, self.collation, a, b));
}

// Whether the left row of a pair lies within a larger right one: else the one with the smaller id
// is left.
bool is_within(const pair_job& self, const bulk::found_pair& pair)
{
    return self.wanted.measure == bulk::measure::containment &&
           bulk::set_size(*self.rows, pair.left) < bulk::set_size(*self.rows, pair.right);
}

void emit_pairs(bulk::host& host, std::span<const bulk::found_pair> pairs)
{
    pair_job& self = static_cast<pair_job&>(host);
    const ReturnSetInfo& result = *self.result;
    const MemoryContext former = MemoryContextSwitchTo(self.pair_memory);
    for (const bulk::found_pair& pair : pairs) {
        CHECK_FOR_INTERRUPTS();
        if (!self.plain_ids)
            MemoryContextReset(self.pair_memory);
        bool null;
        Datum ids[] = {fetch_datum(self.ids, pair.left, null),
                       fetch_datum(self.ids, pair.right, null)};
        if (!self.crossing) {
            const bool falling = is_less(self, ids[1], ids[0]);
            if (!falling && !is_less(self, ids[0], ids[1]))
                continue; // two rows of one id
            if (falling && !is_within(self, pair))
                std::swap(ids[0], ids[1]);
        }
        Datum values[] = {ids[0], ids[1], Float8GetDatum(pair.similarity)};
        bool nulls[] = {false, false, false};
        tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
    }
    MemoryContextSwitchTo(former);
}

void prepare_order(pair_job& self)
{
    const TypeCacheEntry* const type = lookup_type_cache(self.ids.type, TYPECACHE_LT_OPR);
    self.plain_ids = self.ids.type == INT8OID;
    self.collation = type->typcollation;
    fmgr_info_cxt(get_opcode(type->lt_opr), &self.less, self.memory);
    self.pair_memory =
        AllocSetContextCreate(self.memory, "minhash_lsh pair", ALLOCSET_DEFAULT_SIZES);
}

// -> (left_id, right_id, similarity)
Datum return_pairs(const bulk_call& call)
{
    enum { arg_other_query = arg_own };

    const FunctionCallInfo fcinfo = call.fcinfo;
    const int other = position_of(call, arg_other_query);
    const bulk_request wanted = arg_bulk(call);
    ReturnSetInfo& result = start_rows(fcinfo);

    SPI_connect();
    pair_job& job = *allocate<pair_job>(CurrentMemoryContext);
    job = {};
    start_job(job, fcinfo, wanted);
    job.result = &result;
    job.crossing = !PG_ARGISNULL(other);
    const planned_select first = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(arg_query)));
    planned_select second = {};
    if (job.crossing)
        second = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(other)));
    job.other_rows = second.rows;
    read_query(job, first);
    const std::uint32_t first_count = row_count(job);
    if (job.crossing)
        read_query(job, second);
    end_reading(job);
    if (row_count(job) > 1) {
        prepare_order(job);
        job.rows->first_count = first_count;
        if (wanted.measure == bulk::measure::containment) {
            bulk::find_contained_pairs(*job.rows, job.crossing, emit_pairs);
        } else {
            const std::uint64_t left_out = bulk::find_pairs(*job.rows, job.crossing, emit_pairs);
            notice_large_buckets(left_out, job.rows->task.max_bucket);
        }
    }
    end_job(job);
    SPI_finish();
    return static_cast<Datum>(0);
}

} // namespace

// lsh_pairs(query, threshold, recall, bands, rows, verify, max_bucket, num_hashes, shingle_size,
//           unit, fold, bag, seed, method, measure, other_query)
MINHASH_FUNCTION(lsh_pairs)
{
    return return_pairs({fcinfo, false});
}

// lsh_pairs(query, anyelement, threshold, ...)
MINHASH_FUNCTION(lsh_pairs_typed)
{
    return return_pairs({fcinfo, true});
}

} // namespace minhash::pg
