// lsh_check: whether an index is what its records and, on demand, its table say.
#include "pg/arguments.h"
#include "pg/growing.h"
#include "pg/index/am.h"
#include "pg/index/columns.h"
#include "pg/index/keys.h"
#include "pg/index/merge.h"
#include "pg/index/pages.h"
#include "pg/index/records.h"

#include "core/hash.h"

#include <algorithm>

extern "C" {
#include "access/amapi.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg::lsh {

namespace {

// A living record, for comparison with the table.
struct known_row {
    std::uint64_t tid;
    std::uint64_t checksum; // of the copy
};

int compare_rows(const void* left, const void* right, void*)
{
    const known_row& a = *static_cast<const known_row*>(left);
    const known_row& b = *static_cast<const known_row*>(right);
    return a.tid != b.tid ? (a.tid < b.tid ? -1 : 1)
                          : (a.checksum > b.checksum) - (a.checksum < b.checksum);
}

struct checker {
    Relation index;
    meta now;
    layout shape;
    std::uint8_t* living; // a bit for each place of each block
    BlockNumber blocks;
    std::uint64_t records;
    std::uint64_t dead;
    std::uint64_t in_tail;
    std::uint64_t contents; // a sum over living records
    std::uint64_t wanted;   // a sum over the entries that a run should have
    growing<known_row> rows;
    bool for_table;

    // The walk through one run.
    const run* which;
    std::uint64_t got; // a sum over the entries that it has
    std::uint64_t last_key;
    BlockNumber expected; // the leaf that the last one leads to
    BlockNumber visited;

    columns which_columns;
};

std::uint64_t checksum_of(const std::uint8_t* record, const layout& shape)
{
    return DatumGetUInt64(hash_any_extended(record, shape.tid_offset, 0));
}

std::uint64_t bit_of(const layout& shape, BlockNumber block, int place)
{
    return std::uint64_t{block} * static_cast<std::uint64_t>(shape.records_per_page) +
           static_cast<std::uint64_t>(place);
}

void check_records(checker& state, BlockNumber first, std::uint32_t pages, bool in_run)
{
    const layout& shape = state.shape;
    const bool valid = each_page(
        state.index,
        shape,
        first,
        pages,
        state.now.next_id,
        [&](Buffer buffer, Page page, int records) {
            const BlockNumber block = BufferGetBlockNumber(buffer);
            for (int place = 0; place < records; place++) {
                const std::uint8_t* const record = record_at(page, shape, place);
                ItemPointerData tid = tid_of(record, shape);
                if (is_dead(tid)) {
                    state.dead++;
                    continue;
                }
                const bool is_empty = is_empty_set(tid);
                tid.ip_posid &= static_cast<OffsetNumber>(~empty_set);
                if (is_dead(tid) || !is_possible(tid))
                    fail_damaged(state.index, block, "A record cannot be of a row.");
                const std::uint64_t row =
                    static_cast<std::uint64_t>(ItemPointerGetBlockNumberNoCheck(&tid)) << 16 |
                    tid.ip_posid;
                const std::uint64_t checksum = checksum_of(record, shape) + is_empty;
                state.records++;
                state.contents += fmix64(row + fmix64(checksum));
                if (state.for_table)
                    state.rows.add({row, checksum});
                if (!in_run) {
                    state.in_tail++;
                    continue;
                }
                const std::uint64_t bit = bit_of(shape, block, place);
                if (is_empty || block >= state.blocks)
                    continue;
                state.living[bit / 8] |= static_cast<std::uint8_t>(1 << bit % 8);
                const std::uint64_t number = std::uint64_t{block} << shape.place_bits | place;
                for (int band = 0; band < shape.shape.bands; band++)
                    state.wanted += fmix64(band_entry_key(record, shape, band) + fmix64(number));
            }
        });
    if (!valid)
        fail_damaged(state.index, first, "A page of records behind this one is missing.");
}

// `first_key` is the key that leads to the page; none leads to the root.
void check_leaf(checker& state, BlockNumber block, const std::uint64_t* first_key)
{
    const layout& shape = state.shape;
    const Buffer buffer = read_page(state.index, block, BUFFER_LOCK_SHARE);
    leaf_view leaf;
    if (!view_leaf(state.index, buffer, state.which->id, leaf))
        fail_damaged(state.index, block, "A leaf of a run is missing.");
    if (state.expected != InvalidBlockNumber && state.expected != block)
        fail_damaged(state.index, block, "Leaves are not linked in the order of the tree.");
    if (first_key != nullptr && leaf.key(0) != *first_key)
        fail_damaged(state.index, block, "A leaf does not begin with the key that leads to it.");
    for (int at = 0; at < leaf.head->count; at++) {
        const std::uint64_t key = leaf.key(at);
        const std::uint64_t number = leaf.number(at);
        if (key < state.last_key)
            fail_damaged(state.index, block, "Keys are out of order.");
        state.last_key = key;
        const std::uint64_t records_block = number >> shape.place_bits;
        const int place = static_cast<int>(number & ((1u << shape.place_bits) - 1));
        if (records_block >= state.blocks || place >= shape.records_per_page)
            fail_damaged(state.index, block, "An entry has no possible record.");
        const std::uint64_t bit = bit_of(shape, static_cast<BlockNumber>(records_block), place);
        if ((state.living[bit / 8] >> bit % 8 & 1) != 0)
            state.got += fmix64(key + fmix64(number));
    }
    state.expected = trailer_of(BufferGetPage(buffer)).next;
    UnlockReleaseBuffer(buffer);
}

void check_tree(checker& state,
                BlockNumber block,
                std::uint32_t level,
                const std::uint64_t* first_key)
{
    CHECK_FOR_INTERRUPTS();
    if (++state.visited > state.blocks)
        fail_damaged(state.index, block, "A run has more pages than the index.");
    check_block(state.index, block, state.blocks);
    if (level == 0) {
        check_leaf(state, block, first_key);
        return;
    }
    char* const copy = static_cast<char*>(palloc(BLCKSZ));
    const Buffer buffer = read_page(state.index, block, BUFFER_LOCK_SHARE);
    const std::uint64_t* keys;
    const char* children;
    int count;
    if (!view_inner(state.index, buffer, state.which->id, level, keys, children, count))
        fail_damaged(state.index, block, "An inner page of a run is missing.");
    memcpy(copy, keys, static_cast<std::size_t>(count) * inner_width);
    UnlockReleaseBuffer(buffer);
    keys = reinterpret_cast<const std::uint64_t*>(copy);
    children = copy + static_cast<std::size_t>(count) * sizeof(std::uint64_t);
    if (first_key != nullptr && keys[0] != *first_key)
        fail_damaged(state.index, block, "A page does not begin with the key that leads to it.");
    for (int at = 0; at < count; at++)
        check_tree(state, block_at(children, at), level - 1, &keys[at]);
    pfree(copy);
}

void check_run(checker& state, const run& which)
{
    state.wanted = 0;
    check_records(state, which.first, which.record_pages, true);
    state.which = &which;
    state.got = 0;
    state.last_key = 0;
    state.expected = InvalidBlockNumber;
    state.visited = 0;
    if (which.root != InvalidBlockNumber) {
        check_tree(state, which.root, which.height, nullptr);
        if (state.expected != InvalidBlockNumber)
            fail_damaged(state.index, state.expected, "A run continues after its last leaf.");
    }
    if (state.got != state.wanted)
        fail_damaged(state.index,
                     which.first,
                     "The entries of a run are not those of its records.");
}

void check_structure(checker& state)
{
    read_meta(state.index, state.now);
    state.shape = layout_of(state.index, state.now);
    if (state.shape.shape.bands == 0)
        return;
    state.blocks = RelationGetNumberOfBlocks(state.index);
    const std::uint64_t bits = bit_of(state.shape, state.blocks, 0);
    state.living =
        static_cast<std::uint8_t*>(MemoryContextAllocExtended(CurrentMemoryContext,
                                                              bits / 8 + 1,
                                                              MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    for (std::uint32_t at = 0; at < state.now.run_count; at++)
        check_run(state, state.now.runs[at]);
    check_records(state, state.now.tail_first, state.now.tail_pages, false);
}

void check_row(
    Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    checker& state = *static_cast<checker*>(callback_state);
    if (nulls[state.which_columns.signature])
        return;
    const signature value = indexable_signature(index, values[state.which_columns.signature]);
    bool found = false;
    if (state.shape.shape.bands != 0) {
        check_scheme(index, state.shape, value);
        alignas(8) std::uint8_t record[most_record_bytes + 1];
        make_record(state.shape,
                    value,
                    hash_scope(index, state.which_columns, values, nulls),
                    *tid,
                    record);
        const std::uint64_t row =
            static_cast<std::uint64_t>(ItemPointerGetBlockNumber(tid)) << 16 | tid->ip_posid;
        const known_row wanted = {row, checksum_of(record, state.shape) + value.empty()};
        found = std::binary_search(state.rows.at,
                                   state.rows.at + state.rows.count,
                                   wanted,
                                   [](const known_row& a, const known_row& b) {
                                       return compare_rows(&a, &b, nullptr) < 0;
                                   });
    }
    if (!found)
        ereport(ERROR,
                errcode(ERRCODE_INDEX_CORRUPTED),
                errmsg("row (%u,%u) is not in index \"%s\"",
                       ItemPointerGetBlockNumber(tid),
                       ItemPointerGetOffsetNumber(tid),
                       RelationGetRelationName(index)),
                errhint("Rebuild it with REINDEX INDEX."));
}

// Every row that the snapshot sees, which is older than what was read of the index, must have a
// record.
void check_table(checker& state, Relation table, Snapshot snapshot)
{
    qsort_interruptible(state.rows.at, state.rows.count, sizeof(known_row), compare_rows, nullptr);
    IndexInfo* const info = BuildIndexInfo(state.index);
    info->ii_Concurrent = true; // rows as the snapshot sees them
    const TableScanDesc scan = table_beginscan_strat(table, snapshot, 0, nullptr, true, true);
    table_index_build_scan(table, state.index, info, true, false, check_row, &state, scan);
}

[[noreturn]] void fail_no_relation(Oid oid)
{
    ereport(ERROR,
            errcode(ERRCODE_UNDEFINED_TABLE),
            errmsg("relation with OID %u does not exist", oid));
    pg_unreachable();
}

// The index and its table, which is locked first, as everybody does.
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
        fail_no_relation(oid); // and another one has its number now
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

} // namespace minhash::pg::lsh

namespace minhash::pg {

// lsh_check(index, heap) -> (records, dead, in_tail, runs, contents)
MINHASH_FUNCTION(lsh_check)
{
    const Oid oid = PG_GETARG_OID(0);
    const bool heap = PG_GETARG_BOOL(1);
    if (!owns_relation(oid, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(oid));
    Relation table;
    lsh::checker state = {};
    state.index = lsh::open_index(oid, table);
    state.for_table = heap;
    state.which_columns = lsh::columns_of(state.index);
    state.rows.start(1024);
    // Expressions of the index run with the rights of its owner, and what they set is undone.
    Oid user;
    int context;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(table->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
    const int settings = NewGUCNestLevel();
    restrict_search_path();
    const Snapshot snapshot = heap ? RegisterSnapshot(GetTransactionSnapshot()) : nullptr;
    lsh::lock_runs(state.index, ShareLock);
    lsh::check_structure(state);
    lsh::unlock_runs(state.index, ShareLock);
    if (heap) {
        lsh::check_table(state, table, snapshot);
        UnregisterSnapshot(snapshot);
    }
    AtEOXact_GUC(false, settings);
    SetUserIdAndSecContext(user, context);
    relation_close(state.index, AccessShareLock);
    table_close(table, AccessShareLock);
    Datum values[] = {
        Int64GetDatum(static_cast<std::int64_t>(state.records)),
        Int64GetDatum(static_cast<std::int64_t>(state.dead)),
        Int64GetDatum(static_cast<std::int64_t>(state.in_tail)),
        Int32GetDatum(static_cast<std::int32_t>(state.now.run_count)),
        Int64GetDatum(static_cast<std::int64_t>(state.contents)),
    };
    return make_row(fcinfo, values);
}

} // namespace minhash::pg
