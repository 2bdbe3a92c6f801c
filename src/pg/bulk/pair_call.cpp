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

bool is_less(pair_call& call, Datum a, Datum b)
{
    return call.plain_ids ? DatumGetInt64(a) < DatumGetInt64(b)
                          : DatumGetBool(FunctionCall2Coll(&call.less, call.collation, a, b));
}

void prepare_order(pair_call& call)
{
    const TypeCacheEntry* const type = lookup_type_cache(call.ids.type, TYPECACHE_LT_OPR);
    call.plain_ids = call.ids.type == INT8OID;
    call.collation = type->typcollation;
    fmgr_info_cxt(get_opcode(type->lt_opr), &call.less, call.memory);
    call.pair_memory = AllocSetContextCreate(call.memory, "minhash_lsh pair", ALLOCSET_DEFAULT_SIZES);
}

void read_and_find(pair_call& call)
{
    read_query(call, call.queries[0]);
    if (call.crossing)
        read_query(call, call.queries[1]);
    end_reading(call);
    if (row_count(call) > 1) {
        prepare_order(call);
        call.find(call);
    }
    end_call(call);
}

id_pair fetch_ids(pair_call& call, const bulk::found_pair& pair)
{
    if (!call.plain_ids)
        MemoryContextReset(call.pair_memory);
    const MemoryContext former = MemoryContextSwitchTo(call.pair_memory);
    bool null;
    id_pair found = {{fetch_datum(call.ids, pair.left, null), fetch_datum(call.ids, pair.right, null)}, false, false};
    found.falling = is_less(call, found.ids[1], found.ids[0]);
    found.equal = !found.falling && !is_less(call, found.ids[0], found.ids[1]);
    MemoryContextSwitchTo(former);
    return found;
}

} // namespace

void run_pair_call(const call_form& form, const bulk_request& wanted, int other_query, void (*find)(pair_call& call))
{
    const FunctionCallInfo fcinfo = form.fcinfo;
    ReturnSetInfo& result = start_rows(fcinfo);
    constexpr Oid others[] = {FLOAT8OID};
    check_result(result, wanted.id_type, 2, others);
    SPI_connect();
    pair_call& call = *allocate<pair_call>(CurrentMemoryContext);
    call = {};
    start_call(call, fcinfo, wanted);
    call.result = &result;
    call.crossing = !PG_ARGISNULL(other_query);
    const wanted_query columns = {fcinfo->flinfo->fn_oid, nullptr, false};
    call.queries[0] = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(arg_query)), columns);
    if (call.crossing)
        call.queries[1] = plan_select(text_to_cstring(PG_GETARG_TEXT_PP(other_query)), columns);
    call.find = find;
    read_and_find(call);
    SPI_finish();
}

void put_pairs(bulk::host& host,
               std::span<const bulk::found_pair> pairs,
               bool (*is_turned)(const pair_call& call, const bulk::found_pair& pair, const id_pair& found))
{
    pair_call& call = static_cast<pair_call&>(host);
    for (const bulk::found_pair& pair : pairs) {
        CHECK_FOR_INTERRUPTS();
        const id_pair found = fetch_ids(call, pair);
        if (!call.crossing && found.equal)
            continue;
        const bool turned = !call.crossing && is_turned(call, pair, found);
        Datum values[] = {found.ids[turned], found.ids[!turned], Float8GetDatum(pair.similarity)};
        bool nulls[] = {false, false, false};
        tuplestore_putvalues(call.result->setResult, call.result->setDesc, values, nulls);
    }
}

} // namespace minhash::pg
