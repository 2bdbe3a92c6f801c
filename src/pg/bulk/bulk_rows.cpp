#include "pg/bulk/bulk_rows.h"
#include "pg/errors.h"
#include "pg/extension.h"

#include "core/bands.h"
#include "core/buckets.h"
#include "core/tuning.h"

#include <algorithm>

namespace minhash::pg {

namespace {

constexpr std::size_t small_chunk = 64 * 1024;
constexpr std::size_t large_chunk = 32 * 1024 * 1024;
constexpr std::size_t large_stores = 4; // ids, ranks, slots, documents

// Bytes per row of what later steps keep in memory: two links to twins, a root, and an entry twice.
constexpr std::size_t fixed_bytes = 28;

// Exact pairs are candidates before anything else, so candidates must not be what loses them.
constexpr double least_exact_recall = 0.99;

struct receiver {
    DestReceiver pub; // PostgreSQL knows this part
    bulk_rows* rows;
};

// Where a value by reference lies in `bytes`. A NULL has no size.
struct placed {
    std::uint64_t offset;
    std::uint64_t size;
};

constexpr std::uint64_t null_size = ~std::uint64_t{0};

void open_datums(datum_store& store, bulk_rows& rows, Oid type)
{
    store.type = type;
    get_typlenbyval(type, &store.length, &store.by_value);
    open_store(store.values, rows.budget, small_chunk);
    open_store(store.bytes, rows.budget, chunk_for(rows.budget, large_stores, large_chunk));
}

// What is appended next can be read where it lies, whatever it is.
void align(byte_store& store)
{
    static const char zeros[MAXIMUM_ALIGNOF] = {};
    append(store, zeros, MAXALIGN(store.size) - store.size);
}

void append_datum(datum_store& store, Datum value, bool null)
{
    placed at = {0, null_size};
    if (store.by_value) {
        at = {static_cast<std::uint64_t>(value), null ? null_size : 0};
    } else if (!null) {
        if (store.length == -1)
            value = PointerGetDatum(PG_DETOAST_DATUM(value));
        at = {store.bytes.size, datumGetSize(value, false, store.length)};
        append(store.bytes, DatumGetPointer(value), at.size);
        align(store.bytes);
    }
    append(store.values, &at, sizeof(at));
}

void choose_bands(bulk_rows& rows)
{
    const int hashes = rows.scheme.num_hashes;
    rows.shape = rows.wanted.shape;
    if (rows.shape.bands == 0) {
        const double recall =
            rows.exact ? std::max(rows.wanted.recall, least_exact_recall) : rows.wanted.recall;
        const band_choice choice = choose_by_recall(rows.wanted.threshold, hashes, recall);
        if (choice.bands == 0)
            fail_no_choice(rows.wanted.threshold, hashes, recall);
        rows.shape = {choice.bands, choice.rows};
    }
    check_bands(rows.shape, rows.scheme);
    const std::size_t stores = rows.shape.bands + 1;
    rows.keys =
        static_cast<byte_store*>(MemoryContextAlloc(rows.memory, stores * sizeof(byte_store)));
    const std::size_t chunk = chunk_for(rows.budget, stores, small_chunk);
    for (std::size_t i = 0; i < stores; i++)
        open_store(rows.keys[i], rows.budget, chunk);
    open_store(rows.slots, rows.budget, chunk_for(rows.budget, large_stores, large_chunk));
}

const char* id_text(const bulk_rows& rows, Datum id)
{
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(rows.ids.type, &output, &is_varlena);
    return OidOutputFunctionCall(output, id);
}

void take_scheme(bulk_rows& rows, const scheme& scheme, Datum id)
{
    if (!rows.scheme_known) {
        rows.scheme = scheme;
        rows.scheme_known = true;
        choose_bands(rows);
    } else if (!comparable({rows.scheme, {}}, {scheme, {}})) {
        fail_mixed_schemes(id_text(rows, id), scheme, rows.scheme);
    }
}

void append_keys(bulk_rows& rows, const signature& value)
{
    const int bands = rows.shape.bands;
    // The key of the whole signature is mixed from those of its bands, and of the slots behind
    // them.
    std::uint64_t whole = 0;
    const auto mix = [&whole](std::int64_t key) {
        whole = (whole ^ static_cast<std::uint64_t>(key)) * 0x9E3779B97F4A7C15;
    };
    for (int band = 0; band < bands; band++) {
        const std::int64_t key = band_key(value, band, rows.shape.rows);
        mix(key);
        const std::uint32_t half = short_key(key);
        append(rows.keys[band], &half, sizeof(half));
    }
    const int left = value.scheme.num_hashes - bands * rows.shape.rows;
    if (left > 0) {
        const std::size_t used = slot_bytes(value.scheme.bits, bands * rows.shape.rows);
        mix(band_key(with_slots(value.scheme, value.stored_slots().subspan(used)), 0, left));
    }
    const std::uint32_t half = short_key(static_cast<std::int64_t>(whole));
    append(rows.keys[bands], &half, sizeof(half));
}

// The text as it will be read again: with its header, aligned.
void append_text(bulk_rows& rows, const text* document)
{
    const std::uint64_t at[] = {rows.documents.size, VARSIZE_ANY_EXHDR(document) + VARHDRSZ};
    std::uint32_t header;
    SET_VARSIZE(&header, at[1]);
    append(rows.documents, &header, sizeof(header));
    append(rows.documents, VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document));
    align(rows.documents);
    append(rows.document_at, at, sizeof(at));
}

verification arg_verification(FunctionCallInfo fcinfo, int argument)
{
    text* const given = PG_GETARG_TEXT_PP(argument);
    const std::string_view name = {VARDATA_ANY(given), VARSIZE_ANY_EXHDR(given)};
    if (name == "exact")
        return verification::exact;
    if (name != "estimate")
        fail_choice("verify", given, "\"exact\" and \"estimate\"");
    return verification::estimate;
}

Datum as_wanted(const bulk_rows& rows, Datum id)
{
    return rows.short_id == INT4OID   ? Int64GetDatum(DatumGetInt32(id))
           : rows.short_id == INT2OID ? Int64GetDatum(DatumGetInt16(id))
                                      : id;
}

// Most signatures have the header of the first, and as many slots: then there is nothing to check.
signature decode_next(bulk_rows& rows, const struct varlena* stored, Datum id)
{
    const std::uint8_t* const bytes = reinterpret_cast<const std::uint8_t*>(VARDATA(stored));
    const std::size_t size = VARSIZE(stored) - VARHDRSZ;
    // A page is filled from its end, so a scan meets the row in front of this one next.
    for (std::size_t line = 0; line < size; line += 64)
        __builtin_prefetch(bytes - size + line);
    if (size == rows.header_size && memcmp(bytes, rows.header, header_bytes) == 0)
        return with_slots(rows.scheme, {bytes + header_bytes, size - header_bytes});
    const signature read = decode_stored({bytes, size});
    if (!rows.scheme_known) {
        memcpy(rows.header, bytes, header_bytes);
        rows.header_size = size;
    }
    take_scheme(rows, read.scheme, id);
    return read;
}

bool take_row(TupleTableSlot* slot, DestReceiver* self)
{
    bulk_rows& rows = *reinterpret_cast<receiver*>(self)->rows;
    bool no_id;
    bool no_value;
    Datum id = slot_getattr(slot, 1, &no_id);
    const Datum value = slot_getattr(slot, 2, &no_value);
    if (no_id || (no_value && !rows.wanted.lone_ids)) {
        rows.skipped++;
        return true;
    }
    MemoryContextReset(rows.row_memory);
    const MemoryContext former = MemoryContextSwitchTo(rows.row_memory);
    id = as_wanted(rows, id);

    signature read = {};
    const text* document = nullptr;
    if (no_value) {
        // near nothing, as the empty set
    } else if (rows.from_texts) {
        document = DatumGetTextPP(value);
        read = {rows.signing->scheme, sign(*rows.signing, document)};
        if (!rows.scheme_known)
            take_scheme(rows, read.scheme, id);
    } else {
        read = decode_next(rows, PG_DETOAST_DATUM(value), id);
    }
    const bool counted = !read.empty();
    if (counted || rows.wanted.lone_ids) {
        if (rows.count + rows.lone_count == most_rows)
            fail_too_many_rows(most_rows);
        append_datum(counted ? rows.ids : rows.lone_ids, id, false);
        (counted ? rows.count : rows.lone_count)++;
    }
    if (counted) {
        append(rows.slots, read.stored_slots().data(), read.stored_slots().size());
        append_keys(rows, read);
        if (rows.exact)
            append_text(rows, document);
        if (rows.wanted.ranked) {
            bool null;
            const Datum rank = slot_getattr(slot, 3, &null);
            append_datum(rows.ranks, rank, null);
        }
        rows.budget.used += fixed_bytes;
    }
    MemoryContextSwitchTo(former);
    report(rows.reading, rows.count);
    return true;
}

// What the query's columns are decides how its rows are taken.
void take_columns(DestReceiver* self, int, TupleDesc columns)
{
    bulk_rows& rows = *reinterpret_cast<receiver*>(self)->rows;
    const int expected = rows.wanted.ranked ? 3 : 2;
    if (columns->natts != 2 && columns->natts != expected)
        fail_query_columns(columns->natts, expected == 3);
    const Oid id = TupleDescAttr(columns, 0)->atttypid;
    const Oid value = getBaseType(TupleDescAttr(columns, 1)->atttypid);
    if (!OidIsValid(rows.wanted.id_type))
        rows.wanted.id_type = id;
    rows.short_id = InvalidOid;
    if (rows.wanted.id_type == INT8OID &&
        (getBaseType(id) == INT2OID || getBaseType(id) == INT4OID))
        rows.short_id = getBaseType(id);
    else if (!IsBinaryCoercible(id, rows.wanted.id_type))
        fail_query_ids(id, rows.wanted.id_type);

    const bool texts = value != rows.signature_type;
    if (texts && !IsBinaryCoercible(value, TEXTOID))
        fail_query_values(TupleDescAttr(columns, 1)->atttypid);
    const bool first = rows.ids.type == InvalidOid;
    if (!first && texts != rows.from_texts)
        fail_query_kinds();
    if (!texts && rows.wanted.verify == verification::exact)
        fail_exact_signatures();
    const Oid rank = columns->natts == 3 ? TupleDescAttr(columns, 2)->atttypid : InvalidOid;
    rows.wanted.ranked = OidIsValid(rank);
    if (OidIsValid(rank) && !OidIsValid(lookup_type_cache(rank, TYPECACHE_LT_OPR)->lt_opr))
        fail_rank_type(rank);
    if (!first)
        return;
    rows.from_texts = texts;
    rows.exact = texts && rows.wanted.verify != verification::estimate;
    open_datums(rows.ids, rows, rows.wanted.id_type);
    if (rows.wanted.lone_ids)
        open_datums(rows.lone_ids, rows, rows.wanted.id_type);
    if (rows.wanted.ranked)
        open_datums(rows.ranks, rows, rank);
    if (texts) {
        rows.signing = allocate<signer>(rows.memory);
        rows.signing->scheme = rows.wanted.texts;
        rows.signing->bag_room = {};
        rows.signing->memory = rows.memory;
        open_store(rows.documents, rows.budget, chunk_for(rows.budget, large_stores, large_chunk));
        open_store(rows.document_at, rows.budget, small_chunk);
    }
}

void ignore(DestReceiver*) {}

// An ERROR unless the plan is of one statement, a SELECT that changes nothing. (Of what its
// functions do nothing is known.)
void check_statement(SPIPlanPtr plan)
{
    const List* const statements = SPI_plan_get_plan_sources(plan);
    if (list_length(statements) != 1)
        fail_many_statements();
    const auto* const source = static_cast<const CachedPlanSource*>(linitial(statements));
    if (list_length(source->query_list) == 1) {
        const Query* const query = linitial_node(Query, source->query_list);
        if (query->commandType == CMD_SELECT && !query->hasModifyingCTE && query->rowMarks == NIL)
            return;
    }
    fail_query_writes();
}

} // namespace

Datum fetch_datum(datum_store& store, std::uint32_t row, bool& null)
{
    placed copy;
    const placed at = *static_cast<const placed*>(
        fetch(store.values, row * sizeof(placed), sizeof(placed), &copy));
    null = at.size == null_size;
    if (store.by_value || null)
        return static_cast<Datum>(at.offset);
    const std::size_t inside = at.offset & (store.bytes.chunk_bytes - 1);
    const bool in_place =
        at.offset >= store.bytes.filed && inside + at.size <= store.bytes.chunk_bytes;
    void* const buffer = in_place ? nullptr : palloc(at.size);
    return PointerGetDatum(fetch(store.bytes, at.offset, at.size, buffer));
}

bulk_request arg_bulk(const bulk_call& call)
{
    const FunctionCallInfo fcinfo = call.fcinfo;
    const auto at = [&call](int argument) { return position_of(call, argument); };
    // The typed form with a number for the type of ids, and without a threshold, comes here.
    if (!call.typed && PG_ARGISNULL(arg_threshold))
        ereport(ERROR,
                errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("threshold must not be NULL"),
                errhint("If the argument after the query gives the type of ids, give the threshold "
                        "by name, for instance threshold => 0.8."));
    for (int argument = arg_query; argument < arg_own; argument++) {
        const bool optional = argument >= arg_bands && argument <= arg_max_bucket;
        if (!optional && PG_ARGISNULL(at(argument)))
            fail_null_argument(at(argument), fcinfo->flinfo->fn_oid);
    }
    bulk_request wanted = {};
    wanted.id_type = call.typed ? get_fn_expr_argtype(fcinfo->flinfo, arg_query + 1) : Oid{INT8OID};
    if (!OidIsValid(lookup_type_cache(wanted.id_type, TYPECACHE_LT_OPR)->lt_opr))
        fail_id_order(wanted.id_type);
    wanted.threshold = arg_fraction(fcinfo, at(arg_threshold), "threshold");
    wanted.recall = arg_fraction(fcinfo, at(arg_recall), "recall");
    if (PG_ARGISNULL(at(arg_bands)) != PG_ARGISNULL(at(arg_rows)))
        fail_half_banding();
    if (!PG_ARGISNULL(at(arg_bands)))
        wanted.shape = arg_banding(fcinfo, at(arg_bands));
    if (!PG_ARGISNULL(at(arg_verify)))
        wanted.verify = arg_verification(fcinfo, at(arg_verify));
    if (!PG_ARGISNULL(at(arg_max_bucket)))
        wanted.max_bucket = arg_between(fcinfo, at(arg_max_bucket), "max_bucket", 1, INT_MAX);
    wanted.texts = arg_scheme(fcinfo, at(arg_num_hashes));
    return wanted;
}

bulk_rows* start_bulk(FunctionCallInfo fcinfo, const bulk_request& wanted)
{
    bulk_rows* const rows = static_cast<bulk_rows*>(palloc0(sizeof(bulk_rows)));
    rows->wanted = wanted;
    rows->memory = CurrentMemoryContext;
    rows->budget = {
        .context = CurrentMemoryContext,
        .limit = static_cast<std::size_t>(maintenance_work_mem) * 1024,
        .used = 0,
        .exceeded = false,
        .stores = nullptr,
        .spare = nullptr,
        .spare_bytes = 0,
    };
    rows->signature_type = signature_type(fcinfo);
    rows->row_memory = AllocSetContextCreate(CurrentMemoryContext,
                                             "minhash_lsh row of a query",
                                             ALLOCSET_DEFAULT_SIZES);
    return rows;
}

void read_query(bulk_rows& rows, const char* query)
{
    receiver receiving = {};
    receiving.pub.receiveSlot = take_row;
    receiving.pub.rStartup = take_columns;
    receiving.pub.rShutdown = ignore;
    receiving.pub.rDestroy = ignore;
    receiving.pub.mydest = DestTuplestore; // anything but DestNone
    receiving.rows = &rows;
    rows.reading = start_phase("reading rows", 0);

    SPIPrepareOptions preparing = {};
    preparing.cursorOptions = CURSOR_OPT_PARALLEL_OK;
    const SPIPlanPtr plan = SPI_prepare_extended(query, &preparing);
    if (plan == nullptr)
        elog(ERROR, "SPI_prepare_extended failed: %s", SPI_result_code_string(SPI_result));
    check_statement(plan);

    SPIExecuteOptions options = {};
    options.read_only = true; // sees what the calling statement sees
    options.dest = &receiving.pub;
    const int result = SPI_execute_plan_extended(plan, &options);
    if (result < 0)
        elog(ERROR, "SPI_execute_plan_extended failed: %s", SPI_result_code_string(result));
}

void end_reading(bulk_rows& rows)
{
    if (rows.skipped > 0)
        tell_skipped(rows.skipped);
    if (rows.budget.exceeded)
        tell_spilled(needed_bytes(rows.budget));
}

const text* fetch_text(bulk_rows& rows, std::uint32_t row, text_buffer& buffer)
{
    std::uint64_t copy[2];
    const std::uint64_t* const at = static_cast<const std::uint64_t*>(
        fetch(rows.document_at, row * sizeof(copy), sizeof(copy), copy));
    const std::uint64_t offset = at[0];
    const std::uint64_t size = at[1];
    if (buffer.room < size) {
        if (buffer.bytes != nullptr)
            pfree(buffer.bytes);
        buffer.room = std::max<std::size_t>(size, buffer.room * 2);
        buffer.bytes = static_cast<char*>(MemoryContextAllocHuge(rows.memory, buffer.room));
    }
    return static_cast<const text*>(fetch(rows.documents, offset, size, buffer.bytes));
}

} // namespace minhash::pg
