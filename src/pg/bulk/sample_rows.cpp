#include "pg/bulk/sample_rows.h"

#include "core/hash.h"

#include <algorithm>

extern "C" {
#include "access/tupdesc.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

std::uint64_t hash_of_id(sample_call& call, TupleTableSlot* slot)
{
    bool null;
    const Datum id = slot_getattr(slot, 1, &null);
    std::uint64_t hash = call.read;
    if (!null && call.by_value) {
        hash = DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char*>(&id), sizeof(id), 0));
    } else if (!null) {
        const char* const text = OutputFunctionCall(&call.output, id);
        hash = DatumGetUInt64(
            hash_any_extended(reinterpret_cast<const unsigned char*>(text), static_cast<int>(strlen(text)), 0));
    }
    return fmix64(hash ^ fmix64(static_cast<std::uint64_t>(call.seed))); // the upper bits, too, are now independent
}

// Takes a row if it is chosen. Returns its number, or bulk::no_row.
std::uint32_t choose_row(sample_call& call, TupleTableSlot* slot, std::uint64_t hash)
{
    const std::uint32_t before = row_count(call);
    if (static_cast<double>(fmix64(hash)) >= call.share * 0x1p64)
        return bulk::no_row;
    call.chosen++;
    take_row(call, slot);
    return row_count(call) > before ? before : bulk::no_row;
}

void start_drawing(DestReceiver* self, int, TupleDesc columns)
{
    sample_call& call = call_of<sample_call>(self);
    take_columns(call, columns);
    if (call.others != nullptr)
        take_columns(*call.others, running_of(self));
    MemoryContext former = MemoryContextSwitchTo(call.lasting);
    call.columns = CreateTupleDescCopy(columns);
    Oid output;
    bool varlena;
    const Oid type = TupleDescAttr(columns, 0)->atttypid;
    getTypeOutputInfo(type, &output, &varlena);
    fmgr_info(output, &call.output);
    call.by_value = get_typbyval(type);
    call.drawn = static_cast<drawn_row*>(palloc((most_drawn + 2) * sizeof(drawn_row)));
    call.drawn_memory = AllocSetContextCreate(call.lasting, "minhash_lsh drawn rows", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(former);
}

void drop_largest(sample_call& call)
{
    std::pop_heap(call.drawn, call.drawn + call.kept);
    const MinimalTuple dropped = call.drawn[--call.kept].tuple;
    call.bytes -= dropped->t_len;
    pfree(dropped);
    call.dropped = true;
}

bool draw_row(TupleTableSlot* slot, DestReceiver* self)
{
    sample_call& call = call_of<sample_call>(self);
    MemoryContextReset(call.row_memory);
    MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    drawn_row next = {hash_of_id(call, slot),
                      static_cast<std::uint32_t>(call.read++),
                      bulk::no_row,
                      bulk::no_row,
                      nullptr};
    report_read(call, "drawing rows", call.read, call.expected_rows);
    if (call.others != nullptr)
        next.other = choose_row(*call.others, slot, next.hash);
    if (!call.dropped || next < call.drawn[0]) {
        MemoryContextSwitchTo(call.drawn_memory);
        call.drawn[call.kept] = next;
        call.drawn[call.kept].tuple = ExecCopySlotMinimalTuple(slot);
        call.bytes += call.drawn[call.kept++].tuple->t_len;
        std::push_heap(call.drawn, call.drawn + call.kept);
        const std::size_t most_bytes = std::max<std::size_t>(call.budget.limit / 2, 1);
        while (call.kept > most_drawn || (call.kept > least_drawn && call.bytes > most_bytes))
            drop_largest(call);
    }
    MemoryContextSwitchTo(former);
    return true;
}

void start_reading_others(DestReceiver* self, int, TupleDesc)
{
    take_columns(call_of<sample_call>(self), running_of(self));
}

bool read_other(TupleTableSlot* slot, DestReceiver* self)
{
    sample_call& call = call_of<sample_call>(self);
    MemoryContextReset(call.row_memory);
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    const drawn_row row = {hash_of_id(call, slot), 0, bulk::no_row, bulk::no_row, nullptr};
    MemoryContextSwitchTo(former);
    report_read(call, "reading rows", ++call.read, call.expected_rows);
    const auto is_before = [](const drawn_row& a, const drawn_row& b) { return a.hash < b.hash; };
    if (!std::binary_search(call.drawn, call.drawn + call.kept, row, is_before))
        choose_row(call, slot, row.hash);
    return true;
}

} // namespace

void draw_rows(sample_call& call, const planned_select& query)
{
    call.expected_rows = query.rows;
    run_select(query, call, start_drawing, draw_row);
    std::sort_heap(call.drawn, call.drawn + call.kept);
}

void take_drawn(sample_call& call, std::span<drawn_row> drawn)
{
    TupleTableSlot* const slot = MakeSingleTupleTableSlot(call.columns, &TTSOpsMinimalTuple);
    for (drawn_row& each : drawn) {
        bulk::pause(call);
        ExecStoreMinimalTuple(each.tuple, slot, false);
        const std::uint32_t before = row_count(call);
        take_row(call, slot);
        each.row = row_count(call) > before ? before : bulk::no_row;
    }
    ExecDropSingleTupleTableSlot(slot);
}

sample_call& start_others(FunctionCallInfo fcinfo, const sample_call& drawn, double share)
{
    sample_call& call = *allocate<sample_call>(CurrentMemoryContext);
    call = {};
    prepare_call(call, fcinfo, drawn.wanted);
    call.most_workers = 0;
    call.seed = drawn.seed;
    call.share = share;
    return call;
}

void mark_anchors(sample_call& others, std::span<const drawn_row> anchors)
{
    others.is_anchor = bulk::allocate<bool>(others, row_count(others) + anchors.size());
    std::fill_n(others.is_anchor, row_count(others) + anchors.size(), false);
    for (const drawn_row& anchor : anchors) {
        others.chosen -= static_cast<double>(fmix64(anchor.hash)) < others.share * 0x1p64;
        if (anchor.other != bulk::no_row)
            others.is_anchor[anchor.other] = true;
    }
}

void read_others(sample_call& others,
                 const sample_call& drawn,
                 const planned_select& query,
                 std::span<drawn_row> anchors)
{
    others.output = drawn.output;
    others.by_value = drawn.by_value;
    others.drawn = anchors.data();
    others.kept = static_cast<std::uint32_t>(anchors.size());
    others.expected_rows = query.rows;
    run_select(query, others, start_reading_others, read_other);
}

} // namespace minhash::pg
