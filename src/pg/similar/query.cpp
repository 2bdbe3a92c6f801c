// The type minhash_query, and the functions that get a threshold as an argument and test whether the similarity of two
// signatures reaches it.
//
// A query is stored as the eight bytes of the threshold, negative if the query is rough, followed by the bytes of the
// signature. The text form of a query is abridged, because only EXPLAIN shows it: the planner makes queries, and nobody
// stores them.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/settings.h"
#include "pg/signature/signatures.h"
#include "pg/similar/query.h"

#include <array>
#include <bit>
#include <cmath>

namespace minhash::pg {

query query_of(Datum stored)
{
    const std::span<const std::uint8_t> bytes = bytes_of(PG_DETOAST_DATUM(stored));
    query value;
    if (bytes.size() < sizeof(double))
        fail_stored(status::bad_length, bytes.size());
    double threshold;
    memcpy(&threshold, bytes.data(), sizeof(double));
    value.threshold = std::fabs(threshold);
    value.is_rough = std::signbit(threshold);
    value.sought = decode_stored(bytes.subspan(sizeof(double)));
    return value;
}

query query_of(Datum stored, StrategyNumber strategy)
{
    if (strategy == similar_to_query)
        return query_of(stored);
    return {signature_of(stored), similarity_threshold, false};
}

// minhash_query_in(cstring) -> minhash_query
MINHASH_FUNCTION(minhash_query_in) { fail_input("minhash_query"); }

// minhash_query_out(query) -> cstring: the query's threshold, and the start of the signature's text form
MINHASH_FUNCTION(minhash_query_out)
{
    const query value = query_of(PG_GETARG_DATUM(0));
    PG_RETURN_CSTRING(psprintf("%g:%s", value.threshold, abridge(value.sought)));
}

namespace {

Datum make_query(FunctionCallInfo fcinfo, double sign)
{
    const signature sought = arg_signature(fcinfo, 0);
    const double threshold = std::copysign(arg_fraction(fcinfo, 1, "threshold"), sign);
    return make_signature(sought, std::bit_cast<std::array<std::uint8_t, sizeof(double)>>(threshold));
}

} // namespace

// minhash_query(signature, threshold) -> minhash_query
MINHASH_FUNCTION(minhash_query) { return make_query(fcinfo, 1); }

// minhash_rough_query(signature, threshold) -> minhash_query
MINHASH_FUNCTION(minhash_rough_query) { return make_query(fcinfo, -1); }

// minhash_similar(signature, query) -> bool: the operator %, with the query's threshold.
MINHASH_FUNCTION(minhash_similar_to_query)
{
    const query sought = query_of(PG_GETARG_DATUM(1));
    PG_RETURN_BOOL(similarity(arg_signature(fcinfo, 0), sought.sought) >= sought.threshold);
}

// minhash_similar(query, signature) -> bool: the commutator of the operator above.
MINHASH_FUNCTION(minhash_similar_from_query)
{
    const query sought = query_of(PG_GETARG_DATUM(0));
    PG_RETURN_BOOL(similarity(sought.sought, arg_signature(fcinfo, 1)) >= sought.threshold);
}

// minhash_similar(a, b, threshold) -> bool
MINHASH_FUNCTION(minhash_similar_from)
{
    const double threshold = arg_fraction(fcinfo, 2, "threshold");
    PG_RETURN_BOOL(similarity(arg_signature(fcinfo, 0), arg_signature(fcinfo, 1)) >= threshold);
}

// minhash_roughly_similar(a, b, threshold) -> bool: the same, unless an index serves it.
MINHASH_FUNCTION(minhash_roughly_similar) { return minhash_similar_from(fcinfo); }

} // namespace minhash::pg
