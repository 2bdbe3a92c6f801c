// minhash(), and functions that return information about signatures.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/settings.h"
#include "pg/signature/signatures.h"
#include "pg/signer.h"

#include "core/compress.h"
#include "core/tuning.h"

extern "C" {
#include "utils/builtins.h"
}

namespace minhash::pg {

// minhash(document, num_hashes, shingle_size, unit, fold, bag, seed, method) -> minhash_signature
MINHASH_FUNCTION(minhash)
{
    enum { text_to_sign, num_hashes, shingle_size, unit_name, fold, bag, seed, method_name };

    kept<sql_signer>& kept = kept_of<sql_signer>(fcinfo);
    if (!kept.parsed) {
        if (is_array_literal(fcinfo, text_to_sign))
            ereport(NOTICE,
                    errmsg("a text in braces is signed, not the elements of an array"),
                    errhint("Arrays are signed by minhash_elements(ARRAY['a', 'b'])."));
        kept.signer.scheme = arg_scheme(fcinfo, num_hashes);
        kept.parsed = args_are_constant(fcinfo, num_hashes, method_name);
    }
    text* const document = PG_GETARG_TEXT_PP(text_to_sign);
    const std::span<const std::uint32_t> slots = sign(text_source{kept.signer, document});
    PG_FREE_IF_COPY(document, text_to_sign);
    return make_signature({kept.signer.scheme, slots});
}

double similarity(const signature& a, const signature& b)
{
    if (a.scheme != b.scheme)
        fail_incomparable(a.scheme, b.scheme);
    if (a.empty() || b.empty())
        return 0;
    return similarity_of(a.scheme, count_equal(a.scheme, a.stored_slots().data(), b.stored_slots().data()));
}

namespace {

double arg_similarity(FunctionCallInfo fcinfo)
{
    return similarity(arg_signature(fcinfo, 0), arg_signature(fcinfo, 1));
}

} // namespace

// minhash_similarity(a, b) -> float8: the estimated Jaccard similarity.
MINHASH_FUNCTION(minhash_similarity) { PG_RETURN_FLOAT8(arg_similarity(fcinfo)); }

// minhash_similar(a, b) -> bool: the operator %, whose threshold is the setting.
MINHASH_FUNCTION(minhash_similar) { PG_RETURN_BOOL(arg_similarity(fcinfo) >= similarity_threshold); }

// minhash_distance(a, b) -> float8: the estimated Jaccard distance.
MINHASH_FUNCTION(minhash_distance) { PG_RETURN_FLOAT8(1 - arg_similarity(fcinfo)); }

// minhash_scheme(signature) -> one row
MINHASH_FUNCTION(minhash_scheme)
{
    const scheme scheme = arg_signature(fcinfo, 0).scheme;
    return make_row(fcinfo,
                    {
                        CStringGetTextDatum(name_of(scheme.method)),
                        Int32GetDatum(scheme.num_hashes),
                        Int32GetDatum(scheme.bits),
                        CStringGetTextDatum(name_of(scheme.shingles.of)),
                        Int32GetDatum(scheme.shingles.size),
                        BoolGetDatum(scheme.shingles.fold),
                        BoolGetDatum(scheme.shingles.bag),
                        Int64GetDatum(scheme.seed),
                        Int32GetDatum(scheme.version),
                    });
}

// minhash_standard_error(similarity, num_hashes, bits) -> float8
MINHASH_FUNCTION(minhash_standard_error)
{
    const double similarity = arg_fraction(fcinfo, 0, "similarity");
    const int num_hashes = arg_between(fcinfo, 1, "num_hashes", 1, max_num_hashes);
    PG_RETURN_FLOAT8(standard_error(similarity, num_hashes, arg_bits(fcinfo, 2)));
}

// minhash_slots(signature) -> bigint[]: also the cast of a signature to bigint[].
MINHASH_FUNCTION(minhash_slots)
{
    const signature value = arg_signature(fcinfo, 0);
    const std::size_t count = value.empty() ? 0 : value.scheme.num_hashes;
    return make_bigint_array(count, [&](std::size_t slot) { return slot_of(value, slot); });
}

} // namespace minhash::pg
