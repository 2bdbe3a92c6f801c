#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/index/format/records.h"

#include "core/compress.h"

#include <algorithm>

extern "C" {
#include "utils/rel.h"
}

namespace minhash::pg::index {

constexpr int copy_bits = 8;

signature indexable_signature(Relation index, Datum value)
{
    std::span<const std::uint8_t> bytes = bytes_of(PG_DETOAST_DATUM_PACKED(value));
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint32_t) != 0) {
        auto* const aligned = static_cast<std::uint8_t*>(palloc(bytes.size() + 1));
        std::ranges::copy(bytes, aligned);
        bytes = {aligned, bytes.size()};
    }
    const signature read = decode_stored(bytes);
    if (read.scheme.bits < copy_bits)
        ereport(ERROR,
                errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("index \"%s\" cannot hold signatures of %d bits per slot",
                       RelationGetRelationName(index),
                       read.scheme.bits),
                errhint("Access method lsh needs signatures of 8, 16 or 32 bits per slot."));
    return read;
}

void check_scheme(Relation index, const layout& layout, const signature& value)
{
    if (value.scheme != layout.scheme)
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("signature has a different scheme than the signatures of index \"%s\"",
                       RelationGetRelationName(index)),
                errdetail("The signature is %s, those of the index are %s.",
                          describe(value.scheme),
                          describe(layout.scheme)),
                errhint("An index holds signatures of one scheme. Call minhash() with the same arguments, or make "
                        "partial indexes."));
}

void make_record(
    const layout& layout, const signature* value, std::uint32_t scope, const ItemPointerData& tid, std::uint8_t* record)
{
    ItemPointerData stored = tid;
    if (!has_slots(stored))
        elog(ERROR, "offset %u of a TID is too large for an lsh index", stored.ip_posid);
    memset(record, 0, static_cast<std::size_t>(layout.record_bytes));
    if (value == nullptr)
        stored.ip_posid |= null_signature;
    else if (value->empty())
        stored.ip_posid |= empty_set;
    else if (value->scheme.bits == copy_bits)
        memcpy(record, value->packed.data(), value->packed.size());
    else
        compress(*value, copy_bits, record);
    memcpy(record + layout.tid_offset - layout.scope_bytes, &scope, static_cast<std::size_t>(layout.scope_bytes));
    set_tid(record, layout, stored);
}

void write_records(
    Relation index, Buffer buffer, int level, std::uint64_t id, std::span<const std::uint8_t> records, BlockNumber next)
{
    const Page page = BufferGetPage(buffer);
    init_page(page, page_kind::records, level, id);
    trailer_of(page).next = next;
    std::ranges::copy(records, contents_of(page));
    set_used_bytes(page, static_cast<int>(records.size()));
    finish_page(index, buffer);
}

} // namespace minhash::pg::index
