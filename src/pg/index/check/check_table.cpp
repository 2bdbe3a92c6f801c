#include "pg/index/check/check_table.h"
#include "pg/index/format/records.h"

#include <optional>

extern "C" {
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
#include "utils/uuid.h"
}

namespace minhash::pg::index {

namespace {

// An entry is a record, or a row of the table with the checksum that its record must have.
struct known_entry {
    rank tid; // the TID of the row, as a rank with 0 differing slots
    std::uint32_t checksum;
    bool is_row;
    std::uint64_t number; // the record's number; 0 for a row
};

// Entries are sorted as uuids, which hold the members in the order above. PostgreSQL compares the 16 bytes of uuids
// from the first to the last, so a row comes after the records that have its TID and checksum.
constexpr int record_number_bits = 47;

// In an entry, the number of a record has so many bits for the ordinal on the page, which suffices for any layout.
constexpr int ordinal_bits = record_number_bits - 32;
static_assert(BLCKSZ <= 1 << ordinal_bits);

void add_entry(known_records& known, const known_entry& entry)
{
    const std::uint64_t words[] = {pg_hton64(entry.tid << 16 | entry.checksum >> 16),
                                   pg_hton64(std::uint64_t{entry.checksum} << 48 |
                                             static_cast<std::uint64_t>(entry.is_row) << record_number_bits |
                                             entry.number)};
    pg_uuid_t value;
    static_assert(sizeof(words) == sizeof(value));
    memcpy(&value, words, sizeof(value));
    tuplesort_putdatum(known.sort, UUIDPGetDatum(&value), false);
}

bool next_entry(known_records& known, known_entry& entry)
{
    Datum value;
    if (!next_of_sort(known.sort, value))
        return false;
    std::uint64_t words[2];
    memcpy(words, DatumGetPointer(value), sizeof(words));
    pfree(DatumGetPointer(value));
    const std::uint64_t high = pg_ntoh64(words[0]);
    const std::uint64_t low = pg_ntoh64(words[1]);
    entry = {high >> 16,
             static_cast<std::uint32_t>(high << 16 | low >> 48),
             (low >> record_number_bits & 1) != 0,
             low & ((std::uint64_t{1} << record_number_bits) - 1)};
    return true;
}

[[noreturn]] void fail_different(Relation index, rank row, const char* what)
{
    const ItemPointerData tid = tid_of(row);
    ereport(ERROR,
            errcode(ERRCODE_INDEX_CORRUPTED),
            errmsg("row (%u,%u) %s index \"%s\"",
                   ItemPointerGetBlockNumberNoCheck(&tid),
                   tid.ip_posid,
                   what,
                   RelationGetRelationName(index)),
            errhint("Rebuild it with REINDEX INDEX."));
}

// Whether a record is still where it was read, and is not marked dead. (VACUUM marks a record dead
// before its row's TID is used again.)
bool is_there(const known_records& known, const known_entry& one)
{
    const auto block = static_cast<BlockNumber>(one.number >> ordinal_bits);
    const Buffer buffer = read_page(known.index, block, BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(buffer);
    const int ordinal = static_cast<int>(one.number & ((std::uint64_t{1} << ordinal_bits) - 1));
    bool there = is_kind(page, page_kind::records) && trailer_of(page).id < known.meta.next_id &&
                 ordinal < records_on(known.index, buffer, known.layout);
    if (there) {
        const layout mine = layout_on(page, known.layout);
        there = rank_of(0, row_of(tid_of(record_at(page, mine, ordinal), mine))) == one.tid;
    }
    UnlockReleaseBuffer(buffer);
    return there;
}

void check_row(Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    known_records& known = *static_cast<known_records*>(callback_state);
    const bool null = nulls[known.columns.signature];
    signature value;
    if (!null) {
        value = indexable_signature(index, values[known.columns.signature]);
        if (known.layout.banding.bands == 0)
            fail_different(index, rank_of(0, *tid), "is not in");
        check_scheme(index, known.layout, value);
    }
    alignas(8) std::uint8_t record[most_record_bytes + 1];
    make_record(known.layout, null ? nullptr : &value, hash_scope(index, known.columns, values, nulls), *tid, record);
    const std::uint64_t checksum = checksum_of(record, known.layout, tid_of(record, known.layout));
    add_entry(known, {rank_of(0, *tid), static_cast<std::uint32_t>(checksum), true, 0});
}

// The page of the table that was read last. It stays pinned, because many records are of rows on the same page.
struct table_page {
    Relation table;
    BlockNumber blocks;
    BufferAccessStrategy strategy;
    Buffer buffer;
};

// Whether a record's TID is in use in the table, even for a dead row.
bool may_be_there(table_page& at, rank row)
{
    const ItemPointerData tid = tid_of(row);
    const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tid);
    if (block >= at.blocks)
        return false;
    if (at.buffer == InvalidBuffer || BufferGetBlockNumber(at.buffer) != block) {
        if (at.buffer != InvalidBuffer)
            ReleaseBuffer(at.buffer);
        at.buffer = ReadBufferExtended(at.table, MAIN_FORKNUM, block, RBM_NORMAL, at.strategy);
    }
    LockBuffer(at.buffer, BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(at.buffer);
    const bool used = !PageIsNew(page) && tid.ip_posid <= PageGetMaxOffsetNumber(page) &&
                      ItemIdIsUsed(PageGetItemId(page, tid.ip_posid));
    LockBuffer(at.buffer, BUFFER_LOCK_UNLOCK);
    return used;
}

// Compares records with rows, in the order of TIDs.
void compare_all(known_records& known, Relation table)
{
    const bool has_line_pointers = table->rd_rel->relam == HEAP_TABLE_AM_OID;
    const BufferAccessStrategy strategy = has_line_pointers ? GetAccessStrategy(BAS_BULKREAD) : nullptr;
    table_page page = {table, RelationGetNumberOfBlocks(table), strategy, InvalidBuffer};
    known_entry one;
    std::optional<known_entry> before; // the last record before this entry
    while (next_entry(known, one)) {
        CHECK_FOR_INTERRUPTS();
        const bool again = before.has_value() && before->tid == one.tid;
        if (one.is_row) {
            if (!again || before->checksum != one.checksum)
                fail_different(known.index, one.tid, "is not in");
            continue;
        }
        if (has_line_pointers && !may_be_there(page, one.tid) && is_there(known, one))
            fail_different(known.index, one.tid, "is not in the table, but has a record in");
        // If a row seems to have two records, one of them may have been moved or marked dead after it was read. The
        // check of `before` is repeated, to make sure that both records were there at the same time.
        if (again && before->number != one.number && is_there(known, *before) && is_there(known, one) &&
            is_there(known, *before))
            fail_different(known.index, one.tid, "has two records in");
        before = one;
    }
    if (page.buffer != InvalidBuffer)
        ReleaseBuffer(page.buffer);
}

} // namespace

std::uint64_t checksum_of(const std::uint8_t* record, const layout& layout, const ItemPointerData& tid)
{
    // The zeros of a record without slots do not count, because a bare record lacks them.
    const int skipped = has_slots(tid) ? 0 : layout.tid_offset - layout.scope_bytes;
    return DatumGetUInt64(hash_any_extended(record + skipped, layout.tid_offset - skipped, 0)) +
           (tid.ip_posid & without_slots);
}

void start_records(known_records& known)
{
    known.sort = tuplesort_begin_datum(UUIDOID,
                                       lookup_type_cache(UUIDOID, TYPECACHE_LT_OPR)->lt_opr,
                                       InvalidOid,
                                       false,
                                       maintenance_work_mem,
                                       nullptr,
                                       TUPLESORT_NONE);
}

void add_record(
    known_records& known, const ItemPointerData& row, std::uint64_t checksum, BlockNumber block, int ordinal)
{
    const std::uint64_t number = std::uint64_t{block} << ordinal_bits | static_cast<std::uint64_t>(ordinal);
    add_entry(known, {rank_of(0, row), static_cast<std::uint32_t>(checksum), false, number});
}

void check_table(known_records& known, Relation table, Snapshot snapshot)
{
    IndexInfo* const info = BuildIndexInfo(known.index);
    info->ii_Concurrent = true; // read rows as the snapshot sees them
    const TableScanDesc scan = table_beginscan_strat(table, snapshot, 0, nullptr, true, true);
    table_index_build_scan(table, known.index, info, true, false, check_row, &known, scan);
    tuplesort_performsort(known.sort);
    compare_all(known, table);
    tuplesort_end(known.sort);
}

} // namespace minhash::pg::index
