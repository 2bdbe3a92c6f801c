// Scans in the forms that PostgreSQL requests: sig % constant, ORDER BY sig <%> constant, or both.
#include "pg/index/am.h"
#include "pg/index/format/columns.h"
#include "pg/index/format/records.h"
#include "pg/index/read/scan_state.h"

#include "core/compress.h"

extern "C" {
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg::index {

namespace {

// Marks records whose rows a scan found dead to all transactions. Until VACUUM removes these records, later scans skip
// them without looking up their rows in the table. If the page has not been replaced since the record was read, the
// record is still the same, because a place on a page never gets another record. A new row may reuse the dead row's
// TID, but its record is at another place. The mark is only a hint and not worth waiting for, so a page that is locked
// is skipped.
void mark_killed(scan_state& state)
{
    const search& look = state.look;
    for (std::size_t at = 0; at < state.killed.count; at++) {
        const std::uint64_t number = state.killed.at[at];
        const Buffer buffer = pin_page(look.index, static_cast<BlockNumber>(number >> look.layout.place_bits));
        if (!ConditionalLockBuffer(buffer)) {
            ReleaseBuffer(buffer);
            continue;
        }
        const Page page = BufferGetPage(buffer);
        const int place = static_cast<int>(number & ((std::uint64_t{1} << look.layout.place_bits) - 1));
        if (is_kind(page, page_kind::records) && trailer_of(page).id < look.meta.next_id &&
            place < records_on(look.index, buffer, look.layout)) {
            killed_bits(page, place) |= static_cast<std::uint8_t>(1 << place % 8);
            MarkBufferDirtyHint(buffer, true);
        }
        UnlockReleaseBuffer(buffer);
    }
    state.killed.count = 0;
}

const std::uint8_t* make_query(const search& look, const signature& value)
{
    std::uint8_t* const record = static_cast<std::uint8_t*>(palloc(static_cast<std::size_t>(look.layout.record_bytes)));
    make_record(look.layout, &value, look.scope, {}, record);
    return record;
}

// The least similarity at which a constraint's index refuses a row.
double refused_from(const search& look)
{
    if (look.meta.threshold == no_threshold)
        fail_damaged(look.index, meta_block, "A constraint has no threshold.");
    return look.meta.threshold;
}

// Reads the meta page, and prepares the search.
void start(IndexScanDesc scan, scan_state& state)
{
    search& look = state.look;
    look.index = scan->indexRelation;
    count_index_scan(*scan);
    state.started = true;
    state.complete = true;
    if (state.nothing)
        return;
    read_meta(look.index, look.meta);
    look.layout = layout_of(look.index, look.meta);
    if (look.layout.shape.bands != 0) {
        if (state.has_narrow)
            check_scheme(look.index, look.layout, state.narrow.sought);
        if (state.near.scheme.num_hashes != 0)
            check_scheme(look.index, look.layout, state.near);
    }
    look.found.start(0);
    const double threshold = state.for_constraint ? refused_from(look) : state.narrow.threshold;
    if (state.has_narrow && (look.layout.shape.bands == 0 || (state.narrow.sought.empty() && threshold > 0)))
        return;
    if (look.layout.shape.bands == 0 && state.order == order_kind::distance)
        state.order = order_kind::unknown; // the signatures of all rows are NULL
    state.complete = false;
    look.narrowed_by = state.has_narrow ? make_query(look, state.narrow.sought) : nullptr;
    if (state.order == order_kind::distance)
        look.ordered_by = make_query(look, state.near);
    if (state.has_narrow && state.order == order_kind::distance &&
        memcmp(look.narrowed_by, look.ordered_by, static_cast<std::size_t>(look.layout.tid_offset)) == 0)
        look.ordered_by = look.narrowed_by; // so that both are compared at once
    look.skip_killed = scan->ignore_killed_tuples;
    state.has_keys = look.layout.scope_bytes == 0 || look.by_scope;
    begin_search(state, threshold);
}

// Sets what to search for, as the scan keys say. If a column has several keys, only the first one is searched for; the
// executor checks each row found against all keys.
void take_keys(IndexScanDesc scan, scan_state& state)
{
    const columns which = columns_of(scan->indexRelation);
    Datum values[INDEX_MAX_KEYS];
    Oid types[INDEX_MAX_KEYS];
    static const bool nulls[INDEX_MAX_KEYS] = {};
    std::uint32_t known = 0;
    for (int at = 0; at < scan->numberOfKeys; at++) {
        const ScanKeyData& key = scan->keyData[at];
        const int column = key.sk_attno - 1;
        switch (key.sk_strategy) {
        case similar_by_setting:
        case similar_to_query:
            if (!state.has_narrow)
                state.narrow = query_of(key.sk_argument, key.sk_strategy);
            state.has_narrow = true;
            break;
        case equality:
            if ((known >> column & 1) != 0)
                break;
            known |= 1u << column;
            values[column] = key.sk_argument;
            types[column] = key.sk_subtype;
            break;
        case inequality:
            break;
        default:
            elog(ERROR, "lsh index scanned by unknown strategy %d", key.sk_strategy);
        }
    }
    state.look.by_scope = which.scope != 0 && (which.scope & ~known) == 0;
    if (state.look.by_scope)
        state.look.scope = hash_scope(scan->indexRelation, which, values, nulls, types);
}

void take_order(IndexScanDesc scan, scan_state& state)
{
    if (scan->numberOfOrderBys == 0)
        return;
    Assert(scan->numberOfOrderBys == 1);
    const ScanKeyData& key = scan->orderByData[0];
    state.order = order_kind::unknown;
    if ((key.sk_flags & SK_ISNULL) != 0)
        return;
    state.near = indexable_signature(scan->indexRelation, key.sk_argument);
    state.order = state.near.empty() ? order_kind::alike : order_kind::distance;
}

// Continues the search until there are rows to return, or no rows are left.
void advance(IndexScanDesc scan, scan_state& state)
{
    const MemoryContext old = MemoryContextSwitchTo(state.context);
    mark_killed(state);
    if (!state.started)
        start(scan, state);
    while (state.at == state.end && state.look.found.sort == nullptr && !state.complete) {
        if (state.order == order_kind::distance)
            search_in_order(state);
        else
            search_similar(state);
    }
    MemoryContextSwitchTo(old);
}

// Sets `where` to the rank of the next row. Returns false if there is none.
bool next_found(IndexScanDesc scan, scan_state& state, rank& where)
{
    found_rows& found = state.look.found;
    state.has_current = false;
    for (;;) {
        if (found.sort != nullptr) {
            if (found.next_sorted(state.last)) {
                where = state.last;
                return true;
            }
            found.close();
            state.last = 0;
        }
        if (state.at == state.end)
            advance(scan, state);
        if (state.at < state.end) {
            const candidate& row = found.rows.at[state.at++];
            where = row.where;
            state.current = row.number;
            state.has_current = row.number != 0; // no record has the number 0
            return true;
        }
        if (found.sort == nullptr)
            return false;
    }
}

// Notes that the row returned last is dead to all transactions.
void kill_current(scan_state& state)
{
    if (state.has_current)
        state.killed.add(state.current);
    state.has_current = false;
}

// Gives PostgreSQL a lower bound of a row's distance. PostgreSQL then computes the distance itself. The bound is never
// too high, because the compressed copies agree in at least as many slots as the signatures themselves.
void set_distance(IndexScanDesc scan, const scan_state& state, rank where)
{
    const int differing = differing_of(where);
    bool null = state.order != order_kind::alike || differing > 0;
    double distance = 1;
    if (state.order == order_kind::distance) {
        const scheme& scheme = state.look.layout.scheme;
        null = differing == null_rank(state.look.layout);
        if (!null)
            distance = 1 - similarity_of(scheme, static_cast<std::uint32_t>(scheme.num_hashes - differing));
    }
    scan->xs_recheckorderby = true;
    scan->xs_orderbyvals[0] = Float8GetDatum(distance);
    scan->xs_orderbynulls[0] = null;
}

// Ends the search, and releases everything that is not in the scan's memory context.
void release(scan_state& state)
{
    mark_killed(state);
    state.look.found.close();
    close_reader(state.reader);
}

} // namespace

IndexScanDesc begin_scan(Relation index, int keys, int orders)
{
    const IndexScanDesc scan = RelationGetIndexScan(index, keys, orders);
    scan_state* const state = static_cast<scan_state*>(palloc0(sizeof(scan_state)));
    state->context = AllocSetContextCreate(CurrentMemoryContext, "lsh scan", ALLOCSET_DEFAULT_SIZES);
    scan->opaque = state;
    if (orders > 0) {
        const auto count = static_cast<std::size_t>(orders);
        scan->xs_orderbyvals = static_cast<Datum*>(palloc0(sizeof(Datum) * count));
        scan->xs_orderbynulls = static_cast<bool*>(palloc0(sizeof(bool) * count));
    }
    return scan;
}

void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey orders, int order_count)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    release(state);
    const MemoryContext context = state.context;
    const search_work work = state.look.work;
    MemoryContextReset(context);
    memset(static_cast<void*>(&state), 0, sizeof(state));
    state.context = context;
    state.look.work = work;
    state.for_constraint = is_constraint_scan(scan);
    if (keys != nullptr && scan->numberOfKeys > 0)
        memmove(scan->keyData, keys, static_cast<std::size_t>(scan->numberOfKeys) * sizeof(ScanKeyData));
    if (orders != nullptr && scan->numberOfOrderBys > 0)
        memmove(scan->orderByData, orders, static_cast<std::size_t>(scan->numberOfOrderBys) * sizeof(ScanKeyData));

    const MemoryContext old = MemoryContextSwitchTo(context);
    state.killed.start(16);
    for (int key = 0; key < scan->numberOfKeys; key++)
        state.nothing |= (scan->keyData[key].sk_flags & SK_ISNULL) != 0;
    if (!state.nothing) {
        take_keys(scan, state);
        take_order(scan, state);
    }
    MemoryContextSwitchTo(old);
}

bool next_row(IndexScanDesc scan, ScanDirection direction)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    Assert(ScanDirectionIsForward(direction));
    if (!state.nothing && !state.has_narrow && state.order == order_kind::none)
        elog(ERROR, "scan of an lsh index without signature"); // estimate_cost() forbids it
    if (scan->kill_prior_tuple)
        kill_current(state);
    rank where;
    for (;;) {
        if (!next_found(scan, state, where))
            return false;
        bool dead = false;
        if (!state.for_constraint || conflicts(scan, state.reader, tid_of(where), refused_from(state.look), dead))
            break;
        if (dead)
            kill_current(state);
        CHECK_FOR_INTERRUPTS();
    }
    scan->xs_heaptid = tid_of(where);
    scan->xs_recheck = scan->numberOfKeys > 0 && !state.for_constraint;
    if (scan->numberOfOrderBys > 0)
        set_distance(scan, state, where);
    return true;
}

int64 all_rows(IndexScanDesc scan, TIDBitmap* bitmap)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    const std::uint64_t before = state.look.work.found;
    const MemoryContext old = MemoryContextSwitchTo(state.context);
    state.order = order_kind::none; // a bitmap has no order
    start(scan, state);
    if (!state.complete) {
        state.look.found.bitmap = bitmap;
        gather_rest(state);
    }
    MemoryContextSwitchTo(old);
    return static_cast<int64>(state.look.work.found - before);
}

void end_scan(IndexScanDesc scan)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    release(state);
    MemoryContextDelete(state.context);
    pfree(&state); // a constraint starts a scan for each row of a statement
    scan->opaque = nullptr;
}

void show_scan(IndexScanDescData& scan, ExplainState& state)
{
    if (scan.indexRelation->rd_indam->ambeginscan != begin_scan)
        return;
    const search_work& work = static_cast<const scan_state*>(scan.opaque)->look.work;
    if (work.plan.by_score)
        show_property(state, "Search", psprintf("count of equal slots in %d bands", work.plan.bands));
    else if (work.plan.depth > 0)
        show_property(state, "Search", psprintf("%d slots of %d bands", work.plan.depth, work.plan.bands));
    else if (work.compared > 0)
        show_property(state, "Search", work.of_scope ? "all records of the scope" : "all records");
    show_property(state, "Records Compared", static_cast<std::int64_t>(work.compared));
    show_property(state, "Records Found", static_cast<std::int64_t>(work.found));
}

} // namespace minhash::pg::index
