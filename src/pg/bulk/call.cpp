// Rows are handed over one by one as the executor makes them, so the query's result is never kept
// whole. The first ones wait until hashes, bands and rows are chosen (choice.h), if they are left
// open; then the engine starts, and takes each row as it comes.
#include "pg/arguments.h"
#include "pg/bulk/query.h"
#include "pg/bulk/workers.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "bulk/rows/steps.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "parser/parse_coerce.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

struct receiver {
    DestReceiver pub; // PostgreSQL knows this part
    bulk_call* call;
    const QueryDesc* query;
};

void check_scheme(bulk_call& call, const scheme& scheme, Datum id)
{
    const minhash::scheme& others = call.rows->task.scheme;
    if (!comparable({others, {}}, {scheme, {}}))
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("signature of row %s has a different scheme than earlier rows",
                       output_of(call.ids.type, id)),
                errdetail("It is %s; earlier rows have %s.", describe(scheme), describe(others)),
                errhint("Call minhash() with the same arguments for all."));
}

// Most signatures have the header of the first, and as many slots: then there is nothing to check.
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

// Brings a value to the engine. False if it is near nothing.
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
    return bulk::take_text(*call.rows, utf8_of(call, DatumGetTextPP(row.value)), row.place);
}

// Rows that are near nothing.
void take_lone(bulk_call& call, Datum id)
{
    if (!call.wanted.lone_ids)
        return;
    append_datum(call.lone_ids, id, false);
    call.lone_count++;
}

// Brings a row to the engine.
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

// Chooses by the rows that wait, and brings them to the engine.
void end_waiting(bulk_call& call, bool ended)
{
    choose_by_waiting(call, ended);
    for (std::uint32_t place = 0; place < call.waiting.count; place++) {
        bulk::pause(call);
        MemoryContextReset(call.row_memory);
        const MemoryContext former = MemoryContextSwitchTo(call.row_memory);
        take(call, waiting_row(call, place));
        MemoryContextSwitchTo(former);
    }
    drop_waiting(call);
}

bool take_row(TupleTableSlot* slot, DestReceiver* self)
{
    bulk_call& call = *reinterpret_cast<receiver*>(self)->call;
    query_row row = {};
    bool no_id;
    bool no_value;
    row.id = slot_getattr(slot, 1, &no_id);
    row.value = slot_getattr(slot, 2, &no_value);
    if (call.wanted.ranked)
        row.rank = slot_getattr(slot, call.rank_column, &row.no_rank);
    if (no_id || (no_value && !call.wanted.lone_ids)) {
        call.skipped++;
        return true;
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
    if (call.scope_column > 0 && !no_value)
        row.scope = scope_of(call, slot);
    if (!no_value)
        row.place = place_of_row(call.again);
    bool enough = false;
    if (no_value)
        take_lone(call, row.id);
    else if (are_waiting(call))
        enough = !keep_waiting(call, row);
    else
        take(call, row);
    MemoryContextSwitchTo(former);
    if (enough)
        end_waiting(call, false);
    // Of a second query, the rows that have come since the first one.
    const std::uint32_t read = row_count(call) + call.waiting.count - call.rows_before;
    bulk::report(call,
                 "reading rows",
                 read,
                 call.expected_rows >= read ? static_cast<std::uint64_t>(call.expected_rows) : 0);
    return true;
}

// Whether values of this type are texts; else they are signatures.
bool are_texts(const bulk_call& call, Oid type)
{
    if (getBaseType(type) == call.signature_type)
        return false;
    if (!IsBinaryCoercible(getBaseType(type), TEXTOID))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("second query column has type %s, expected %s or text",
                       format_type_be(type),
                       format_type_be(call.signature_type)),
                errhint("Cast it to text, or sign it with minhash()."));
    return true;
}

// The type of a column, counted from 1; InvalidOid for none.
Oid type_of(TupleDesc columns, int column)
{
    return column > 0 ? TupleDescAttr(columns, column - 1)->atttypid : InvalidOid;
}

[[noreturn]] void fail_columns(const bulk_call& call, TupleDesc columns)
{
    StringInfoData names;
    initStringInfo(&names);
    for (int i = 0; i < columns->natts; i++)
        appendStringInfo(&names,
                         "%s\"%s\"",
                         i > 0 ? ", " : "",
                         NameStr(TupleDescAttr(columns, i)->attname));
    ereport(ERROR,
            errcode(ERRCODE_DATATYPE_MISMATCH),
            errmsg("query must return id and signature or text, and may return %s",
                   call.wanted.ranked ? "columns named scope and rank" : "a column named scope"),
            columns->natts > 0 ? errdetail("It returns %s.", names.data)
                               : errdetail("It returns no columns."),
            errhint("Use, for example, SELECT id, body%s FROM articles.",
                    call.wanted.ranked ? ", language AS scope, -length(body) AS rank"
                                       : ", language AS scope"));
    pg_unreachable();
}

// An ERROR if signatures cannot do what is asked for.
void check_signatures(const bulk_request& wanted)
{
    if (wanted.texts_only != nullptr)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("query must return texts, not signatures"),
                errdetail("%s", wanted.texts_only),
                errhint("Let the query return the texts, without minhash()."));
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

// What the query's columns are decides how its rows are taken.
void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    bulk_call& call = *reinterpret_cast<receiver*>(self)->call;
    if (columns->natts < 2)
        fail_columns(call, columns);
    const int former_scope = call.scope_column;
    call.rank_column = 0;
    call.scope_column = 0;
    start_rereading(call.again, *reinterpret_cast<receiver*>(self)->query, 2);
    call.far = call.again.far;
    for (int column = 3; column <= columns->natts; column++) {
        const std::string_view name = NameStr(TupleDescAttr(columns, column - 1)->attname);
        int& known = name == "rank" && call.wanted.ranked ? call.rank_column : call.scope_column;
        if ((name != "rank" && name != "scope") || (name == "rank" && !call.wanted.ranked) ||
            known > 0)
            fail_columns(call, columns);
        known = column;
    }
    const Oid id_type = TupleDescAttr(columns, 0)->atttypid;
    if (!OidIsValid(call.wanted.id_type))
        call.wanted.id_type = id_type;
    call.short_id = check_ids(call.wanted.id_type, id_type);
    const bool texts = are_texts(call, TupleDescAttr(columns, 1)->atttypid);
    const bool first = call.ids.type == InvalidOid;
    if (!first && texts != call.from_texts)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return signatures, or both texts"));
    if (!texts)
        check_signatures(call.wanted);
    const Oid rank = type_of(columns, call.rank_column);
    const Oid scope = type_of(columns, call.scope_column);
    if (!first && ((former_scope > 0) != (call.scope_column > 0) ||
                   (call.scope_column > 0 && scope != call.scopes.values.type)))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return a column named scope, of one type, or neither"));
    call.wanted.ranked = OidIsValid(rank);
    if (OidIsValid(rank) && !OidIsValid(lookup_type_cache(rank, TYPECACHE_LT_OPR)->lt_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s", format_type_be(rank)),
                errdetail("The query's column rank needs an order."));
    if (!first)
        return;
    call.from_texts = texts;
    call.ids = open_datums(call.budget, call.wanted.id_type);
    if (call.wanted.lone_ids)
        call.lone_ids = open_datums(call.budget, call.wanted.id_type);
    if (call.wanted.ranked)
        call.ranks = open_datums(call.budget, rank);
    if (call.scope_column > 0)
        open_numbered(call.scopes, call, call.budget, scope);
}

void ignore(DestReceiver*) {}

} // namespace

void start_call(bulk_call& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted)
{
    start_host(fresh);
    start_reporting(fresh);
    fresh.wanted = wanted;
    fresh.budget = make_budget(fresh);
    fresh.signature_type = signature_type(fcinfo->flinfo->fn_oid);
    fresh.row_memory = AllocSetContextCreate(CurrentMemoryContext,
                                             "minhash_lsh row of a query",
                                             ALLOCSET_DEFAULT_SIZES);
}

void read_query(bulk_call& call, const planned_select& query)
{
    receiver receiving = {};
    receiving.pub.receiveSlot = take_row;
    receiving.pub.rStartup = take_columns;
    receiving.pub.rShutdown = ignore;
    receiving.pub.rDestroy = ignore;
    receiving.call = &call;
    call.expected_rows = query.rows;
    call.rows_before = row_count(call);
    call.estimated = true;
    run_select(query, receiving.pub, &receiving.query);
    call.again.scanned = nullptr;
    call.estimated = false;
    if (call.waiting.count > 0)
        end_waiting(call, true);
}

void end_reading(bulk_call& call)
{
    if (call.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu row with a NULL was left out",
                              "%llu rows with a NULL were left out",
                              static_cast<unsigned long>(call.skipped),
                              static_cast<unsigned long long>(call.skipped)));
    if (call.rows != nullptr)
        bulk::finish_rows(*call.rows);
}

void end_call(bulk_call& call)
{
    notice_spilling(call.budget);
    if (call.rows != nullptr)
        bulk::end_rows(*call.rows);
    bulk::close_stores(call.budget);
    end_sharing(call);
    end_rereading(call.again);
}

std::uint32_t row_count(const bulk_call& call)
{
    return call.rows == nullptr ? 0 : call.rows->count;
}

} // namespace minhash::pg
