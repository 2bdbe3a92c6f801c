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
// record is still the same, because an ordinal on a page never gets another record. A new row may reuse the dead row's
// TID, but its record is at another ordinal. The mark is only a hint and not worth waiting for, so a page that is
// locked is skipped.
void mark_killed(scan_state& self)
{
    const search& look = self.look;
    for (std::size_t at = 0; at < self.killed.count; at++) {
        const std::uint64_t number = self.killed.at[at];
        const Buffer buffer = pin_page(look.index, static_cast<BlockNumber>(number >> look.layout.ordinal_bits));
        if (!ConditionalLockBuffer(buffer)) {
            ReleaseBuffer(buffer);
            continue;
        }
        const Page page = BufferGetPage(buffer);
        const int ordinal = static_cast<int>(number & ((std::uint64_t{1} << look.layout.ordinal_bits) - 1));
        if (is_kind(page, page_kind::records) && trailer_of(page).id < look.meta.next_id &&
            ordinal < records_on(look.index, buffer, look.layout)) {
            killed_bits(page, ordinal) |= static_cast<std::uint8_t>(1 << ordinal % 8);
            MarkBufferDirtyHint(buffer, true);
        }
        UnlockReleaseBuffer(buffer);
    }
    self.killed.count = 0;
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
void start(IndexScanDesc scan, scan_state& self)
{
    search& look = self.look;
    look.index = scan->indexRelation;
    count_index_scan(*scan);
    self.started = true;
    self.complete = true;
    if (self.nothing)
        return;
    read_meta(look.index, look.meta);
    look.layout = layout_of(look.index, look.meta);
    if (look.layout.banding.bands != 0) {
        if (self.has_filter)
            check_scheme(look.index, look.layout, self.filter.sought);
        if (self.order_by_signature.scheme.num_hashes != 0)
            check_scheme(look.index, look.layout, self.order_by_signature);
    }
    look.found.start(0);
    const double threshold = self.for_constraint ? refused_from(look) : self.filter.threshold;
    if (self.has_filter && (look.layout.banding.bands == 0 || (self.filter.sought.empty() && threshold > 0)))
        return;
    if (look.layout.banding.bands == 0 && self.order == order_kind::distance)
        self.order = order_kind::unknown; // the signatures of all rows are NULL
    self.complete = false;
    look.filter_record = self.has_filter ? make_query(look, self.filter.sought) : nullptr;
    if (self.order == order_kind::distance)
        look.ordered_by = make_query(look, self.order_by_signature);
    if (self.has_filter && self.order == order_kind::distance &&
        memcmp(look.filter_record, look.ordered_by, static_cast<std::size_t>(look.layout.tid_offset)) == 0)
        look.ordered_by = look.filter_record; // so that both are compared at once
    look.skip_killed = scan->ignore_killed_tuples;
    self.has_keys = look.layout.scope_bytes == 0 || look.by_scope;
    begin_search(self, threshold);
}

// Sets what to search for, as the scan keys say. If a column has several keys, only the first one is searched for; the
// executor checks each row found against all keys.
void take_keys(IndexScanDesc scan, scan_state& self)
{
    const columns columns = columns_of(scan->indexRelation);
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
            if (!self.has_filter)
                self.filter = query_of(key.sk_argument, key.sk_strategy);
            self.has_filter = true;
            break;
        case equality:
            if ((known >> column & 1) != 0 || !is_hashed_by(scan->indexRelation, column, key))
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
    self.look.by_scope = columns.scope != 0 && (columns.scope & ~known) == 0;
    if (self.look.by_scope)
        self.look.scope = hash_scope(scan->indexRelation, columns, values, nulls, types);
}

// Whether the only key is a rough query, so that records decide. The index itself never looks for a scope's value, only
// for its hash.
bool is_rough(IndexScanDesc scan, const scan_state& self) { return scan->numberOfKeys == 1 && self.filter.is_rough; }

void take_order(IndexScanDesc scan, scan_state& self)
{
    if (scan->numberOfOrderBys == 0)
        return;
    Assert(scan->numberOfOrderBys == 1);
    const ScanKeyData& key = scan->orderByData[0];
    self.order = order_kind::unknown;
    if ((key.sk_flags & SK_ISNULL) != 0)
        return;
    self.order_by_signature = indexable_signature(scan->indexRelation, key.sk_argument);
    self.order = self.order_by_signature.empty() ? order_kind::alike : order_kind::distance;
}

// Continues the search until there are rows to return, or no rows are left.
void advance(IndexScanDesc scan, scan_state& self)
{
    const MemoryContext old = MemoryContextSwitchTo(self.context);
    mark_killed(self);
    if (!self.started)
        start(scan, self);
    while (self.at == self.end && self.look.found.sort == nullptr && !self.complete) {
        if (self.order == order_kind::distance)
            search_in_order(self);
        else
            search_similar(self);
    }
    MemoryContextSwitchTo(old);
}

// Sets `where` to the rank of the next row. Returns false if there is none.
bool next_found(IndexScanDesc scan, scan_state& self, rank& where)
{
    found_rows& found = self.look.found;
    self.has_current = false;
    for (;;) {
        if (found.sort != nullptr) {
            if (found.next_sorted(self.last)) {
                where = self.last;
                return true;
            }
            found.close();
            self.last = 0;
        }
        if (self.at == self.end)
            advance(scan, self);
        if (self.at < self.end) {
            const ranked_row& row = found.rows.at[self.at++];
            where = row.where;
            self.current = row.number;
            self.has_current = row.number != 0; // no record has the number 0
            return true;
        }
        if (found.sort == nullptr)
            return false;
    }
}

// Notes that the row returned last is dead to all transactions.
void kill_current(scan_state& self)
{
    if (self.has_current)
        self.killed.add(self.current);
    self.has_current = false;
}

// Gives PostgreSQL a lower bound of a row's distance. PostgreSQL then computes the distance itself. The bound is never
// too high, because the compressed copies agree in at least as many slots as the signatures themselves.
void set_distance(IndexScanDesc scan, const scan_state& self, rank where)
{
    const int differing = differing_of(where);
    bool null = self.order != order_kind::alike || differing > 0;
    double distance = 1;
    if (self.order == order_kind::distance) {
        const scheme& scheme = self.look.layout.scheme;
        null = differing == null_rank(self.look.layout);
        if (!null)
            distance = 1 - similarity_of(scheme, static_cast<std::uint32_t>(scheme.num_hashes - differing));
    }
    scan->xs_recheckorderby = true;
    scan->xs_orderbyvals[0] = Float8GetDatum(distance);
    scan->xs_orderbynulls[0] = null;
}

// Ends the search, and releases everything that is not in the scan's memory context.
void release(scan_state& self)
{
    mark_killed(self);
    self.look.found.close();
    close_reader(self.reader);
}

} // namespace

IndexScanDesc begin_scan(Relation index, int keys, int orders)
{
    const IndexScanDesc scan = RelationGetIndexScan(index, keys, orders);
    scan_state* const self = static_cast<scan_state*>(palloc0(sizeof(scan_state)));
    self->context = AllocSetContextCreate(CurrentMemoryContext, "lsh scan", ALLOCSET_DEFAULT_SIZES);
    scan->opaque = self;
    if (orders > 0) {
        const auto count = static_cast<std::size_t>(orders);
        scan->xs_orderbyvals = static_cast<Datum*>(palloc0(sizeof(Datum) * count));
        scan->xs_orderbynulls = static_cast<bool*>(palloc0(sizeof(bool) * count));
    }
    return scan;
}

void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey orders, int order_count)
{
    scan_state& self = *static_cast<scan_state*>(scan->opaque);
    release(self);
    const MemoryContext context = self.context;
    const search_work work = self.look.work;
    MemoryContextReset(context);
    memset(static_cast<void*>(&self), 0, sizeof(self));
    self.context = context;
    self.look.work = work;
    self.for_constraint = is_constraint_scan(scan);
    if (keys != nullptr && scan->numberOfKeys > 0)
        memmove(scan->keyData, keys, static_cast<std::size_t>(scan->numberOfKeys) * sizeof(ScanKeyData));
    if (orders != nullptr && scan->numberOfOrderBys > 0)
        memmove(scan->orderByData, orders, static_cast<std::size_t>(scan->numberOfOrderBys) * sizeof(ScanKeyData));

    const MemoryContext old = MemoryContextSwitchTo(context);
    self.killed.start(16);
    for (int key = 0; key < scan->numberOfKeys; key++)
        self.nothing |= (scan->keyData[key].sk_flags & SK_ISNULL) != 0;
    if (!self.nothing) {
        take_keys(scan, self);
        take_order(scan, self);
    }
    MemoryContextSwitchTo(old);
}

bool next_row(IndexScanDesc scan, ScanDirection direction)
{
    scan_state& self = *static_cast<scan_state*>(scan->opaque);
    Assert(ScanDirectionIsForward(direction));
    if (!self.nothing && !self.has_filter && self.order == order_kind::none)
        elog(ERROR, "scan of an lsh index without signature"); // estimate_cost() forbids it
    if (scan->kill_prior_tuple)
        kill_current(self);
    rank where;
    for (;;) {
        if (!next_found(scan, self, where))
            return false;
        bool dead = false;
        if (!self.for_constraint || conflicts(scan, self.reader, tid_of(where), refused_from(self.look), dead))
            break;
        if (dead)
            kill_current(self);
        CHECK_FOR_INTERRUPTS();
    }
    scan->xs_heaptid = tid_of(where);
    scan->xs_recheck = scan->numberOfKeys > 0 && !self.for_constraint && !is_rough(scan, self);
    if (scan->numberOfOrderBys > 0)
        set_distance(scan, self, where);
    return true;
}

int64 all_rows(IndexScanDesc scan, TIDBitmap* bitmap)
{
    scan_state& self = *static_cast<scan_state*>(scan->opaque);
    const std::uint64_t before = self.look.work.found;
    const MemoryContext old = MemoryContextSwitchTo(self.context);
    self.order = order_kind::none; // a bitmap has no order
    start(scan, self);
    if (!self.complete) {
        self.look.found.bitmap = bitmap;
        self.look.found.is_final = is_rough(scan, self);
        gather_rest(self);
    }
    MemoryContextSwitchTo(old);
    return static_cast<int64>(self.look.work.found - before);
}

void end_scan(IndexScanDesc scan)
{
    scan_state& self = *static_cast<scan_state*>(scan->opaque);
    release(self);
    MemoryContextDelete(self.context);
    pfree(&self); // a constraint starts a scan for each row of a statement
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
