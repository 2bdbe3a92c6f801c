// If a type is passed by value, the store `values` has the Datums. If values can be NULL, each Datum has a mark that
// says whether it is NULL. If a type is passed by reference, `values` has the positions of the values in the store
// `bytes`. There, the values are stored one after the other, aligned so that they can be read in place.
#include "pg/bulk/datum_store.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

constexpr std::size_t small_chunk = 64 * 1024;
constexpr std::size_t large_chunk = 32 * 1024 * 1024;

// The position in `bytes` of a value that is passed by reference. If the type is passed by value, `offset` is the value
// itself. For a NULL, `size` is null_size.
struct datum_position {
    std::uint64_t offset;
    std::uint64_t size;
};

constexpr std::uint64_t null_size = ~std::uint64_t{0};

// Pads a store so that the next value will be aligned, whatever its type, and can be read in place.
void align(bulk::byte_store& store)
{
    static const char zeros[MAXIMUM_ALIGNOF] = {};
    bulk::append(store, zeros, MAXALIGN(store.size) - store.size);
}

} // namespace

datum_store open_datums(bulk::memory_budget& budget, Oid type, bool nulls)
{
    datum_store store = {};
    store.type = type;
    get_typlenbyval(type, &store.length, &store.by_value);
    store.plain = store.by_value && !nulls;
    const std::size_t large = bulk::chunk_for(budget, bulk::large_stores, large_chunk);
    store.values = bulk::open_store(budget, store.plain ? large : small_chunk);
    store.bytes = bulk::open_store(budget, store.plain ? small_chunk : large);
    return store;
}

void append_datum(datum_store& store, Datum value, bool null)
{
    Assert(OidIsValid(store.type));
    if (store.plain) {
        Assert(!null);
        bulk::append(*store.values, &value, sizeof(value));
        return;
    }
    datum_position at = {0, null_size};
    if (store.by_value) {
        at = {static_cast<std::uint64_t>(value), null ? null_size : 0};
    } else if (!null) {
        if (store.length == -1)
            value = PointerGetDatum(PG_DETOAST_DATUM(value));
        at = {store.bytes->size, datumGetSize(value, false, store.length)};
        bulk::append(*store.bytes, DatumGetPointer(value), at.size);
        align(*store.bytes);
    }
    bulk::append(*store.values, &at, sizeof(at));
}

Datum fetch_datum(datum_store& store, std::uint32_t ordinal, bool* null)
{
    if (store.plain)
        return fetch_plain(store, ordinal);
    const auto at = bulk::fetch_value<datum_position>(*store.values, ordinal);
    const bool is_null = at.size == null_size;
    if (null != nullptr)
        *null = is_null;
    Assert(null != nullptr || !is_null);
    if (store.by_value || is_null)
        return static_cast<Datum>(at.offset);
    void* const buffer = bulk::in_place(*store.bytes, at.offset, at.size) ? nullptr : palloc(at.size);
    return PointerGetDatum(bulk::fetch(*store.bytes, at.offset, at.size, buffer));
}

namespace {

bool has_number(numbered_values& known, Datum value, std::uint32_t number)
{
    if (known.plain)
        return value == fetch_plain(known.values, number);
    const Datum other = fetch_datum(known.values, number);
    return DatumGetBool(FunctionCall2Coll(&known.equal, known.collation, value, other));
}

} // namespace

void open_numbered(numbered_values& fresh, bulk_host& host, bulk::memory_budget& budget, Oid type)
{
    // PostgreSQL's type cache knows no hash function for a domain over a range.
    const TypeCacheEntry* const entry =
        lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC);
    if (!OidIsValid(entry->hash_extended_proc) || !OidIsValid(entry->eq_opr))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an extended hash function for type %s", format_type_be(type)),
                errhint("Cast the column to text."));
    fresh.plain = type == INT8OID;
    fresh.collation = entry->typcollation;
    fmgr_info_cxt(entry->hash_extended_proc, &fresh.hash, host.memory);
    fmgr_info_cxt(get_opcode(entry->eq_opr), &fresh.equal, host.memory);
    fresh.values = open_datums(budget, type, false);
    fresh.numbers = bulk::start_numbering(host);
}

std::uint32_t hash_of(numbered_values& known, Datum value)
{
    if (known.plain)
        return static_cast<std::uint32_t>(first_cell(DatumGetUInt64(value)));
    const auto secret = UInt64GetDatum(probing.flip);
    return static_cast<std::uint32_t>(DatumGetUInt64(FunctionCall2Coll(&known.hash, known.collation, value, secret)));
}

std::uint32_t known_number(numbered_values& known, Datum value, std::uint32_t hash)
{
    return bulk::known_number(known.numbers, hash, [&](std::uint32_t other) {
        return has_number(known, value, other);
    });
}

std::uint32_t number_of(numbered_values& known, Datum value, std::uint32_t hash)
{
    const std::uint32_t count = known.numbers.count;
    const std::uint32_t number =
        bulk::number_of(known.numbers, hash, [&](std::uint32_t other) { return has_number(known, value, other); });
    if (number == bulk::most_rows)
        ereport(ERROR,
                errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("query returns too many different values"),
                errdetail("There can be at most %u.", bulk::most_rows));
    if (number == count)
        append_datum(known.values, value, false);
    return number;
}

} // namespace minhash::pg
