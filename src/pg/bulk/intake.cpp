// A value that can be read again by its place is not kept. If it is compressed or out of line, not even all of it is
// read: its beginning shows that it has shingles.
#include "pg/bulk/choice.h"
#include "pg/bulk/intake.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "core/unicode.h"

extern "C" {
#include "access/detoast.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

// A row as the query gave it, with the number of its scope.
struct query_row {
    Datum id;
    Datum value;
    Datum rank; // if the query has one
    bool no_rank;
    std::uint64_t place; // where the value can be read again, or 0
    std::uint32_t scope; // of scoped tasks
};

void check_scheme(bulk_call& call, const scheme& scheme, Datum id)
{
    const minhash::scheme& others = call.rows->task.scheme;
    if (!comparable({others, {}}, {scheme, {}}))
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("signature of row %s has a different scheme than earlier rows", output_of(call.ids.type, id)),
                errdetail("It is %s; earlier rows have %s.", describe(scheme), describe(others)),
                errhint("Call minhash() with the same arguments for all."));
}

// Decodes a stored signature. Most have the header and size of the first: then no check is needed.
signature decode_next(bulk_call& call, const struct varlena* stored, Datum id)
{
    const std::uint8_t* const bytes = reinterpret_cast<const std::uint8_t*>(VARDATA(stored));
    const std::size_t size = VARSIZE(stored) - VARHDRSZ;
    // A page is filled from its end, so a scan meets the row in front of this one next.
    for (std::size_t line = 0; line < size; line += 64)
        __builtin_prefetch(bytes - size + line);
    if (size == call.header_size && memcmp(bytes, call.header, header_bytes) == 0)
        return with_slots(call.rows->task.scheme, {bytes + header_bytes, size - header_bytes});
    const signature read = decode_stored({bytes, size});
    if (call.rows == nullptr) {
        memcpy(call.header, bytes, header_bytes);
        call.header_size = size;
        call.rows = bulk::make_rows(call.budget, make_task(call, read.scheme), false);
    }
    check_scheme(call, read.scheme, id);
    return read;
}

// The number of a row's scope; NULL is a scope of its own.
std::uint32_t scope_of(bulk_call& call, TupleTableSlot* slot)
{
    bool null;
    const Datum scope = slot_getattr(slot, call.scope_column, &null);
    return null ? 0 : 1 + number_of(call.scopes, scope, hash_of(call.scopes, scope));
}

// Gives the engine only the beginning of a text that is compressed or out of line, if the beginning has shingles and
// the text can be read again. False if not.
bool take_beginning(bulk_call& call, const query_row& row)
{
    constexpr std::int32_t enough = 64; // bytes
    const auto* const stored = reinterpret_cast<const struct varlena*>(row.value);
    if (row.place == 0 || GetDatabaseEncoding() != PG_UTF8 ||
        !(VARATT_IS_COMPRESSED(stored) || VARATT_IS_EXTERNAL_ONDISK(stored)))
        return false;
    const auto* const start =
        reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(PG_DETOAST_DATUM_SLICE(row.value, 0, enough)));
    const std::size_t size = toast_raw_datum_size(row.value) - VARHDRSZ;
    const std::size_t bytes = size > enough ? whole_characters(start, enough) : size;
    return bulk::take_long_text(*call.rows, {start, bytes}, size, row.place);
}

// Gives a value to the engine. False for an empty set, which is near nothing.
bool take_value(bulk_call& call, const query_row& row)
{
    if (!call.from_texts) {
        const signature given = decode_next(call, PG_DETOAST_DATUM(row.value), row.id);
        if (call.scope_column > 0)
            bulk::set_scope(*call.rows, row.scope);
        return bulk::take_signature(*call.rows, given, row.place);
    }
    if (call.rows == nullptr)
        call.rows = bulk::make_rows(call.budget, make_task(call, call.wanted.texts), true);
    if (call.scope_column > 0)
        bulk::set_scope(*call.rows, row.scope);
    return take_beginning(call, row) ||
           bulk::take_text(*call.rows, utf8_of(call, DatumGetTextPP(row.value)), row.place);
}

// Keeps the id of a row that is near nothing, if it is wanted.
void take_lone(bulk_call& call, Datum id)
{
    if (!call.wanted.lone_ids)
        return;
    append_datum(call.lone_ids, id, false);
    call.lone_count++;
}

// Gives a row to the engine.
void take(bulk_call& call, const query_row& row)
{
    if (!take_value(call, row)) {
        take_lone(call, row.id);
        return;
    }
    append_datum(call.ids, row.id, false);
    if (call.wanted.ranked)
        append_datum(call.ranks, row.rank, row.no_rank);
    Assert(call.ids.values->size % row_count(call) == 0); // as many ids as the engine has rows
}

} // namespace

void take_row(bulk_call& call, TupleTableSlot* slot)
{
    query_row row = {};
    bool no_id;
    bool no_value;
    row.id = slot_getattr(slot, 1, &no_id);
    row.value = slot_getattr(slot, 2, &no_value);
    if (call.wanted.ranked)
        row.rank = slot_getattr(slot, call.rank_column, &row.no_rank);
    if (no_id || (no_value && !call.wanted.lone_ids)) {
        call.skipped++;
        return;
    }
    if (row_count(call) + call.lone_count == bulk::most_rows)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("query returns too many rows"),
                errdetail("There can be at most %u.", bulk::most_rows),
                errhint("Use a band table and its self-join."));
    MemoryContextReset(call.row_memory);
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    row.id = convert_id(call.short_id, row.id);
    if (no_value) {
        take_lone(call, row.id);
    } else {
        if (call.scope_column > 0)
            row.scope = scope_of(call, slot);
        row.place = place_of_row(call.again);
        take(call, row);
    }
    MemoryContextSwitchTo(former);
    // How many rows of this query have come, not counting the first query's.
    const std::uint32_t read = row_count(call) - call.rows_before;
    bulk::report(call,
                 "reading rows",
                 read,
                 call.expected_rows >= read ? static_cast<std::uint64_t>(call.expected_rows) : 0);
}

} // namespace minhash::pg
