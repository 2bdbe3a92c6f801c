#include "pg/bulk/call.h"
#include "pg/bulk/choice.h"
#include "pg/bulk/columns.h"
#include "pg/bulk/intake.h"
#include "pg/bulk/workers.h"
#include "pg/extension.h"

#include "bulk/rows/steps.h"

extern "C" {
#include "tcop/dest.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

struct receiver {
    DestReceiver pub; // PostgreSQL knows this part
    bulk_call* call;
    const QueryDesc* query;
};

bool receive_row(TupleTableSlot* slot, DestReceiver* self)
{
    take_row(*reinterpret_cast<receiver*>(self)->call, slot);
    return true;
}

void receive_columns(DestReceiver* self, int, TupleDesc columns)
{
    const receiver& receiving = *reinterpret_cast<receiver*>(self);
    take_columns(*receiving.call, columns);
    start_rereading(receiving.call->again, *receiving.query, 2);
    receiving.call->far = receiving.call->again.far;
}

void ignore(DestReceiver*) {}

} // namespace

void start_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted)
{
    start_host(fresh);
    start_reporting(fresh);
    fresh.wanted = wanted;
    fresh.budget = make_budget(fresh);
    fresh.signature_type = signature_type(fcinfo->flinfo->fn_oid);
    fresh.row_memory =
        AllocSetContextCreate(CurrentMemoryContext, "minhash_lsh row of a query", ALLOCSET_DEFAULT_SIZES);
}

void read_query(bulk_call& call, const planned_select& query)
{
    receiver receiving = {};
    receiving.pub.receiveSlot = receive_row;
    receiving.pub.rStartup = receive_columns;
    receiving.pub.rShutdown = ignore;
    receiving.pub.rDestroy = ignore;
    receiving.call = &call;
    call.expected_rows = query.rows;
    call.rows_before = row_count(call);
    call.estimated = true;
    if (call.rows != nullptr)
        call.rows->first_count = call.rows_before;
    run_select(query, receiving.pub, &receiving.query);
    call.again.scanned = nullptr;
    call.estimated = false;
}

void end_reading(bulk_call& call)
{
    if (call.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu row with a NULL was left out",
                              "%llu rows with a NULL were left out",
                              static_cast<unsigned long>(call.skipped),
                              static_cast<unsigned long long>(call.skipped)));
    if (row_count(call) == 0)
        return;
    if (is_choice_open(call))
        choose_by_sample(call);
    bulk::start_steps(*call.rows);
}

void end_call(bulk_call& call)
{
    notice_spilling(call.budget);
    if (call.rows != nullptr)
        bulk::end_rows(*call.rows);
    bulk::close_stores(call.budget);
    end_sharing(call);
    end_rereading(call.again);
}

std::uint32_t row_count(const bulk_call& call)
{
    return call.rows == nullptr ? 0 : call.rows->count;
}

} // namespace minhash::pg
