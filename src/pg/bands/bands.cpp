// Band keys of a signature, as an array and as rows.
#include "pg/arguments.h"
#include "pg/bands/bands.h"

#include "core/bands.h"

namespace minhash::pg {

std::span<Datum> make_band_keys(const signature& value, const banding& banding)
{
    check_bands(banding, value.scheme);
    const int bands = value.empty() ? 0 : banding.bands;
    Datum* const keys = static_cast<Datum*>(palloc(sizeof(Datum) * (bands + 1)));
    for (int band = 0; band < bands; band++)
        keys[band] = Int64GetDatum(band_key(value, band, banding.rows));
    return {keys, static_cast<std::size_t>(bands)};
}

namespace {

std::span<Datum> arg_band_keys(FunctionCallInfo fcinfo)
{
    return make_band_keys(arg_signature(fcinfo, 0), arg_banding(fcinfo, 1));
}

} // namespace

// lsh_band_keys(signature, bands, rows) -> bigint[]
MINHASH_FUNCTION(lsh_band_keys)
{
    const std::span<Datum> keys = arg_band_keys(fcinfo);
    return make_bigint_array(keys.data(), keys.size());
}

// lsh_bands(signature, bands, rows) -> (band int, key bigint) rows, bands counted from 1
MINHASH_FUNCTION(lsh_bands)
{
    const std::span<Datum> keys = arg_band_keys(fcinfo);
    const ReturnSetInfo& result = start_rows(fcinfo);
    for (std::size_t band = 0; band < keys.size(); band++)
        put_row(result, {Int32GetDatum(static_cast<std::int32_t>(band) + 1), keys[band]});
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
