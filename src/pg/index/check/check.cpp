// lsh_check(): checks that the trees of an index agree with its records. On request, also checks that the records agree
// with the table. The check blocks nobody, so runs may be replaced while it works. In that case, the check starts
// again, but skips the runs that it has already checked, because a run never changes.
#include "pg/arguments.h"
#include "pg/growing.h"
#include "pg/index/am.h"
#include "pg/index/check/check_table.h"
#include "pg/index/format/columns.h"
#include "pg/index/format/nodes.h"
#include "pg/index/format/records.h"
#include "pg/index/write/sweep.h"
#include "pg/owned_relation.h"

#include "core/hash.h"

#include <algorithm>

extern "C" {
#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg::index {

namespace {

// The maximum number of times that a check starts.
constexpr int most_attempts = 20;

// What was counted in a run, or in the tail.
struct counts {
    std::uint64_t id;      // the id of the run
    std::uint64_t records; // the number of live records
    std::uint64_t dead;
    std::uint64_t contents; // a checksum of all live records

    void add(const counts& other)
    {
        records += other.records;
        dead += other.dead;
        contents += other.contents;
    }
};

struct checker {
    known_records known;
    growing<counts> done; // runs that have been checked
    std::uint8_t* live;   // a bit for each place of each block: whether a live record of a checked run is there
    BlockNumber blocks;
    counts tail;
    counts all; // the counts for the tail and the runs together

    // The state of the walk through one run, or through the tail.
    const run* which;     // null: the tail
    counts counted;       // the counts so far
    std::uint64_t wanted; // a checksum of the entries that the run's live records should have
    std::uint64_t got;    // a checksum of the entries that the run has for live records
    std::uint64_t last_key;
    BlockNumber expected; // the leaf that should come next
    BlockNumber visited;
};

// Returns false if the run or the tail that is being checked has been replaced in the meantime. Otherwise, raises an
// ERROR that reports damage.
bool doubt(const checker& state, BlockNumber block, const char* what)
{
    meta later;
    read_meta(state.known.index, later);
    const bool same = state.which == nullptr ? later.tail_first == state.known.meta.tail_first
                                             : find_by_id(runs_of(later), state.which->id) != nullptr;
    if (same)
        fail_damaged(state.known.index, block, what);
    return false;
}

std::uint64_t bit_of(const layout& layout, BlockNumber block, int place)
{
    Assert(place >= 0 && place < layout.records_per_page);
    return std::uint64_t{block} * static_cast<std::uint64_t>(layout.records_per_page) +
           static_cast<std::uint64_t>(place);
}

void check_record(
    checker& state, const std::uint8_t* record, const layout& layout, bool bare, BlockNumber block, int place)
{
    const ItemPointerData stored = tid_of(record, layout);
    const ItemPointerData tid = row_of(stored);
    if (is_dead(stored)) {
        state.counted.dead++;
        return;
    }
    if (is_dead(tid) || !is_possible(tid) || (bare && !is_null(stored)))
        fail_damaged(state.known.index, block, "A record cannot be of a row.");
    const std::uint64_t checksum = checksum_of(record, layout, stored);
    state.counted.records++;
    state.counted.contents += fmix64(rank_of(0, tid) + fmix64(checksum));
    if (state.known.sort != nullptr)
        add_record(state.known, tid, checksum, block, place);
    if (state.which == nullptr || bare || block >= state.blocks)
        return;
    const std::uint64_t number = number_of(layout, block, place);
    const std::uint64_t bit = bit_of(layout, block, place);
    state.live[bit / 8] |= static_cast<std::uint8_t>(1 << bit % 8);
    for (int list = 0; list < lists_of(layout); list++)
        if (has_entry(stored, layout, list))
            state.wanted += fmix64(entry_key(record, layout, list) + fmix64(number));
}

bool check_records(checker& state, BlockNumber first, std::uint32_t pages)
{
    std::uint32_t seen = 0;
    const auto check = [&](Buffer buffer, Page page, int records) {
        const BlockNumber block = BufferGetBlockNumber(buffer);
        const layout mine = layout_on(page, state.known.layout);
        const bool bare = is_bare(page);
        if (bare && state.which != nullptr && seen >= state.which->bare_pages)
            fail_damaged(state.known.index, block, "A page of records is bare, but not among the first of its run.");
        seen++;
        for (int place = 0; place < records; place++)
            check_record(state, record_at(page, mine, place), mine, bare, block, place);
    };
    const std::uint64_t next_id = state.known.meta.next_id;
    return each_page(state.known.index, state.known.layout, first, pages, next_id, state.known.ring, check) ||
           doubt(state, first, "A page of records behind this one is missing.");
}

// Checks a leaf. `parent` is the inner page above the leaf, or null if the leaf is the root; `child` is the position of
// the leaf in its parent.
bool check_leaf(checker& state, BlockNumber block, const inner_view* parent, int child)
{
    Assert(parent == nullptr || child < parent->count());
    const layout& layout = state.known.layout;
    const Buffer buffer = read_page(state.known.index, block, BUFFER_LOCK_SHARE, state.known.ring);
    leaf_view leaf;
    if (!view_leaf(state.known.index, buffer, state.which->id, leaf)) {
        UnlockReleaseBuffer(buffer);
        return doubt(state, block, "A leaf of a run is missing.");
    }
    if (state.expected != InvalidBlockNumber && state.expected != block)
        fail_damaged(state.known.index, block, "Leaves are not linked in the order of the tree.");
    if (parent != nullptr && leaf.key(0) != parent->keys[child])
        fail_damaged(state.known.index, block, "A leaf does not begin with the key that leads to it.");
    for (int at = 0; at < leaf.head->count; at++) {
        const std::uint64_t key = leaf.key(at);
        const std::uint64_t number = leaf.number(at);
        if (key < state.last_key)
            fail_damaged(state.known.index, block, "Keys are out of order.");
        state.last_key = key;
        if (parent != nullptr && parent->has_filters() && !parent->may_have(child, key))
            fail_damaged(state.known.index, block, "A filter has not all keys of its leaf.");
        const std::uint64_t records_block = number >> layout.place_bits;
        const int place = static_cast<int>(number & ((1u << layout.place_bits) - 1));
        if (records_block >= state.blocks || place >= layout.records_per_page)
            fail_damaged(state.known.index, block, "An entry has no possible record.");
        const std::uint64_t bit = bit_of(layout, static_cast<BlockNumber>(records_block), place);
        if ((state.live[bit / 8] >> bit % 8 & 1) != 0)
            state.got += fmix64(key + fmix64(number));
    }
    state.expected = trailer_of(BufferGetPage(buffer)).next;
    UnlockReleaseBuffer(buffer);
    return true;
}

bool check_tree(checker& state, BlockNumber block, std::uint32_t level, const inner_view* parent, int child)
{
    CHECK_FOR_INTERRUPTS();
    if (++state.visited > state.blocks)
        fail_damaged(state.known.index, block, "A run has more pages than the index.");
    check_block(state.known.index, block, state.blocks);
    if (level == 0)
        return check_leaf(state, block, parent, child);
    PGAlignedBlock copy;
    const Buffer buffer = read_page(state.known.index, block, BUFFER_LOCK_SHARE);
    inner_view view;
    if (!view_inner(state.known.index, buffer, state.which->id, level, view) || view.count() == 0) {
        UnlockReleaseBuffer(buffer);
        return doubt(state, block, "An inner page of a run is missing.");
    }
    memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
    UnlockReleaseBuffer(buffer);
    view = inner_view_of(copy.data);
    if (parent != nullptr && view.keys[0] != parent->keys[child])
        fail_damaged(state.known.index, block, "A page does not begin with the key that leads to it.");
    bool valid = true;
    for (int at = 0; valid && at < view.count(); at++)
        valid = check_tree(state, view.blocks[at], level - 1, &view, at);
    return valid;
}

bool check_run(checker& state, const run& which)
{
    state.which = &which;
    state.counted = {which.id, 0, 0, 0};
    state.wanted = state.got = 0;
    if (!check_records(state, which.first, which.record_pages))
        return false;
    state.last_key = 0;
    state.expected = InvalidBlockNumber;
    state.visited = 0;
    if (which.root != InvalidBlockNumber) {
        if (!check_tree(state, which.root, which.height, nullptr, 0))
            return false;
        if (state.expected != InvalidBlockNumber)
            return doubt(state, state.expected, "A run continues after its last leaf.");
    }
    if (state.got != state.wanted)
        return doubt(state, which.first, "The entries of a run are not those of its records.");
    state.done.add(state.counted);
    return true;
}

// Checks the tail and then the runs. The newest runs come first, because they are replaced first. Returns false as soon
// as the tail or a run turns out to have been replaced.
bool check_all(checker& state)
{
    const meta& now = state.known.meta;
    state.which = nullptr;
    state.counted = {};
    if (!check_records(state, now.tail_first, now.tail_pages))
        return false;
    state.all = state.tail = state.counted;
    for (std::uint32_t at = now.run_count; at-- > 0;) {
        const auto checked = [&] { return find_by_id(std::span(state.done), now.runs[at].id); };
        if (checked() == nullptr && !check_run(state, now.runs[at]))
            return false;
        state.all.add(*checked());
    }
    return true;
}

bool try_structure(checker& state)
{
    known_records& known = state.known;
    read_meta(known.index, known.meta);
    known.layout = layout_of(known.index, known.meta);
    state.blocks = RelationGetNumberOfBlocks(known.index);
    if (known.ring == nullptr)
        known.ring = ring_for(known.index, state.blocks);
    const std::uint64_t bits = bit_of(known.layout, state.blocks, 0);
    state.live = static_cast<std::uint8_t*>(
        MemoryContextAllocExtended(CurrentMemoryContext, bits / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    const bool valid = check_all(state);
    pfree(state.live);
    return valid;
}

void check_structure(checker& state)
{
    for (int attempts = 1; !try_structure(state); attempts++) {
        CHECK_FOR_INTERRUPTS();
        if (attempts == most_attempts)
            ereport(ERROR,
                    errcode(ERRCODE_OBJECT_IN_USE),
                    errmsg("index \"%s\" changes faster than it can be checked",
                           RelationGetRelationName(state.known.index)),
                    errhint("Check it when less is written, or on a standby while replay is paused."));
    }
}

[[noreturn]] void fail_no_relation(Oid oid)
{
    ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", oid));
}

// Opens the index and its table. The table is locked first, as everywhere in PostgreSQL.
Relation open_index(Oid oid, Relation& table)
{
    const Oid table_oid = IndexGetRelation(oid, true);
    table = OidIsValid(table_oid) ? try_relation_open(table_oid, AccessShareLock) : nullptr;
    const Relation index = try_relation_open(oid, AccessShareLock);
    if (index == nullptr)
        fail_no_relation(oid);
    if (index->rd_rel->relkind != RELKIND_INDEX || index->rd_indam->ambuild != build)
        ereport(ERROR,
                errcode(ERRCODE_WRONG_OBJECT_TYPE),
                errmsg("\"%s\" is not an lsh index", RelationGetRelationName(index)),
                errhint("Of a partitioned index, check the index of each partition."));
    if (table == nullptr || index->rd_index->indrelid != RelationGetRelid(table))
        fail_no_relation(oid); // the OID has been reused for another relation
    if (RELATION_IS_OTHER_TEMP(index))
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("cannot read temporary tables of other sessions"));
    if (!index->rd_index->indisvalid)
        ereport(ERROR,
                errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
                errhint("Drop it, or rebuild it with REINDEX INDEX."));
    return index;
}

} // namespace

} // namespace minhash::pg::index

namespace minhash::pg {

// lsh_check(index, heap) -> (records, dead, in_tail, runs, run_records, contents, lost_pages)
MINHASH_FUNCTION(lsh_check)
{
    const Oid oid = PG_GETARG_OID(0);
    const bool heap = PG_GETARG_BOOL(1);
    if (!owns_relation(oid, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(oid));
    Relation table;
    index::checker state = {};
    state.known.index = index::open_index(oid, table);
    state.known.which = index::columns_of(state.known.index);
    state.done.start(2 * index::most_runs);
    if (heap)
        index::start_records(state.known);
    // Index expressions run with the rights of the table's owner; settings that they change are restored.
    const as_owner work = begin_as_owner(table->rd_rel->relowner);
    restrict_search_path();
    const Snapshot snapshot = heap ? RegisterSnapshot(GetTransactionSnapshot()) : nullptr;
    index::check_structure(state);
    const std::uint64_t lost_pages = index::count_lost_pages(state.known.index);
    if (heap) {
        index::check_table(state.known, table, snapshot);
        UnregisterSnapshot(snapshot);
    }
    end_as_owner(work);
    relation_close(state.known.index, AccessShareLock);
    table_close(table, AccessShareLock);
    const std::span<const index::run> runs = index::runs_of(state.known.meta);
    return make_row(fcinfo,
                    {
                        Int64GetDatum(static_cast<std::int64_t>(state.all.records)),
                        Int64GetDatum(static_cast<std::int64_t>(state.all.dead)),
                        Int64GetDatum(static_cast<std::int64_t>(state.tail.records)),
                        Int32GetDatum(static_cast<std::int32_t>(state.known.meta.run_count)),
                        make_bigint_array(runs.size(), [&](std::size_t run) { return runs[run].records; }),
                        Int64GetDatum(static_cast<std::int64_t>(state.all.contents)),
                        Int64GetDatum(static_cast<std::int64_t>(lost_pages)),
                    });
}

} // namespace minhash::pg
