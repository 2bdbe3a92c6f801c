// Band keys of a signature, as an array and as rows, also within a scope.
#include "pg/arguments.h"
#include "pg/extension.h"
#include "pg/lsh/bands.h"
#include "pg/progress.h"

#include "core/bands.h"

extern "C" {
#include "common/hashfn.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"
}

namespace minhash::pg {

namespace {

TypeCacheEntry* find_hash(Oid type)
{
    return lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_HASH_EXTENDED_PROC_FINFO);
}

} // namespace

bool can_be_scope(Oid type)
{
    return OidIsValid(find_hash(type)->hash_extended_proc);
}

std::uint64_t hash_scope(Oid type, Oid collation, Datum value)
{
    // PostgreSQL hashes an enum by an OID, which is another one after a dump is restored.
    if (type_is_enum(getBaseType(type))) {
        const char* const label = output_of(type, value);
        return hash_bytes_extended(reinterpret_cast<const unsigned char*>(label),
                                   static_cast<int>(strlen(label)),
                                   0);
    }
    TypeCacheEntry* const entry = find_hash(type);
    if (!OidIsValid(entry->hash_extended_proc))
        ereport(ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("could not identify an extended hash function for type %s",
                       format_type_be(type)),
                errhint("Cast the scope to text."));
    return DatumGetUInt64(
        FunctionCall2Coll(&entry->hash_extended_proc_finfo, collation, value, UInt64GetDatum(0)));
}

std::span<Datum> make_band_keys(const signature& value, const banding& shape, std::uint64_t scope)
{
    check_bands(shape, value.scheme);
    const int bands = value.empty() ? 0 : shape.bands;
    Datum* const keys = static_cast<Datum*>(palloc(sizeof(Datum) * (bands + 1)));
    for (int band = 0; band < bands; band++)
        keys[band] = Int64GetDatum(band_key(value, band, shape.rows, scope));
    return {keys, static_cast<std::size_t>(bands)};
}

namespace {

std::span<Datum> arg_band_keys(FunctionCallInfo fcinfo, std::uint64_t scope)
{
    count_row();
    return make_band_keys(arg_signature(fcinfo, 0), arg_banding(fcinfo, 1), scope);
}

std::uint64_t arg_scope_hash(FunctionCallInfo fcinfo)
{
    constexpr int scope = 3;
    return hash_scope(get_fn_expr_argtype(fcinfo->flinfo, scope),
                      PG_GET_COLLATION(),
                      PG_GETARG_DATUM(scope));
}

Datum return_bands(FunctionCallInfo fcinfo, std::span<const Datum> keys)
{
    const ReturnSetInfo& result = start_rows(fcinfo);
    for (std::size_t band = 0; band < keys.size(); band++) {
        Datum values[] = {Int32GetDatum(static_cast<std::int32_t>(band) + 1), keys[band]};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
    }
    return static_cast<Datum>(0);
}

} // namespace

// lsh_band_keys(signature, bands, rows) -> bigint[]
MINHASH_FUNCTION(lsh_band_keys)
{
    return make_bigint_array(arg_band_keys(fcinfo, 0));
}

// lsh_band_keys(signature, bands, rows, scope) -> bigint[]
MINHASH_FUNCTION(lsh_band_keys_scoped)
{
    return make_bigint_array(arg_band_keys(fcinfo, arg_scope_hash(fcinfo)));
}

// lsh_bands(signature, bands, rows) -> (band int, key bigint) rows, bands counted from 1
MINHASH_FUNCTION(lsh_bands)
{
    return return_bands(fcinfo, arg_band_keys(fcinfo, 0));
}

// lsh_bands(signature, bands, rows, scope) -> (band int, key bigint) rows
MINHASH_FUNCTION(lsh_bands_scoped)
{
    return return_bands(fcinfo, arg_band_keys(fcinfo, arg_scope_hash(fcinfo)));
}

} // namespace minhash::pg
