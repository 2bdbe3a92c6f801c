// Rows are handed over one by one as the executor makes them, so the query's result is never kept
// whole. The first ones wait until hashes, bands and rows are chosen (choice.h), if they are left
// open; then the engine starts, and takes each row as it comes.
#include "pg/arguments.h"
#include "pg/bulk/query.h"
#include "pg/bulk/workers.h"
#include "pg/errors.h"
#include "pg/extension.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
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

// Brings a value to the engine. False if it is near nothing.
bool take_value(bulk_job& job, Datum value, Datum id)
{
    if (!job.from_texts)
        return bulk::take_signature(*job.rows, decode_next(job, PG_DETOAST_DATUM(value), id));
    if (job.rows == nullptr)
        job.rows = bulk::make_rows(job.budget, make_task(job, job.wanted.texts), true);
    return bulk::take_text(*job.rows, utf8_of(job, DatumGetTextPP(value)));
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
void take(bulk_job& job, Datum id, Datum value, Datum rank, bool no_rank)
{
    if (!take_value(job, value, id)) {
        take_lone(job, id);
        return;
    }
    append_datum(job.ids, id, false);
    if (job.wanted.ranked)
        append_datum(job.ranks, rank, no_rank);
}

// Chooses by the rows that wait, and brings them to the engine.
void end_waiting(bulk_job& job, bool ended)
{
    waiting_rows& waiting = job.waiting;
    choose_by_waiting(job, ended);
    for (std::uint32_t place = 0; place < waiting.count; place++) {
        bulk::pause(job);
        MemoryContextReset(job.row_memory);
        const MemoryContext former = MemoryContextSwitchTo(job.row_memory);
        bool null;
        bool no_rank = true;
        const Datum id = fetch_datum(waiting.ids, place, null);
        const Datum value = fetch_datum(waiting.values, place, null);
        const Datum rank = job.wanted.ranked ? fetch_datum(waiting.ranks, place, no_rank) : 0;
        take(job, id, value, rank, no_rank);
        MemoryContextSwitchTo(former);
    }
    for (datum_store* const store : {&waiting.ids, &waiting.values, &waiting.ranks})
        if (OidIsValid(store->type))
            close_datums(*store);
    waiting = {};
}

bool take_row(TupleTableSlot* slot, DestReceiver* self)
{
    bulk_job& job = *reinterpret_cast<receiver*>(self)->job;
    bool no_id;
    bool no_value;
    bool no_rank = true;
    Datum id = slot_getattr(slot, 1, &no_id);
    const Datum value = slot_getattr(slot, 2, &no_value);
    const Datum rank = job.wanted.ranked ? slot_getattr(slot, 3, &no_rank) : 0;
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
    id = convert_id(job.short_id, id);
    bool enough = false;
    if (no_value)
        take_lone(job, id);
    else if (are_waiting(job))
        enough = !keep_waiting(job, id, value, rank, no_rank);
    else
        take(job, id, value, rank, no_rank);
    MemoryContextSwitchTo(former);
    if (enough)
        end_waiting(job, false);
    bulk::report(job, "reading rows", row_count(job) + job.waiting.count, 0);
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

// What the query's columns are decides how its rows are taken.
void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    bulk_job& job = *reinterpret_cast<receiver*>(self)->job;
    const int most = job.wanted.ranked ? 3 : 2;
    if (columns->natts != 2 && columns->natts != most)
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("query must return %s",
                       most == 3 ? "two or three columns: id, signature or text, and rank"
                                 : "two columns: id and signature or text"),
                errdetail_plural("It returns %d column.",
                                 "It returns %d columns.",
                                 columns->natts,
                                 columns->natts),
                errhint("Use, for example, SELECT id, body FROM articles."));
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
    if (!texts && job.wanted.verify == verification::exact)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("signatures cannot be verified exactly"),
                errhint("Let the query return texts, or leave out verify => 'exact'."));
    const Oid rank = columns->natts == 3 ? TupleDescAttr(columns, 2)->atttypid : InvalidOid;
    job.wanted.ranked = OidIsValid(rank);
    if (OidIsValid(rank) && !OidIsValid(lookup_type_cache(rank, TYPECACHE_LT_OPR)->lt_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an ordering operator for type %s", format_type_be(rank)),
                errdetail("The third query column, the rank, needs an order."));
    if (!first)
        return;
    job.from_texts = texts;
    job.ids = open_datums(job.budget, job.wanted.id_type);
    if (job.wanted.lone_ids)
        job.lone_ids = open_datums(job.budget, job.wanted.id_type);
    if (job.wanted.ranked)
        job.ranks = open_datums(job.budget, rank);
}

void ignore(DestReceiver*) {}

} // namespace

void start_job(bulk_job& fresh, FunctionCallInfo fcinfo, const bulk_request& wanted)
{
    start_host(fresh);
    allow_workers(fresh, fcinfo->flinfo->fn_oid);
    fresh.wanted = wanted;
    fresh.budget = make_budget(fresh);
    fresh.signature_type = signature_type(fcinfo);
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
    run_select(query, receiving.pub);
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

bulk::text_bytes utf8_of(bulk_job& job, const text* document)
{
    open(job.reader, document);
    if (!OidIsValid(job.reader.conversion))
        return {job.reader.at, job.reader.left};
    std::size_t bytes = 0;
    while (!at_end(job.reader)) {
        const std::span<const std::uint8_t> slice = read(job.reader);
        bulk::grow(job, job.converted, bytes, bytes + slice.size());
        memcpy(job.converted.values + bytes, slice.data(), slice.size());
        bytes += slice.size();
    }
    return {job.converted.values, bytes};
}

void end_job(bulk_job& job)
{
    end_workers(job);
    bulk::close_stores(job.budget);
}

std::uint32_t row_count(const bulk_job& job)
{
    return job.rows == nullptr ? 0 : job.rows->count;
}

} // namespace minhash::pg
