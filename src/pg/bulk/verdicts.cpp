#include "pg/bulk/call.h"
#include "pg/bulk/verdicts.h"

extern "C" {
#include "executor/tuptable.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    bulk_call& call = call_of<bulk_call>(self);
    if (columns->natts != 2)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("query of apart must return two columns: two ids"),
                errdetail_plural("It returns %d column.", "It returns %d columns.", columns->natts, columns->natts),
                errhint("Use, for example, SELECT left_id, right_id FROM not_duplicates."));
    call.verdicts->short_left = check_ids(call.wanted.id_type, TupleDescAttr(columns, 0)->atttypid, ids_of::verdicts);
    call.verdicts->short_right = check_ids(call.wanted.id_type, TupleDescAttr(columns, 1)->atttypid, ids_of::verdicts);
}

bool take_row(TupleTableSlot* slot, DestReceiver* self)
{
    bulk_call& call = call_of<bulk_call>(self);
    verdict_list& verdicts = *call.verdicts;
    slot_getallattrs(slot);
    report_read(call, "reading verdicts", verdicts.read++, verdicts.expected);
    if (slot->tts_isnull[0] || slot->tts_isnull[1]) {
        verdicts.skipped++;
        return true;
    }
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    const auto number_at = [&](int column, Oid short_id) {
        const Datum id = convert_id(short_id, slot->tts_values[column]);
        return number_of(verdicts.ids, id, hash_of(verdicts.ids, id));
    };
    const std::uint32_t left = number_at(0, verdicts.short_left);
    bulk::take_verdict(verdicts.rows, {left, number_at(1, verdicts.short_right)});
    MemoryContextSwitchTo(former);
    MemoryContextReset(call.row_memory);
    return true;
}

} // namespace

void read_verdicts(bulk_call& call, FunctionCallInfo fcinfo, int argument)
{
    if (PG_ARGISNULL(argument))
        return;
    const planned_select query = plan_select(fcinfo, argument, "apart", "left_id, right_id");
    call.verdicts = allocate<verdict_list>(call.memory);
    verdict_list& verdicts = *call.verdicts;
    verdicts = {};
    verdicts.expected = query.rows;
    verdicts.rows.owner = &call;
    open_numbered(verdicts.ids, call, call.budget, call.wanted.id_type);
    run_select(query, call, take_columns, take_row);
    if (verdicts.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu verdict with a NULL was left out",
                              "%llu verdicts with a NULL were left out",
                              static_cast<unsigned long>(verdicts.skipped),
                              static_cast<unsigned long long>(verdicts.skipped)));
    bulk::end_verdicts(verdicts.rows, verdicts.ids.numbers.count, call.crossing);
}

void note_id(bulk_call& call, Datum id)
{
    numbered_values& ids = call.verdicts->ids;
    const std::uint32_t number = known_number(ids, id, hash_of(ids, id));
    bulk::set_id(call.verdicts->rows, row_count(call) - 1, number);
}

} // namespace minhash::pg
