// The type minhash_query, and the functions that get a threshold as an argument and test whether the similarity of two
// signatures reaches it.
//
// A query is stored as the eight bytes of the threshold, followed by the bytes of the signature. The text form of a
// query is abridged, because only EXPLAIN shows it: the planner makes queries, and nobody stores them.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/settings.h"
#include "pg/signature/signatures.h"
#include "pg/similar/query.h"

#include <array>
#include <bit>

namespace minhash::pg {

query query_of(Datum stored)
{
    const std::span<const std::uint8_t> bytes = bytes_of(PG_DETOAST_DATUM(stored));
    query value;
    if (bytes.size() < sizeof(double))
        fail_stored(status::bad_length, bytes.size());
    memcpy(&value.threshold, bytes.data(), sizeof(double));
    value.sought = decode_stored(bytes.subspan(sizeof(double)));
    return value;
}

query query_of(Datum stored, StrategyNumber strategy)
{
    if (strategy == similar_to_query)
        return query_of(stored);
    return {signature_of(stored), similarity_threshold};
}

// minhash_query_in(cstring) -> minhash_query
MINHASH_FUNCTION(minhash_query_in) { fail_input("minhash_query"); }

// minhash_query_out(query) -> cstring: the query's threshold, and the start of the signature's text form
MINHASH_FUNCTION(minhash_query_out)
{
    const query value = query_of(PG_GETARG_DATUM(0));
    PG_RETURN_CSTRING(psprintf("%g:%s", value.threshold, abridge(value.sought)));
}

// minhash_query(signature, threshold) -> minhash_query
MINHASH_FUNCTION(minhash_query)
{
    const signature sought = arg_signature(fcinfo, 0);
    const auto threshold =
        std::bit_cast<std::array<std::uint8_t, sizeof(double)>>(arg_fraction(fcinfo, 1, "threshold"));
    PG_RETURN_DATUM(make_signature(sought, threshold));
}

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

} // namespace minhash::pg
