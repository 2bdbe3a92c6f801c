// lsh_check(): checks that the trees of an index agree with its records. On request, also checks that the records agree
// with the table. The check blocks nobody, so runs may be replaced while it works. In that case, the check starts
// again, but skips the runs that it has already checked, because a run never changes.
#include "pg/arguments.h"
#include "pg/extension.h"
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
#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
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
    std::uint8_t* live;   // a bit for each ordinal of each block: whether a live record of a checked run is there
    BlockNumber blocks;
    counts tail;
    counts all; // the counts for the tail and the runs together

    // The state of the walk through one run, or through the tail.
    const run* one;       // null: the tail
    counts counted;       // the counts so far
    std::uint64_t wanted; // a checksum of the entries that the run's live records should have
    std::uint64_t got;    // a checksum of the entries that the run has for live records
    std::uint64_t last_key;
    BlockNumber expected; // the leaf that should come next
    BlockNumber visited;
};

// Returns false if the run or the tail that is being checked has been replaced in the meantime. Otherwise, raises an
// ERROR that reports damage.
bool doubt(const checker& self, BlockNumber block, const char* what)
{
    meta later;
    read_meta(self.known.index, later);
    const bool same = self.one == nullptr ? later.tail_first == self.known.meta.tail_first
                                          : find_by_id(runs_of(later), self.one->id) != nullptr;
    if (same)
        fail_damaged(self.known.index, block, what);
    return false;
}

std::uint64_t bit_of(const layout& layout, BlockNumber block, int ordinal)
{
    Assert(ordinal >= 0 && ordinal < layout.records_per_page);
    return std::uint64_t{block} * static_cast<std::uint64_t>(layout.records_per_page) +
           static_cast<std::uint64_t>(ordinal);
}

void check_record(
    checker& self, const std::uint8_t* record, const layout& layout, bool bare, BlockNumber block, int ordinal)
{
    const ItemPointerData stored = tid_of(record, layout);
    const ItemPointerData tid = row_of(stored);
    if (is_dead(stored)) {
        self.counted.dead++;
        return;
    }
    if (is_dead(tid) || !is_possible(tid) || (bare && !is_null(stored)))
        fail_damaged(self.known.index, block, "A record cannot be of a row.");
    const std::uint64_t checksum = checksum_of(record, layout, stored);
    self.counted.records++;
    self.counted.contents += fmix64(rank_of(0, tid) + fmix64(checksum));
    if (self.known.sort != nullptr)
        add_record(self.known, tid, checksum, block, ordinal);
    if (self.one == nullptr || bare || block >= self.blocks)
        return;
    const std::uint64_t number = number_of(layout, block, ordinal);
    const std::uint64_t bit = bit_of(layout, block, ordinal);
    self.live[bit / 8] |= static_cast<std::uint8_t>(1 << bit % 8);
    for (int list = 0; list < lists_of(layout); list++)
        if (has_entry(stored, layout, list))
            self.wanted += fmix64(entry_key(record, layout, list) + fmix64(number));
}

bool check_records(checker& self, BlockNumber first, std::uint32_t pages)
{
    std::uint32_t seen = 0;
    const auto check = [&](Buffer buffer, Page page, int records) {
        const BlockNumber block = BufferGetBlockNumber(buffer);
        const layout mine = layout_on(page, self.known.layout);
        const bool bare = is_bare(page);
        if (bare && self.one != nullptr && seen >= self.one->bare_pages)
            fail_damaged(self.known.index, block, "A page of records is bare, but not among the first of its run.");
        seen++;
        for (int ordinal = 0; ordinal < records; ordinal++)
            check_record(self, record_at(page, mine, ordinal), mine, bare, block, ordinal);
    };
    const std::uint64_t next_id = self.known.meta.next_id;
    return each_page(self.known.index, self.known.layout, first, pages, next_id, self.known.ring, check) ||
           doubt(self, first, "A page of records behind this one is missing.");
}

// Checks a leaf. `parent` is the inner page above the leaf, or null if the leaf is the root; `child` is the position of
// the leaf in its parent.
bool check_leaf(checker& self, BlockNumber block, const inner_view* parent, int child)
{
    Assert(parent == nullptr || child < parent->count());
    const layout& layout = self.known.layout;
    const Buffer buffer = read_page(self.known.index, block, BUFFER_LOCK_SHARE, self.known.ring);
    leaf_view leaf;
    if (!view_leaf(self.known.index, buffer, self.one->id, leaf)) {
        UnlockReleaseBuffer(buffer);
        return doubt(self, block, "A leaf of a run is missing.");
    }
    if (self.expected != InvalidBlockNumber && self.expected != block)
        fail_damaged(self.known.index, block, "Leaves are not linked in the order of the tree.");
    if (parent != nullptr && leaf.key(0) != parent->keys[child])
        fail_damaged(self.known.index, block, "A leaf does not begin with the key that leads to it.");
    for (int at = 0; at < leaf.head->count; at++) {
        const std::uint64_t key = leaf.key(at);
        const std::uint64_t number = leaf.number(at);
        if (key < self.last_key)
            fail_damaged(self.known.index, block, "Keys are out of order.");
        self.last_key = key;
        if (parent != nullptr && parent->has_filters() && !parent->may_have(child, key))
            fail_damaged(self.known.index, block, "A filter has not all keys of its leaf.");
        const std::uint64_t records_block = number >> layout.ordinal_bits;
        const int ordinal = static_cast<int>(number & ((1u << layout.ordinal_bits) - 1));
        if (records_block >= self.blocks || ordinal >= layout.records_per_page)
            fail_damaged(self.known.index, block, "An entry has no possible record.");
        const std::uint64_t bit = bit_of(layout, static_cast<BlockNumber>(records_block), ordinal);
        if ((self.live[bit / 8] >> bit % 8 & 1) != 0)
            self.got += fmix64(key + fmix64(number));
    }
    self.expected = trailer_of(BufferGetPage(buffer)).next;
    UnlockReleaseBuffer(buffer);
    return true;
}

bool check_tree(checker& self, BlockNumber block, std::uint32_t level, const inner_view* parent, int child)
{
    CHECK_FOR_INTERRUPTS();
    if (++self.visited > self.blocks)
        fail_damaged(self.known.index, block, "A run has more pages than the index.");
    check_block(self.known.index, block, self.blocks);
    if (level == 0)
        return check_leaf(self, block, parent, child);
    PGAlignedBlock copy;
    const Buffer buffer = read_page(self.known.index, block, BUFFER_LOCK_SHARE);
    inner_view view;
    if (!view_inner(self.known.index, buffer, self.one->id, level, view) || view.count() == 0) {
        UnlockReleaseBuffer(buffer);
        return doubt(self, block, "An inner page of a run is missing.");
    }
    memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
    UnlockReleaseBuffer(buffer);
    view = inner_view_of(copy.data);
    if (parent != nullptr && view.keys[0] != parent->keys[child])
        fail_damaged(self.known.index, block, "A page does not begin with the key that leads to it.");
    bool valid = true;
    for (int at = 0; valid && at < view.count(); at++)
        valid = check_tree(self, view.blocks[at], level - 1, &view, at);
    return valid;
}

bool check_run(checker& self, const run& one)
{
    self.one = &one;
    self.counted = {one.id, 0, 0, 0};
    self.wanted = self.got = 0;
    if (!check_records(self, one.first, one.record_pages))
        return false;
    self.last_key = 0;
    self.expected = InvalidBlockNumber;
    self.visited = 0;
    if (one.root != InvalidBlockNumber) {
        if (!check_tree(self, one.root, one.height, nullptr, 0))
            return false;
        if (self.expected != InvalidBlockNumber)
            return doubt(self, self.expected, "A run continues after its last leaf.");
    }
    if (self.got != self.wanted)
        return doubt(self, one.first, "The entries of a run are not those of its records.");
    self.done.add(self.counted);
    return true;
}

// Checks the tail and then the runs. The newest runs come first, because they are replaced first. Returns false as soon
// as the tail or a run turns out to have been replaced.
bool check_all(checker& self)
{
    const meta& current = self.known.meta;
    self.one = nullptr;
    self.counted = {};
    if (!check_records(self, current.tail_first, current.tail_pages))
        return false;
    self.all = self.tail = self.counted;
    for (std::uint32_t at = current.run_count; at-- > 0;) {
        const auto checked = [&] { return find_by_id(std::span(self.done), current.runs[at].id); };
        if (checked() == nullptr && !check_run(self, current.runs[at]))
            return false;
        self.all.add(*checked());
    }
    return true;
}

bool try_structure(checker& self)
{
    known_records& known = self.known;
    read_meta(known.index, known.meta);
    known.layout = layout_of(known.index, known.meta);
    self.blocks = RelationGetNumberOfBlocks(known.index);
    if (known.ring == nullptr)
        known.ring = ring_for(known.index, self.blocks);
    const std::uint64_t bits = bit_of(known.layout, self.blocks, 0);
    self.live = static_cast<std::uint8_t*>(
        MemoryContextAllocExtended(CurrentMemoryContext, bits / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    const bool valid = check_all(self);
    pfree(self.live);
    return valid;
}

void check_structure(checker& self)
{
    for (int attempts = 1; !try_structure(self); attempts++) {
        CHECK_FOR_INTERRUPTS();
        if (attempts == most_attempts)
            ereport(
                ERROR,
                errcode(ERRCODE_OBJECT_IN_USE),
                errmsg("index \"%s\" changes faster than it can be checked", RelationGetRelationName(self.known.index)),
                errhint("Check it when less is written, or on a standby while replay is paused."));
    }
}

// The hint for a relation that is no lsh index.
int advise_index(Relation given)
{
    const auto quoted_name = [](Relation relation) {
        return quote_literal_cstr(quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
                                                             RelationGetRelationName(relation)));
    };
    if (given->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
        return errhint(
            "Check the index of each partition: SELECT c.* FROM pg_partition_tree(%s), lsh_check(relid) AS c "
            "WHERE isleaf.",
            quoted_name(given));
    if (given->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
        return errhint("Name a partition.");
    ListCell* cell;
    if (given->rd_rel->relkind == RELKIND_RELATION || given->rd_rel->relkind == RELKIND_MATVIEW)
        foreach (cell, RelationGetIndexList(given)) {
            const Relation index = index_open(lfirst_oid(cell), AccessShareLock);
            if (index->rd_indam->ambuild == build)
                return errhint("Name the index: SELECT * FROM lsh_check(%s).", quoted_name(index));
            index_close(index, AccessShareLock);
        }
    return errhint("This checks indexes made with USING lsh.");
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
                advise_index(index));
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
    index::checker self = {};
    self.known.index = index::open_index(oid, table);
    self.known.columns = index::columns_of(self.known.index);
    self.done.start(2 * index::most_runs);
    if (heap)
        index::start_records(self.known);
    // Index expressions run with the rights of the table's owner; settings that they change are restored.
    const as_owner work = begin_as_owner(table->rd_rel->relowner);
    restrict_search_path();
    const Snapshot snapshot = heap ? RegisterSnapshot(GetTransactionSnapshot()) : nullptr;
    index::check_structure(self);
    const std::uint64_t lost_pages = index::count_lost_pages(self.known.index);
    if (heap) {
        index::check_table(self.known, table, snapshot);
        UnregisterSnapshot(snapshot);
    }
    end_as_owner(work);
    relation_close(self.known.index, AccessShareLock);
    table_close(table, AccessShareLock);
    const std::span<const index::run> runs = index::runs_of(self.known.meta);
    return make_row(fcinfo,
                    {
                        Int64GetDatum(static_cast<std::int64_t>(self.all.records)),
                        Int64GetDatum(static_cast<std::int64_t>(self.all.dead)),
                        Int64GetDatum(static_cast<std::int64_t>(self.tail.records)),
                        Int32GetDatum(static_cast<std::int32_t>(self.known.meta.run_count)),
                        make_bigint_array(runs.size(), [&](std::size_t run) { return runs[run].records; }),
                        Int64GetDatum(static_cast<std::int64_t>(self.all.contents)),
                        Int64GetDatum(static_cast<std::int64_t>(lost_pages)),
                    });
}

} // namespace minhash::pg
