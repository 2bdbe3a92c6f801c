// Band keys of a signature, as an array and as rows.
#include "pg/glue.h"

#include "pg/errors.h"

#include "core/bands.h"

namespace minhash::pg {

namespace {

// A signature with as many bands as it has: none if it is the empty set's.
struct banded {
    signature value;
    banding shape;
};

banded arg_banded(FunctionCallInfo fcinfo)
{
    banded given = {arg_signature(fcinfo, 0), arg_banding(fcinfo, 1)};
    if (static_cast<long>(given.shape.bands) * given.shape.rows > given.value.made.num_hashes)
        fail_bands(given.shape.bands, given.shape.rows, given.value.made.num_hashes);
    if (given.value.empty())
        given.shape.bands = 0;
    return given;
}

} // namespace

// lsh_band_keys(signature, bands, rows) -> bigint[]
MINHASH_FUNCTION(lsh_band_keys)
{
    const banded given = arg_banded(fcinfo);
    Datum keys[max_num_hashes];
    for (int band = 0; band < given.shape.bands; band++)
        keys[band] = Int64GetDatum(band_key(given.value, band, given.shape.rows));
    return make_bigint_array({keys, static_cast<std::size_t>(given.shape.bands)});
}

// lsh_bands(signature, bands, rows) -> (band int, key bigint) rows, bands counted from 1
MINHASH_FUNCTION(lsh_bands)
{
    const banded given = arg_banded(fcinfo);
    const ReturnSetInfo& result = start_rows(fcinfo);
    for (int band = 0; band < given.shape.bands; band++) {
        Datum values[] = {Int32GetDatum(band + 1),
                          Int64GetDatum(band_key(given.value, band, given.shape.rows))};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result.setResult, result.setDesc, values, nulls);
    }
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
