// Scans: sig % constant, ORDER BY sig <%> constant, or both.
//
// A search of one depth finds the records that agree in `depth` slots of a band. For % one search
// does, of the depth that promises the recall at the threshold; at depth 0 all records are
// compared. In order of distance, searches become less and less deep. Each gives what is so near
// that the search has found about all of it, and then nothing nearer may come any more.
#include "pg/index/am.h"
#include "pg/index/columns.h"
#include "pg/index/constraint.h"
#include "pg/index/pages.h"
#include "pg/index/plan.h"
#include "pg/index/records.h"
#include "pg/index/search.h"
#include "pg/lsh/query.h"
#include "pg/settings.h"

#include "core/compress.h"

#include <algorithm>
#include <cmath>
#include <functional>

extern "C" {
#include "access/amapi.h"
#include "access/genam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

namespace minhash::pg::lsh {

namespace {

// In order of distance, what a search gives is complete with this probability. Higher than for %,
// as what comes too late for its place is left out.
constexpr double ordered_recall = 0.999;

// If candidates agree in fewer slots, comparing all records is as fast.
constexpr int least_depth = 3;

// The best that are kept when all records are compared; more each time.
constexpr std::size_t first_wanted = 1024;
constexpr std::size_t more_wanted = 16;

struct scan_state {
    search found;
    MemoryContext context;
    query narrow; // what % compares with
    signature order;
    bool has_narrow;
    bool has_order;
    bool nothing;  // can be found: a key is NULL
    bool by_scope; // every column of the scope has a value
    std::uint32_t scope;
    bool started;
    bool complete; // nothing more can be found
    int depth;
    std::size_t wanted;
    int last; // agreement of the last record given
    std::size_t at;
    std::size_t end; // of those found that may be given

    bool for_constraint; // rows that conflict, see constraint.h
    row_reader reader;
};

// The fewest slots that can agree at a similarity.
int least_agreement_for(const scheme& scheme, double similarity)
{
    int equal = std::max(0, static_cast<int>(similarity * scheme.num_hashes) - 1);
    while (equal < scheme.num_hashes &&
           similarity_of(scheme, static_cast<std::uint32_t>(equal)) < similarity)
        equal++;
    return equal;
}

// From which agreement on a search of a depth finds about all.
int complete_from(const layout& shape, int depth)
{
    const double similarity =
        std::pow(1 - std::pow(1 - ordered_recall, 1.0 / shape.shape.bands), 1.0 / depth);
    return static_cast<int>(std::ceil(similarity * shape.scheme.num_hashes));
}

std::uint64_t records_in(const search& found)
{
    std::uint64_t records =
        static_cast<std::uint64_t>(found.now.tail_pages) * found.shape.records_per_page;
    for (std::uint32_t at = 0; at < found.now.run_count; at++)
        records += found.now.runs[at].records;
    return records;
}

const std::uint8_t* make_query(const search& found, const signature& value)
{
    std::uint8_t* const record =
        static_cast<std::uint8_t*>(palloc(static_cast<std::size_t>(found.shape.record_bytes)));
    make_record(found.shape, value, found.scope, {}, record);
    return record;
}

// The nearest first; the same ones in the order of the table.
void sort_found(scan_state& state)
{
    sort_answering(state.found.found, [](const candidate& a, const candidate& b) {
        return a.equal != b.equal ? a.equal > b.equal : number_of(a.tid) < number_of(b.tid);
    });
    state.at = 0;
    state.end = state.found.found.count;
}

// Prepares the search. False if nothing can be found.
bool start(IndexScanDesc scan, scan_state& state)
{
    const Relation index = scan->indexRelation;
    count_index_scan(*scan);
    state.started = true;
    if (state.nothing)
        return false;
    search& found = state.found;
    found.index = index;
    read_meta(index, found.now);
    found.shape = layout_of(index, found.now);
    if (found.shape.shape.bands == 0)
        return false;
    if (state.has_narrow)
        check_scheme(index, found.shape, state.narrow.sought);
    if (state.has_order)
        check_scheme(index, found.shape, state.order);
    if ((state.has_narrow && state.narrow.sought.empty()) ||
        (state.has_order && state.order.empty()))
        return false;
    found.by_scope = state.by_scope;
    found.scope = state.scope;
    found.narrowed_by = state.has_narrow ? make_query(found, state.narrow.sought) : nullptr;
    found.ordered_by = state.has_order ? make_query(found, state.order) : found.narrowed_by;
    if (state.has_narrow && memcmp(found.narrowed_by,
                                   found.ordered_by,
                                   static_cast<std::size_t>(found.shape.tid_offset)) == 0)
        found.ordered_by = found.narrowed_by; // compared once
    found.least_equal = 0;
    found.given.start(64); // the context's first block has room for all of these
    found.found.start(64);
    found.numbers.start(64);
    found.found_with = static_cast<std::uint32_t*>(
        palloc(sizeof(std::uint32_t) * (found.shape.scheme.num_hashes + std::size_t{1})));
    state.depth = found.shape.shape.rows + 1;
    state.wanted = first_wanted;
    state.last = found.shape.scheme.num_hashes;
    return true;
}

// Whether keys of bands are known: they depend on the scope.
bool has_keys(const search& found)
{
    return found.shape.scope_bytes == 0 || found.by_scope;
}

// The one search of a scan with %.
void search_similar(scan_state& state)
{
    search& found = state.found;
    const double threshold = state.for_constraint ? found.now.threshold : state.narrow.threshold;
    found.least_equal = least_agreement_for(found.shape.scheme, threshold);
    const double recall = state.for_constraint ? recall_of_constraints : recall_of_lookups;
    const scan_plan plan =
        has_keys(found) ? plan_scan(threshold, found.shape.shape, recall) : scan_plan{0, 0};
    if (plan.depth > 0)
        find_by_prefix(found, plan.depth, plan.bands);
    else
        find_in_all(found, 0);
    sort_found(state);
    state.complete = true;
}

// Whether all records may be compared.
bool may_compare_all(const search& found)
{
    return ordered_scan_limit < 0 || !has_keys(found) ||
           records_in(found) <= static_cast<std::uint64_t>(ordered_scan_limit);
}

// The next search of a scan in order of distance.
void search_nearest(scan_state& state)
{
    search& found = state.found;
    for (std::size_t at = 0; at < state.end; at++)
        found.given.add(number_of(found.found.at[at].tid));
    if (state.end > 0)
        state.last = found.found.at[state.end - 1].equal;
    sort_answering(found.given, std::less<std::uint64_t>());

    if (state.depth > 0)
        state.depth = has_keys(found) ? state.depth - 1 : 0;
    const bool all = may_compare_all(found);
    if (state.depth < (all ? least_depth : 1))
        state.depth = 0;
    int least = 0;
    if (state.depth > 0) {
        find_by_prefix(found, state.depth, found.shape.shape.bands);
        least = complete_from(found.shape, state.depth);
    } else if (all) {
        find_in_all(found, state.wanted);
        least = found.floor;
        state.wanted *= more_wanted;
        state.complete = least == 0;
    } else {
        found.found.count = 0;
        state.complete = true;
    }
    sort_found(state);
    while (state.end > 0 && found.found.at[state.end - 1].equal < least)
        state.end--;
    while (state.at < state.end && found.found.at[state.at].equal > state.last)
        state.at++;
}

// Takes what is searched for from the conditions. Of several on one column, the first one is
// searched for, and all are checked with the row.
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
    state.by_scope = which.scope != 0 && (which.scope & ~known) == 0;
    if (state.by_scope)
        state.scope = hash_scope(scan->indexRelation, which, values, nulls, types);
}

// Whether there is a row to give.
bool advance(IndexScanDesc scan, scan_state& state)
{
    const MemoryContext old = MemoryContextSwitchTo(state.context);
    if (!state.started && !start(scan, state))
        state.complete = true;
    while (state.at == state.end && !state.complete) {
        if (state.has_narrow)
            search_similar(state);
        else
            search_nearest(state);
    }
    MemoryContextSwitchTo(old);
    return state.at < state.end;
}

// Every page of the table: the executor checks its rows.
int64 add_all_pages(Relation index, TIDBitmap* bitmap)
{
    const Relation table = table_open(index->rd_index->indrelid, NoLock); // who scans has it locked
    const BlockNumber pages = RelationGetNumberOfBlocks(table);
    for (BlockNumber page = 0; page < pages; page++) {
        CHECK_FOR_INTERRUPTS();
        tbm_add_page(bitmap, page);
    }
    table_close(table, NoLock);
    return 0;
}

// The next record found, or null.
const candidate* next_found(IndexScanDesc scan, scan_state& state)
{
    if (state.at == state.end && !advance(scan, state))
        return nullptr;
    return &state.found.found.at[state.at++];
}

} // namespace

IndexScanDesc begin_scan(Relation index, int keys, int orders)
{
    const IndexScanDesc scan = RelationGetIndexScan(index, keys, orders);
    scan_state* const state = static_cast<scan_state*>(palloc0(sizeof(scan_state)));
    state->context =
        AllocSetContextCreate(CurrentMemoryContext, "lsh scan", ALLOCSET_DEFAULT_SIZES);
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
    const MemoryContext context = state.context;
    const row_reader reader = state.reader;
    const search_work work = state.found.work;
    MemoryContextReset(context);
    memset(static_cast<void*>(&state), 0, sizeof(state));
    state.context = context;
    state.reader = reader;
    state.found.work = work;
    release_row(state.reader);
    state.for_constraint = is_constraint_scan(scan);
    if (keys != nullptr && scan->numberOfKeys > 0)
        memmove(scan->keyData,
                keys,
                static_cast<std::size_t>(scan->numberOfKeys) * sizeof(ScanKeyData));
    if (orders != nullptr && scan->numberOfOrderBys > 0)
        memmove(scan->orderByData,
                orders,
                static_cast<std::size_t>(scan->numberOfOrderBys) * sizeof(ScanKeyData));

    const MemoryContext old = MemoryContextSwitchTo(context);
    for (int key = 0; key < scan->numberOfKeys; key++)
        state.nothing |= (scan->keyData[key].sk_flags & SK_ISNULL) != 0;
    for (int order = 0; order < scan->numberOfOrderBys; order++)
        state.nothing |= (scan->orderByData[order].sk_flags & SK_ISNULL) != 0;
    if (!state.nothing)
        take_keys(scan, state);
    if (!state.nothing && scan->numberOfOrderBys > 0) {
        state.has_order = true;
        state.order = indexable_signature(scan->indexRelation, scan->orderByData[0].sk_argument);
    }
    MemoryContextSwitchTo(old);
}

bool next_row(IndexScanDesc scan, ScanDirection direction)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    if (!state.nothing && !state.has_narrow && !state.has_order)
        elog(ERROR, "scan of an lsh index without signature"); // estimate_cost() forbids it
    const candidate* found = next_found(scan, state);
    while (found != nullptr && state.for_constraint &&
           !conflicts(scan, state.reader, found->tid, state.found.now.threshold)) {
        CHECK_FOR_INTERRUPTS();
        found = next_found(scan, state);
    }
    if (found == nullptr)
        return false;
    scan->xs_heaptid = found->tid;
    // Copies agree at least as much as signatures, so theirs is the least distance that there can
    // be.
    scan->xs_recheck = scan->numberOfKeys > 0 && !state.for_constraint;
    if (scan->numberOfOrderBys > 0) {
        scan->xs_recheckorderby = true;
        scan->xs_orderbyvals[0] =
            Float8GetDatum(1 - similarity_of(state.found.shape.scheme, found->equal));
        scan->xs_orderbynulls[0] = false;
    }
    return true;
}

int64 all_rows(IndexScanDesc scan, TIDBitmap* bitmap)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    if (!state.nothing && !state.has_narrow)
        return add_all_pages(scan->indexRelation, bitmap);
    int64 rows = 0;
    while (state.at < state.end || advance(scan, state)) {
        for (; state.at < state.end; state.at++, rows++)
            tbm_add_tuples(bitmap, &state.found.found.at[state.at].tid, 1, true);
    }
    return rows;
}

void end_scan(IndexScanDesc scan)
{
    scan_state& state = *static_cast<scan_state*>(scan->opaque);
    close_reader(state.reader);
    MemoryContextDelete(state.context);
    pfree(&state); // a constraint makes a scan for each row of a statement
    scan->opaque = nullptr;
}

void show_scan(IndexScanDescData& scan, ExplainState& state)
{
    if (scan.indexRelation->rd_indam->ambeginscan != begin_scan)
        return;
    const search_work& work = static_cast<const scan_state*>(scan.opaque)->found.work;
    if (work.depth > 0)
        show_property(state, "Search", psprintf("%d slots of %d bands", work.depth, work.bands));
    else if (work.compared > 0)
        show_property(state, "Search", "all records");
    show_property(state, "Records Compared", static_cast<std::int64_t>(work.compared));
    show_property(state, "Records Found", static_cast<std::int64_t>(work.found));
}

} // namespace minhash::pg::lsh
