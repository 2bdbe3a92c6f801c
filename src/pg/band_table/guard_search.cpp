// A lookup through the band table as near_rows() writes it, without the row itself, for the first
// result; only if that may not be referred to, because the row is hidden from the writer or is yet
// to be judged in the same statement, for all of them. Rows yet to be judged are known by hashes of
// their ids, sorted.
#include "pg/arguments.h"
#include "pg/band_table/guard_search.h"
#include "pg/band_table/lookup.h"
#include "pg/extension.h"
#include "pg/growing.h"
#include "pg/lsh/bands.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "utils/datum.h"
#include "utils/rls.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

// (datum_image_hash() gives 32 bits, in which some of a million ids are equal.)
std::uint64_t hash_of_id(const guard& given, Datum id)
{
    const TypeCacheEntry* const type = lookup_type_cache(given.id_type, 0);
    const void* bytes = type->typbyval ? static_cast<void*>(&id) : DatumGetPointer(id);
    std::size_t size = type->typbyval ? sizeof(id) : static_cast<std::size_t>(type->typlen);
    if (type->typlen == -1) {
        const struct varlena* const whole = PG_DETOAST_DATUM_PACKED(id);
        bytes = VARDATA_ANY(whole);
        size = VARSIZE_ANY_EXHDR(whole);
    } else if (type->typlen == -2) {
        size = strlen(DatumGetCString(id));
    }
    return hash_bytes_extended(static_cast<const unsigned char*>(bytes), static_cast<int>(size), 0);
}

int compare_queued(const void* left, const void* right, void*)
{
    const std::uint64_t a = static_cast<const queued_row*>(left)->id;
    const std::uint64_t b = static_cast<const queued_row*>(right)->id;
    return (a > b) - (a < b);
}

bool is_yet_to_be_judged(const guard_search& search, Datum id)
{
    const row_queue& queue = search.queue;
    if (queue.rows.empty())
        return false;
    const std::uint64_t hash = hash_of_id(*search.given, id);
    const auto found = std::lower_bound(
        queue.rows.begin(),
        queue.rows.end(),
        hash,
        [](const queued_row& row, std::uint64_t wanted) { return row.id < wanted; });
    return found != queue.rows.end() && found->id == hash && found->place > queue.judged;
}

// A statement that reads the row of the id $1.
kept_plan& prepare_reading(const guard& given, const char* what)
{
    const Oid source = given.settings.source;
    const Oid types[] = {given.id_type};
    return prepare_once(source,
                        psprintf("SELECT %s FROM %s AS source WHERE source.%s%s$1",
                                 what,
                                 quoted_relation(source),
                                 quoted_column(source, given.settings.id),
                                 equality_of(given.id_type)),
                        types);
}

// Policies are asked as the writer, and run as him.
bool is_hidden(const guard_search& search, Datum id)
{
    if (search.check == nullptr)
        return false;
    Datum values[] = {id};
    const identity guardian = act_again_as(search.writer);
    const std::uint64_t count = run(*search.check, values, nullptr, true, snapshot::latest);
    act_again_as(guardian);
    SPI_freetuptable(SPI_tuptable);
    return count == 0;
}

} // namespace

guard_search open_search(FunctionCallInfo fcinfo, const guard& given, identity writer)
{
    const Oid source = given.settings.source;
    const Oid types[] = {INT8ARRAYOID,
                         signature_type(fcinfo),
                         FLOAT8OID,
                         given.id_type,
                         INT8OID,
                         given.columns.scope_type};
    // Of several near-duplicates one stays unmarked, and marks refer to such rows only.
    const char* const others =
        psprintf("%s AND NOT (source.%s%s$4)%s%s%s ORDER BY 2 DESC, 1 LIMIT $5",
                 within_scope(given.settings, "$6"),
                 quoted_column(source, given.settings.id),
                 equality_of(given.id_type),
                 given.marks() ? " AND source." : "",
                 given.marks() ? quoted_column(source, given.mark) : "",
                 given.marks() ? " IS NULL" : "");
    const bool policies =
        given.marks() && check_enable_rls(source, writer.user, true) == RLS_ENABLED;
    return {
        .given = &given,
        .find = &prepare_once(source, near_rows(fcinfo, given.settings, 0, "", others), types),
        .check = policies ? &prepare_reading(given, "") : nullptr,
        .queue = {},
        .writer = writer,
    };
}

void queue_rows(guard_search& search, row_reader& reader)
{
    growing<queued_row> queued;
    queued.start(64);
    signed_row rows[2];
    for (std::uint64_t place = 1; next_rows(reader, rows); place++) {
        if (stays(*search.given, rows) || !is_comparable(rows[after]))
            continue;
        const MemoryContext kept = MemoryContextSwitchTo(reader.memory);
        const std::uint64_t hash = hash_of_id(*search.given, rows[after].id);
        MemoryContextSwitchTo(kept);
        queued.add({hash, place});
    }
    qsort_interruptible(queued.at, queued.count, sizeof(queued_row), compare_queued, nullptr);
    search.queue = {{queued.at, queued.count}, 0};
}

bool find_nearest(const guard_search& search, const signed_row& row, near_row& nearest)
{
    const guard& given = *search.given;
    const TypeCacheEntry* const id_type = lookup_type_cache(given.id_type, 0);
    Datum values[] = {
        make_bigint_array(make_band_keys(row.value, given.settings.shape, row.scope_hash)),
        row.stored,
        Float8GetDatum(given.threshold),
        row.id,
        Int64GetDatum(1),
        row.scope};
    // Most often the first will do.
    for (const char* const nulls : {"      ", "    n "}) {
        const std::uint64_t count = run(*search.find, values, nulls, true, snapshot::latest);
        SPITupleTable* const found = SPI_tuptable;
        bool taken = false;
        for (std::uint64_t i = 0; i < count && !taken; i++) {
            bool null;
            const Datum id = SPI_getbinval(found->vals[i], found->tupdesc, 1, &null);
            const Datum similarity = SPI_getbinval(found->vals[i], found->tupdesc, 2, &null);
            taken = !is_yet_to_be_judged(search, id) && !is_hidden(search, id);
            if (taken)
                nearest = {datumCopy(id, id_type->typbyval, id_type->typlen),
                           DatumGetFloat8(similarity)};
        }
        SPI_freetuptable(found);
        if (taken || count == 0)
            return taken;
    }
    return false;
}

bool is_current(const guard& given, const signed_row& row)
{
    const band_table& settings = given.settings;
    const bool scoped = settings.scope != InvalidAttrNumber;
    kept_plan& plan =
        prepare_reading(given,
                        psprintf("source.%s%s%s",
                                 quoted_column(settings.source, settings.signature),
                                 scoped ? ", source." : "",
                                 scoped ? quoted_column(settings.source, settings.scope) : ""));
    Datum values[] = {row.id};
    const std::uint64_t count = run(plan, values, nullptr, true, snapshot::latest);
    bool found = false;
    for (std::uint64_t i = 0; i < count && !found; i++) {
        bool null;
        bool no_scope = false;
        Datum scope = 0;
        const Datum stored = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null);
        if (scoped)
            scope = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &no_scope);
        found = null || no_scope ? !row.present
                                 : row.present && datum_image_eq(stored, row.stored, false, -1) &&
                                       same_scope(given, scope, row.scope);
    }
    SPI_freetuptable(SPI_tuptable);
    return found;
}

} // namespace minhash::pg
