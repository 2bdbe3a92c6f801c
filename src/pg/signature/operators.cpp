// Equality, order and hashing of whole signatures, for GROUP BY, DISTINCT, joins and indexes. The order is that of the
// stored bytes: it means nothing, but it is total and the same everywhere. Signatures of different schemes are just
// unequal here, while their similarity is an ERROR.
#include "pg/arguments.h"

#include <algorithm>

extern "C" {
#include "common/hashfn.h"
}

namespace minhash::pg {

namespace {

// The checked bytes of a signature, and the value to be freed after use, as sorts compare often.
struct stored_signature {
    struct varlena* value;
    std::span<const std::uint8_t> bytes;
};

stored_signature arg_stored(FunctionCallInfo fcinfo, int argument)
{
    struct varlena* const value = PG_GETARG_VARLENA_PP(argument);
    const std::span<const std::uint8_t> bytes = {
        reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(value)),
        VARSIZE_ANY_EXHDR(value),
    };
    decode_stored(bytes);
    return {value, bytes};
}

int compare(FunctionCallInfo fcinfo)
{
    const stored_signature a = arg_stored(fcinfo, 0);
    const stored_signature b = arg_stored(fcinfo, 1);
    int order = memcmp(a.bytes.data(), b.bytes.data(), std::min(a.bytes.size(), b.bytes.size()));
    if (order == 0)
        order = (a.bytes.size() > b.bytes.size()) - (a.bytes.size() < b.bytes.size());
    PG_FREE_IF_COPY(a.value, 0);
    PG_FREE_IF_COPY(b.value, 1);
    return order;
}

} // namespace

MINHASH_FUNCTION(minhash_cmp)
{
    PG_RETURN_INT32(compare(fcinfo));
}

MINHASH_FUNCTION(minhash_lt)
{
    PG_RETURN_BOOL(compare(fcinfo) < 0);
}

MINHASH_FUNCTION(minhash_le)
{
    PG_RETURN_BOOL(compare(fcinfo) <= 0);
}

MINHASH_FUNCTION(minhash_eq)
{
    PG_RETURN_BOOL(compare(fcinfo) == 0);
}

MINHASH_FUNCTION(minhash_ne)
{
    PG_RETURN_BOOL(compare(fcinfo) != 0);
}

MINHASH_FUNCTION(minhash_ge)
{
    PG_RETURN_BOOL(compare(fcinfo) >= 0);
}

MINHASH_FUNCTION(minhash_gt)
{
    PG_RETURN_BOOL(compare(fcinfo) > 0);
}

MINHASH_FUNCTION(minhash_hash)
{
    const stored_signature stored = arg_stored(fcinfo, 0);
    const Datum hash = hash_any(stored.bytes.data(), static_cast<int>(stored.bytes.size()));
    PG_FREE_IF_COPY(stored.value, 0);
    return hash;
}

MINHASH_FUNCTION(minhash_hash_extended)
{
    const stored_signature stored = arg_stored(fcinfo, 0);
    const Datum hash = hash_any_extended(stored.bytes.data(),
                                         static_cast<int>(stored.bytes.size()),
                                         static_cast<uint64>(PG_GETARG_INT64(1)));
    PG_FREE_IF_COPY(stored.value, 0);
    return hash;
}

} // namespace minhash::pg
