// Equality, order and hashing of whole signatures, for GROUP BY, DISTINCT, joins and indexes. The
// order is that of the stored bytes: it means nothing, but it is total and the same everywhere.
// Signatures of different schemes are unequal; it is comparing their similarity that is an error.
#include "pg/glue.h"

#include <algorithm>

namespace minhash::pg {

namespace {

// Sorts compare often enough that detoasted copies must be freed.
int compare(FunctionCallInfo fcinfo)
{
    struct varlena* const a = PG_GETARG_VARLENA_PP(0);
    struct varlena* const b = PG_GETARG_VARLENA_PP(1);
    const std::size_t a_bytes = VARSIZE_ANY_EXHDR(a);
    const std::size_t b_bytes = VARSIZE_ANY_EXHDR(b);
    int order = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), std::min(a_bytes, b_bytes));
    if (order == 0)
        order = (a_bytes > b_bytes) - (a_bytes < b_bytes);
    PG_FREE_IF_COPY(a, 0);
    PG_FREE_IF_COPY(b, 1);
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
    struct varlena* const value = PG_GETARG_VARLENA_PP(0);
    const Datum hash = hash_any(reinterpret_cast<const unsigned char*>(VARDATA_ANY(value)),
                                static_cast<int>(VARSIZE_ANY_EXHDR(value)));
    PG_FREE_IF_COPY(value, 0);
    return hash;
}

MINHASH_FUNCTION(minhash_hash_extended)
{
    struct varlena* const value = PG_GETARG_VARLENA_PP(0);
    const Datum hash = hash_any_extended(reinterpret_cast<const unsigned char*>(VARDATA_ANY(value)),
                                         static_cast<int>(VARSIZE_ANY_EXHDR(value)),
                                         static_cast<uint64>(PG_GETARG_INT64(1)));
    PG_FREE_IF_COPY(value, 0);
    return hash;
}

} // namespace minhash::pg
