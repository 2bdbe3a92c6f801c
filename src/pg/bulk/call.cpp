#include "pg/bulk/call.h"
#include "pg/bulk/short_texts.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "bulk/rows/steps.h"

#include "core/unicode.h"

extern "C" {
#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
}

namespace minhash::pg {

namespace {

// The type of a column, counted from 1. InvalidOid if `column` is 0.
Oid type_of(TupleDesc columns, int column)
{
    return column > 0 ? TupleDescAttr(columns, column - 1)->atttypid : InvalidOid;
}

// Tells the user how to mend a query whose second column has neither texts nor signatures.
const char* advice_for_column(const bulk_call& call, TupleDesc columns)
{
    const Oid first = type_of(columns, 1);
    const Oid second = getBaseType(type_of(columns, 2));
    const bool may_be_id = second == INT8OID || second == INT4OID || second == INT2OID || second == UUIDOID;
    if (may_be_id && (is_text(first) || getBaseType(first) == call.signature_type))
        return "Return the id first: SELECT id, body FROM articles.";
    if (second == BYTEAOID)
        return "Decode it: convert_from(column, 'UTF8').";
    const bool is_set = second == TSVECTOROID || OidIsValid(get_element_type(second));
    if (is_set && call.wanted.texts_only != nullptr)
        return psprintf("Return its elements as words, with unit => 'word', shingle_size => 1: (SELECT "
                        "string_agg(md5(e::text), ' ') FROM unnest(%s) AS e).",
                        second == TSVECTOROID ? "tsvector_to_array(column)" : "column");
    if (is_set)
        return "Sign it with minhash_elements().";
    if (second == JSONBOID || second == JSONOID)
        return "Return the text of a field: SELECT id, data->>'body' FROM articles. Or cast it to text.";
    return "Cast it to text.";
}

// Returns true if the second column has texts, and false if it has signatures. Any other type is an ERROR.
bool has_texts(const bulk_call& call, TupleDesc columns)
{
    const Oid type = type_of(columns, 2);
    if (getBaseType(type) == call.signature_type)
        return false;
    if (!is_text(type))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("second query column has type %s, expected %s or text",
                       format_type_be(type),
                       format_type_be(call.signature_type)),
                errhint("%s", advice_for_column(call, columns)));
    return true;
}

[[noreturn]] void fail_columns(const bulk_call& call, TupleDesc columns)
{
    StringInfoData names;
    StringInfoData texts;
    initStringInfo(&names);
    initStringInfo(&texts);
    int text_count = 0; // neither count includes the first column, scope and rank
    int other_count = 0;
    bool has_rank = false;
    for (int i = 0; i < columns->natts; i++) {
        const char* const name = NameStr(TupleDescAttr(columns, i)->attname);
        has_rank = has_rank || strcmp(name, "rank") == 0;
        appendStringInfo(&names, "%s\"%s\"", i > 0 ? ", " : "", name);
        if (i == 0 || strcmp(name, "scope") == 0 || strcmp(name, "rank") == 0)
            continue;
        const bool has_name = strcmp(name, "?column?") != 0;
        appendStringInfo(&texts, ", %s", quote_identifier(name));
        (has_name && is_text(type_of(columns, i + 1)) ? text_count : other_count)++;
    }
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("query must return id and signature or text, and may return %s",
                   call.wanted.ranked ? "columns named scope and rank" : "a column named scope"),
            columns->natts > 0 ? errdetail("It returns %s.", names.data) : errdetail("It returns no columns."),
            has_rank && !call.wanted.ranked ? errhint("Leave out rank, which only lsh_clusters() uses.")
            : text_count > 1 && other_count == 0
                ? errhint("Join texts that are to be compared as one: concat_ws(' '%s). To compare only rows of one "
                          "group, name the column of groups scope.",
                          texts.data)
                : errhint("Use, for example, SELECT id, body%s FROM articles.",
                          call.wanted.ranked ? ", language AS scope, -length(body) AS rank" : ", language AS scope"));
}

// An ERROR if the call asks for something that is impossible with signatures.
void check_signatures(const bulk_request& wanted)
{
    if (wanted.texts_only != nullptr)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("query must return texts, not signatures"),
                errdetail("%s", wanted.texts_only),
                errhint("Let the query return the texts, without minhash(); or the elements of sets as words: "
                        "string_agg(md5(element), ' ')."));
    if (wanted.verify == verification::exact)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("signatures cannot be verified exactly"),
                errhint("Let the query return texts, or leave out verify => 'exact'."));
    if (wanted.signing != nullptr)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s cannot be given with signatures", wanted.signing),
                errdetail("It says how texts are signed; the query returns signatures."),
                errhint("Leave it out, or let the query return texts."));
}

void check_scheme(bulk_call& call, const scheme& scheme, Datum id)
{
    const minhash::scheme& others = call.rows->task.scheme;
    if (others != scheme)
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("signature of row %s has a different scheme than earlier rows", output_of(call.ids.type, id)),
                errdetail("It is %s; earlier rows have %s.", describe(scheme), describe(others)),
                errhint("Call minhash() with the same arguments for all."));
}

std::span<const std::uint8_t> bytes_of(const struct varlena* stored)
{
    return {reinterpret_cast<const std::uint8_t*>(VARDATA(stored)), VARSIZE(stored) - VARHDRSZ};
}

// Decodes a stored signature. Most signatures have the same header and size as the first one, and need no check.
signature decode_next(bulk_call& call, std::span<const std::uint8_t> stored, Datum id)
{
    const std::uint8_t* const bytes = stored.data();
    const std::size_t size = stored.size();
    // Prefetch the row that a scan reads next. It is in front of this row, because a page is filled from its end.
    for (std::size_t line = 0; line < size; line += 64)
        __builtin_prefetch(bytes - size + line);
    if (size == call.header_size && memcmp(bytes, call.header, header_bytes) == 0)
        return with_slots(call.rows->task.scheme, {bytes + header_bytes, size - header_bytes});
    const signature read = decode_stored(stored);
    if (call.rows == nullptr) {
        memcpy(call.header, bytes, header_bytes);
        call.header_size = size;
        call.rows = bulk::make_rows(call.budget, make_task(call, read.scheme), false);
    }
    check_scheme(call, read.scheme, id);
    return read;
}

// The number of a scope. All rows whose scope is NULL have number 0, and form a scope of their own.
std::uint32_t number_of_scope(bulk_call& call, Datum scope, bool null)
{
    return null ? 0 : 1 + number_of(call.scopes, scope, hash_of(call.scopes, scope));
}

// If a text can be read again, tries to pass only its beginning to the engine. Returns false if this is not possible,
// or if the beginning has no shingles. The engine then needs the whole text.
bool take_beginning(bulk_call& call, Datum value, std::uint64_t location)
{
    text_beginning start;
    return location != 0 && beginning_of(value, start) &&
           bulk::take_text(*call.rows, start.bytes, start.size, location);
}

// Passes a value to the engine, which keeps only values that cannot be read again. Returns false if the value is an
// empty set, which is near nothing.
bool take_value(bulk_call& call, TupleTableSlot* slot, Datum id, Datum value)
{
    const std::uint64_t location = location_of_row(call.again);
    signature given;
    if (!call.from_texts)
        given = decode_next(call, bytes_of(PG_DETOAST_DATUM(value)), id);
    else if (call.rows == nullptr)
        call.rows = bulk::make_rows(call.budget, make_task(call, call.wanted.texts), true);
    if (call.scope_column > 0) {
        bool null;
        const Datum scope = slot_getattr(slot, call.scope_column, &null);
        bulk::set_scope(*call.rows, number_of_scope(call, scope, null));
    }
    if (!call.from_texts)
        return bulk::take_signature(*call.rows, given, location);
    if (take_beginning(call, value, location))
        return true;
    const bulk::text_bytes whole = utf8_of(call, DatumGetTextPP(value));
    return bulk::take_text(*call.rows, whole, whole.size(), location);
}

// The signature of a row that another process has read, as it is stored.
std::span<const std::uint8_t> stored_bytes(bulk_call& call, const scanned_row& row)
{
    if (row.store == in_table)
        return bytes_of(read_again(call.again, row.location));
    bulk::grow(call, call.converted, 0, row.size);
    const void* const bytes =
        bulk::fetch(*call.values.values[row.store], row.location, row.size, call.converted.values);
    return {static_cast<const std::uint8_t*>(bytes), row.size};
}

// The same for a value that another process has read.
bool take_scanned_value(bulk_call& call, const scanned_row& row)
{
    bool empty = row.content == row_content::empty;
    std::size_t size = row.size;
    if (call.from_texts && call.rows == nullptr) {
        call.rows = bulk::make_rows(call.budget, make_task(call, call.wanted.texts), true);
    } else if (!call.from_texts) {
        // Only the signatures that must be checked are read.
        if (size != call.header_size || memcmp(row.header, call.header, header_bytes) != 0)
            decode_next(call, stored_bytes(call, row), row.id);
        size -= header_bytes;
        empty = size == 0;
    }
    if (call.scope_column > 0)
        bulk::set_scope(*call.rows, number_of_scope(call, row.scope, row.no_scope));
    if (!empty && row.store == in_table)
        bulk::take_placed(*call.rows, size, row.location);
    else if (!empty)
        bulk::take_brought(*call.rows, size, row.store, row.location + (call.from_texts ? 0 : header_bytes));
    return !empty;
}

void check_count(const bulk_call& call)
{
    if (row_count(call) + call.lone_count == bulk::most_rows)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("query returns too many rows"),
                errdetail("There can be at most %u.", bulk::most_rows),
                errhint("Use a band table and its self-join."));
}

// Keeps the id of a row. The engine has `taken` its value, or has no use for it.
void keep_id(bulk_call& call, Datum id, bool taken)
{
    if (taken) {
        append_datum(call.ids, id, false);
        if (call.verdicts != nullptr)
            note_id(call, id);
        Assert(call.ids.values->size % row_count(call) == 0); // there are as many ids as the engine has rows
    } else if (call.wanted.lone_ids) {
        append_datum(call.lone_ids, id, false);
        call.lone_count++;
    }
}

void take_columns_of_query(DestReceiver* self, int, TupleDesc)
{
    take_columns(call_of<bulk_call>(self), running_of(self));
}

bool take_row_of_query(TupleTableSlot* slot, DestReceiver* self)
{
    take_row(call_of<bulk_call>(self), slot);
    return true;
}

} // namespace

bool beginning_of(Datum value, text_beginning& start)
{
    constexpr std::int32_t enough = 64; // bytes
    const auto* const stored = reinterpret_cast<const struct varlena*>(value);
    if (GetDatabaseEncoding() != PG_UTF8 || !(VARATT_IS_COMPRESSED(stored) || VARATT_IS_EXTERNAL_ONDISK(stored)))
        return false;
    const auto* const at = reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(PG_DETOAST_DATUM_SLICE(value, 0, enough)));
    start.size = toast_raw_datum_size(value) - VARHDRSZ;
    start.bytes = {at, start.size > enough ? whole_characters(at, enough) : start.size};
    return true;
}

void check_columns(bulk_call& call, TupleDesc columns)
{
    if (columns->natts < 2)
        fail_columns(call, columns);
    call.rank_column = 0;
    call.scope_column = 0;
    for (int column = 3; column <= columns->natts; column++) {
        const std::string_view name = NameStr(TupleDescAttr(columns, column - 1)->attname);
        int& known = name == "rank" ? call.rank_column : call.scope_column;
        if ((name != "scope" && !(name == "rank" && call.wanted.ranked)) || known > 0)
            fail_columns(call, columns);
        known = column;
    }
    const bool texts = has_texts(call, columns);
    const Oid id_type = type_of(columns, 1);
    if (!OidIsValid(call.wanted.id_type))
        call.wanted.id_type = id_type;
    const bool first = !OidIsValid(call.ids.type);
    call.short_id = check_ids(call.wanted.id_type, id_type, first ? ids_of::rows : ids_of::other_rows);
    if (!first && texts != call.from_texts)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return signatures, or both texts"));
    if (!texts)
        check_signatures(call.wanted);
    const Oid rank = type_of(columns, call.rank_column);
    const Oid scope = type_of(columns, call.scope_column);
    if (!first && scope != call.scopes.values.type)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return a column named scope, of one type, or neither"));
    if (OidIsValid(rank))
        require_order(rank, "The query's column rank needs an order.");
    call.from_texts = texts;
}

void take_columns(bulk_call& call, TupleDesc columns)
{
    check_columns(call, columns);
    const Oid rank = type_of(columns, call.rank_column);
    const Oid scope = type_of(columns, call.scope_column);
    if (!OidIsValid(call.ids.type)) {
        call.ids = open_datums(call.budget, call.wanted.id_type);
        if (call.wanted.lone_ids)
            call.lone_ids = open_datums(call.budget, call.wanted.id_type);
        if (OidIsValid(rank))
            call.ranks = open_datums(call.budget, rank);
        if (OidIsValid(scope))
            open_numbered(call.scopes, call, call.budget, scope);
    }
}

void take_row(bulk_call& call, TupleTableSlot* slot)
{
    bool no_id;
    bool no_value;
    Datum id = slot_getattr(slot, 1, &no_id);
    const Datum value = slot_getattr(slot, 2, &no_value);
    if (no_id || (no_value && !call.wanted.lone_ids)) {
        call.skipped++;
        return;
    }
    check_count(call);
    MemoryContextReset(call.row_memory);
    const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
    id = convert_id(call.short_id, id);
    const bool taken = !no_value && take_value(call, slot, id, value);
    call.empty += !taken && !no_value;
    keep_id(call, id, taken);
    if (taken && call.rank_column > 0) {
        bool no_rank;
        const Datum rank = slot_getattr(slot, call.rank_column, &no_rank);
        append_datum(call.ranks, rank, no_rank);
    }
    MemoryContextSwitchTo(former);
    report_read(call, "reading rows", row_count(call) - call.rows_before, call.expected_rows);
}

void take_scanned_row(bulk_call& call, const scanned_row& row)
{
    check_count(call);
    const bool has_value = row.content != row_content::null;
    const bool taken = has_value && take_scanned_value(call, row);
    call.empty += !taken && has_value;
    keep_id(call, row.id, taken);
    if (taken && call.rank_column > 0)
        append_datum(call.ranks, row.rank, row.no_rank);
}

void prepare_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted)
{
    start_host(fresh);
    start_reporting(fresh);
    fresh.wanted = wanted;
    fresh.phases = wanted.phases;
    fresh.budget = make_budget(fresh);
    fresh.signature_type = signature_type(fcinfo->flinfo->fn_oid);
    fresh.is_internal = get_func_name(fcinfo->flinfo->fn_oid)[0] == '_';
    fresh.row_memory =
        AllocSetContextCreate(CurrentMemoryContext, "minhash_lsh row of a query", ALLOCSET_DEFAULT_SIZES);
}

void begin_query(bulk_call& call, const planned_select& query)
{
    call.expected_rows = query.rows;
    call.rows_before = row_count(call);
    if (call.rows != nullptr)
        call.rows->first_count = call.rows_before;
}

void take_columns(bulk_call& call, const QueryDesc& running)
{
    take_columns(call, running.tupDesc);
    start_rereading(call.again, running, 2);
    call.far = call.again.far;
}

void read_part(bulk_call& call, const planned_select& query, PlannedStmt* part)
{
    run_part(part, query, call, take_columns_of_query, take_row_of_query);
    call.again.scanned = nullptr;
}

void end_reading(bulk_call& call)
{
    if (call.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu row with a NULL was left out",
                              "%llu rows with a NULL were left out",
                              static_cast<unsigned long>(call.skipped),
                              static_cast<unsigned long long>(call.skipped)));
    notice_short_texts(call);
    if (row_count(call) == 0)
        return;
    if (call.verdicts != nullptr)
        call.rows->apart = &call.verdicts->rows;
    choose_by_sample(call);
    bulk::start_steps(*call.rows);
}

Datum end_call(bulk_call& call)
{
    notice_spilling(call.budget);
    if (call.rows != nullptr)
        bulk::end_steps(*call.rows);
    end_host(call);
    end_rereading(call.again);
    SPI_finish();
    return static_cast<Datum>(0);
}

std::uint32_t row_count(const bulk_call& call) { return call.rows == nullptr ? 0 : call.rows->count; }

} // namespace minhash::pg
