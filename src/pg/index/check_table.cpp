#include "pg/arguments.h"
#include "pg/index/check_table.h"
#include "pg/index/pages.h"
#include "pg/index/records.h"

extern "C" {
#include "access/htup_details.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace minhash::pg::index {

namespace {

int compare_records(const void* left, const void* right, void*)
{
    const known_record& a = *static_cast<const known_record*>(left);
    const known_record& b = *static_cast<const known_record*>(right);
    return a.tid != b.tid ? (a.tid < b.tid ? -1 : 1)
                          : (a.checksum > b.checksum) - (a.checksum < b.checksum);
}

[[noreturn]] void fail_different(Relation index, std::uint64_t row, const char* what)
{
    const ItemPointerData tid = tid_of(rank{row});
    ereport(ERROR,
            errcode(ERRCODE_INDEX_CORRUPTED),
            errmsg("row (%u,%u) %s index \"%s\"",
                   ItemPointerGetBlockNumberNoCheck(&tid),
                   tid.ip_posid,
                   what,
                   RelationGetRelationName(index)),
            errhint("Rebuild it with REINDEX INDEX."));
    pg_unreachable();
}

// Whether a record is there and alive as it was read: VACUUM marks it dead before its row's place
// in the table is used again.
bool is_there(const known_records& known, const known_record& one)
{
    const int bits = known.shape.place_bits;
    const Buffer buffer =
        read_page(known.index, static_cast<BlockNumber>(one.number >> bits), BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(buffer);
    const int place = static_cast<int>(one.number & ((std::uint64_t{1} << bits) - 1));
    bool there = is_kind(page, page_kind::records) && trailer_of(page).id < known.now.next_id &&
                 place < records_on(known.index, buffer, known.shape);
    if (there) {
        ItemPointerData tid = tid_of(record_at(page, known.shape, place), known.shape);
        tid.ip_posid &= static_cast<OffsetNumber>(~empty_set);
        there = rank_of(0, tid) == one.tid;
    }
    UnlockReleaseBuffer(buffer);
    return there;
}

// No two records of a row are there at once.
void check_twice(const known_records& known)
{
    for (std::size_t at = 1; at < known.records.count; at++) {
        const known_record& a = known.records.at[at - 1];
        const known_record& b = known.records.at[at];
        if (a.tid == b.tid && is_there(known, a) && is_there(known, b) && is_there(known, a))
            fail_different(known.index, a.tid, "has two records in");
    }
}

void check_row(
    Relation index, ItemPointer tid, Datum* values, bool* nulls, bool alive, void* callback_state)
{
    const known_records& known = *static_cast<const known_records*>(callback_state);
    if (nulls[known.which.signature]) {
        if (known.now.null_rows == 0)
            fail_different(index, rank_of(0, *tid), "is NULL, which is not noted in");
        return;
    }
    const signature value = indexable_signature(index, values[known.which.signature]);
    bool found = false;
    if (known.shape.shape.bands != 0) {
        check_scheme(index, known.shape, value);
        alignas(8) std::uint8_t record[most_record_bytes + 1];
        make_record(known.shape,
                    value,
                    hash_scope(index, known.which, values, nulls),
                    *tid,
                    record);
        const known_record wanted = {rank_of(0, *tid),
                                     checksum_of(record, known.shape) + value.empty(),
                                     0};
        found = std::binary_search(known.records.at,
                                   known.records.at + known.records.count,
                                   wanted,
                                   [](const known_record& a, const known_record& b) {
                                       return compare_records(&a, &b, nullptr) < 0;
                                   });
    }
    if (!found)
        fail_different(index, rank_of(0, *tid), "is not in");
}

// Whether there is something at a place of a page of the table, be it dead.
bool is_used(Page page, OffsetNumber place)
{
    return !PageIsNew(page) && place <= PageGetMaxOffsetNumber(page) &&
           ItemIdIsUsed(PageGetItemId(page, place));
}

// Each record leads to a place of the table that is in use.
void check_places(const known_records& known, Relation table)
{
    const BlockNumber blocks = RelationGetNumberOfBlocks(table);
    const BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
    for (std::size_t at = 0; at < known.records.count;) {
        CHECK_FOR_INTERRUPTS();
        const ItemPointerData first = tid_of(rank{known.records.at[at].tid});
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&first);
        Buffer buffer = InvalidBuffer;
        if (block < blocks) {
            buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
            LockBuffer(buffer, BUFFER_LOCK_SHARE);
        }
        std::uint64_t wrong[MaxHeapTuplesPerPage];
        int count = 0;
        std::size_t next = at;
        for (; next < known.records.count; next++) {
            const ItemPointerData tid = tid_of(rank{known.records.at[next].tid});
            if (ItemPointerGetBlockNumberNoCheck(&tid) != block)
                break;
            if ((buffer == InvalidBuffer || !is_used(BufferGetPage(buffer), tid.ip_posid)) &&
                count < MaxHeapTuplesPerPage)
                wrong[count++] = next;
        }
        if (buffer != InvalidBuffer)
            UnlockReleaseBuffer(buffer);
        for (int doubtful = 0; doubtful < count; doubtful++) {
            const known_record& one = known.records.at[wrong[doubtful]];
            if (is_there(known, one))
                fail_different(known.index, one.tid, "is not in the table, but has a record in");
        }
        at = next;
    }
}

} // namespace

std::uint64_t checksum_of(const std::uint8_t* record, const layout& shape)
{
    return DatumGetUInt64(hash_any_extended(record, shape.tid_offset, 0));
}

void check_table(known_records& known, Relation table, Snapshot snapshot)
{
    qsort_interruptible(known.records.at,
                        known.records.count,
                        sizeof(known_record),
                        compare_records,
                        nullptr);
    check_twice(known);
    IndexInfo* const info = BuildIndexInfo(known.index);
    info->ii_Concurrent = true; // rows as the snapshot sees them
    const TableScanDesc scan = table_beginscan_strat(table, snapshot, 0, nullptr, true, true);
    table_index_build_scan(table, known.index, info, true, false, check_row, &known, scan);
    if (table->rd_rel->relam == HEAP_TABLE_AM_OID)
        check_places(known, table);
}

} // namespace minhash::pg::index
