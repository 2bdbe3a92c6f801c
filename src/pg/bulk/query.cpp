// Rows are handed over one by one as the executor makes them, so the query's result is never kept
// whole. The first ones wait until hashes, bands and rows are chosen (choice.h), if they are left
// open; then the engine starts, and takes each row as it comes.
#include "pg/arguments.h"
#include "pg/bulk/query.h"
#include "pg/bulk/workers.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "bulk/steps.h"

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
    bulk_job* job;
    const QueryDesc* query;
};

void check_scheme(bulk_job& job, const scheme& scheme, Datum id)
{
    const minhash::scheme& others = job.rows->task.scheme;
    if (!comparable({others, {}}, {scheme, {}}))
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("signature of row %s has a different scheme than earlier rows",
                       output_of(job.ids.type, id)),
                errdetail("It is %s; earlier rows have %s.", describe(scheme), describe(others)),
                errhint("Call minhash() with the same arguments for all."));
}

// Most signatures have the header of the first, and as many slots: then there is nothing to check.
signature decode_next(bulk_job& job, const struct varlena* stored, Datum id)
{
    const std::uint8_t* const bytes = reinterpret_cast<const std::uint8_t*>(VARDATA(stored));
    const std::size_t size = VARSIZE(stored) - VARHDRSZ;
    // A page is filled from its end, so a scan meets the row in front of this one next.
    for (std::size_t line = 0; line < size; line += 64)
        __builtin_prefetch(bytes - size + line);
    if (size == job.header_size && memcmp(bytes, job.header, header_bytes) == 0)
        return with_slots(job.rows->task.scheme, {bytes + header_bytes, size - header_bytes});
    const signature read = decode_stored({bytes, size});
    if (job.rows == nullptr) {
        memcpy(job.header, bytes, header_bytes);
        job.header_size = size;
        job.rows = bulk::make_rows(job.budget, make_task(job, read.scheme), false);
    }
    check_scheme(job, read.scheme, id);
    return read;
}

// The number of a row's scope; NULL is a scope of its own.
std::uint32_t scope_of(bulk_job& job, TupleTableSlot* slot)
{
    bool null;
    const Datum scope = slot_getattr(slot, job.scope_column, &null);
    return null ? 0 : 1 + number_of(job.scopes, scope, hash_of(job.scopes, scope));
}

// Brings a value to the engine. False if it is near nothing.
bool take_value(bulk_job& job, const query_row& row)
{
    if (!job.from_texts) {
        const signature given = decode_next(job, PG_DETOAST_DATUM(row.value), row.id);
        if (job.scope_column > 0)
            bulk::set_scope(*job.rows, row.scope);
        return bulk::take_signature(*job.rows, given, row.place);
    }
    if (job.rows == nullptr)
        job.rows = bulk::make_rows(job.budget, make_task(job, job.wanted.texts), true);
    if (job.scope_column > 0)
        bulk::set_scope(*job.rows, row.scope);
    return bulk::take_text(*job.rows, utf8_of(job, DatumGetTextPP(row.value)), row.place);
}

// Rows that are near nothing.
void take_lone(bulk_job& job, Datum id)
{
    if (!job.wanted.lone_ids)
        return;
    append_datum(job.lone_ids, id, false);
    job.lone_count++;
}

// Brings a row to the engine.
void take(bulk_job& job, const query_row& row)
{
    if (!take_value(job, row)) {
        take_lone(job, row.id);
        return;
    }
    append_datum(job.ids, row.id, false);
    if (job.wanted.ranked)
        append_datum(job.ranks, row.rank, row.no_rank);
    Assert(job.ids.values->size % row_count(job) == 0); // as many ids as the engine has rows
}

// Chooses by the rows that wait, and brings them to the engine.
void end_waiting(bulk_job& job, bool ended)
{
    choose_by_waiting(job, ended);
    for (std::uint32_t place = 0; place < job.waiting.count; place++) {
        bulk::pause(job);
        MemoryContextReset(job.row_memory);
        const MemoryContext former = MemoryContextSwitchTo(job.row_memory);
        take(job, waiting_row(job, place));
        MemoryContextSwitchTo(former);
    }
    drop_waiting(job);
}

bool take_row(TupleTableSlot* slot, DestReceiver* self)
{
    bulk_job& job = *reinterpret_cast<receiver*>(self)->job;
    query_row row = {};
    bool no_id;
    bool no_value;
    row.id = slot_getattr(slot, 1, &no_id);
    row.value = slot_getattr(slot, 2, &no_value);
    if (job.wanted.ranked)
        row.rank = slot_getattr(slot, job.rank_column, &row.no_rank);
    if (no_id || (no_value && !job.wanted.lone_ids)) {
        job.skipped++;
        return true;
    }
    if (row_count(job) + job.lone_count == bulk::most_rows)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("query returns too many rows"),
                errdetail("At most %u can be taken.", bulk::most_rows),
                errhint("Use a band table and its self-join."));
    MemoryContextReset(job.row_memory);
    const MemoryContext former = MemoryContextSwitchTo(job.row_memory);
    row.id = convert_id(job.short_id, row.id);
    if (job.scope_column > 0 && !no_value)
        row.scope = scope_of(job, slot);
    if (!no_value)
        row.place = place_of_row(job.again);
    bool enough = false;
    if (no_value)
        take_lone(job, row.id);
    else if (are_waiting(job))
        enough = !keep_waiting(job, row);
    else
        take(job, row);
    MemoryContextSwitchTo(former);
    if (enough)
        end_waiting(job, false);
    // Of a second query, the rows that have come since the first one.
    const std::uint32_t read = row_count(job) + job.waiting.count - job.rows_before;
    bulk::report(job,
                 "reading rows",
                 read,
                 job.expected_rows >= read ? static_cast<std::uint64_t>(job.expected_rows) : 0);
    return true;
}

// Whether values of this type are texts; else they are signatures.
bool are_texts(const bulk_job& job, Oid type)
{
    if (getBaseType(type) == job.signature_type)
        return false;
    if (!IsBinaryCoercible(getBaseType(type), TEXTOID))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("second query column has type %s, expected %s or text",
                       format_type_be(type),
                       format_type_be(job.signature_type)),
                errhint("Cast it to text, or sign it with minhash()."));
    return true;
}

// The type of a column, counted from 1; InvalidOid for none.
Oid type_of(TupleDesc columns, int column)
{
    return column > 0 ? TupleDescAttr(columns, column - 1)->atttypid : InvalidOid;
}

[[noreturn]] void fail_columns(const bulk_job& job, TupleDesc columns)
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
                   job.wanted.ranked ? "columns named scope and rank" : "a column named scope"),
            columns->natts > 0 ? errdetail("It returns %s.", names.data)
                               : errdetail("It returns no columns."),
            errhint("Use, for example, SELECT id, body%s FROM articles.",
                    job.wanted.ranked ? ", language AS scope, -length(body) AS rank"
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
    bulk_job& job = *reinterpret_cast<receiver*>(self)->job;
    if (columns->natts < 2)
        fail_columns(job, columns);
    const int former_scope = job.scope_column;
    job.rank_column = 0;
    job.scope_column = 0;
    start_rereading(job.again, *reinterpret_cast<receiver*>(self)->query, 2);
    for (int column = 3; column <= columns->natts; column++) {
        const std::string_view name = NameStr(TupleDescAttr(columns, column - 1)->attname);
        int& known = name == "rank" && job.wanted.ranked ? job.rank_column : job.scope_column;
        if ((name != "rank" && name != "scope") || (name == "rank" && !job.wanted.ranked) ||
            known > 0)
            fail_columns(job, columns);
        known = column;
    }
    const Oid id_type = TupleDescAttr(columns, 0)->atttypid;
    if (!OidIsValid(job.wanted.id_type))
        job.wanted.id_type = id_type;
    job.short_id = check_ids(job.wanted.id_type, id_type);
    const bool texts = are_texts(job, TupleDescAttr(columns, 1)->atttypid);
    const bool first = job.ids.type == InvalidOid;
    if (!first && texts != job.from_texts)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return signatures, or both texts"));
    if (!texts)
        check_signatures(job.wanted);
    const Oid rank = type_of(columns, job.rank_column);
    const Oid scope = type_of(columns, job.scope_column);
    if (!first && ((former_scope > 0) != (job.scope_column > 0) ||
                   (job.scope_column > 0 && scope != job.scopes.values.type)))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("both queries must return a column named scope, of one type, or neither"));
    job.wanted.ranked = OidIsValid(rank);
    if (OidIsValid(rank) && !OidIsValid(lookup_type_cache(rank, TYPECACHE_LT_OPR)->lt_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s", format_type_be(rank)),
                errdetail("The query's column rank needs an order."));
    if (!first)
        return;
    job.from_texts = texts;
    job.ids = open_datums(job.budget, job.wanted.id_type);
    if (job.wanted.lone_ids)
        job.lone_ids = open_datums(job.budget, job.wanted.id_type);
    if (job.wanted.ranked)
        job.ranks = open_datums(job.budget, rank);
    if (job.scope_column > 0)
        open_numbered(job.scopes, job, job.budget, scope);
}

void ignore(DestReceiver*) {}

} // namespace

void start_job(bulk_job& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted)
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

void read_query(bulk_job& job, const planned_select& query)
{
    receiver receiving = {};
    receiving.pub.receiveSlot = take_row;
    receiving.pub.rStartup = take_columns;
    receiving.pub.rShutdown = ignore;
    receiving.pub.rDestroy = ignore;
    receiving.job = &job;
    job.expected_rows = query.rows;
    job.rows_before = row_count(job);
    job.estimated = true;
    run_select(query, receiving.pub, &receiving.query);
    job.again.scanned = nullptr;
    job.estimated = false;
    if (job.waiting.count > 0)
        end_waiting(job, true);
}

void end_reading(bulk_job& job)
{
    if (job.skipped > 0)
        ereport(NOTICE,
                errmsg_plural("%llu row with a NULL was left out",
                              "%llu rows with a NULL were left out",
                              static_cast<unsigned long>(job.skipped),
                              static_cast<unsigned long long>(job.skipped)));
    if (job.rows != nullptr)
        bulk::finish_rows(*job.rows);
    notice_spilling(job.budget);
}

void end_job(bulk_job& job)
{
    if (job.rows != nullptr)
        bulk::end_rows(*job.rows);
    bulk::close_stores(job.budget);
    end_sharing(job);
    end_rereading(job.again);
}

std::uint32_t row_count(const bulk_job& job)
{
    return job.rows == nullptr ? 0 : job.rows->count;
}

} // namespace minhash::pg
