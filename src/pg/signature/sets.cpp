// Signatures as sets: unions, and sizes estimated from signatures alone.
//
// The relative variances of the estimates, with k hashes, are as follows. A similarity J has (1 - J) / (J k), and a
// size has 1 / k (core/cardinality.h). The intersection is J * union. The union's minima are independent of whether the
// two slots are equal, so the variances of J and of the union add up to 1 / (J k). The containment is J * union / a.
// The quotient union / a has the variance 2 (1 - a / union) / k. But this quotient is correlated with J: where a slot
// of `a` is larger than the union's slot, the signatures of a and b differ. The correlation cancels the variance of the
// quotient, so the variance of the containment is (1 - J) / (J k).
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/signatures.h"

#include "core/cardinality.h"
#include "core/sketch.h"

#include <algorithm>

namespace minhash::pg {

namespace {

// Two signatures of one scheme, and the signature of their union.
struct united {
    signature a;
    signature b;
    signature both;
};

// Unites the two arguments. The union's slots are written to `slots`, which must hold max_num_hashes slots.
united unite(FunctionCallInfo fcinfo, std::uint32_t* slots)
{
    united sets = {arg_whole_signature(fcinfo, 0, "a union"), arg_whole_signature(fcinfo, 1, "a union"), {}};
    if (sets.a.scheme != sets.b.scheme)
        fail_incomparable(sets.a.scheme, sets.b.scheme);
    if (sets.a.empty() || sets.b.empty()) {
        sets.both = sets.a.empty() ? sets.b : sets.a;
    } else {
        kernels->merge(sets.a.slots.data(), sets.b.slots.data(), sets.a.scheme.num_hashes, slots);
        sets.both = {sets.a.scheme, {slots, sets.a.slots.size()}};
    }
    return sets;
}

double cardinality(const signature& value)
{
    if (value.scheme.method == method::external)
        ereport(ERROR,
                errcode(ERRCODE_DATA_EXCEPTION),
                errmsg("cannot estimate the cardinality of an external signature"),
                errdetail("The signature is %s; the range of its slots is not known.", describe(value.scheme)),
                errhint("Estimate it where the signature was made."));
    return estimate_cardinality(value);
}

double intersection(const united& sets) { return similarity(sets.a, sets.b) * cardinality(sets.both); }

} // namespace

// minhash_union(a, b) -> minhash_signature: exactly the signature of the union of both sets.
MINHASH_FUNCTION(minhash_union)
{
    std::uint32_t slots[max_num_hashes];
    return make_signature(unite(fcinfo, slots).both);
}

// minhash_union_agg_final(signature) -> minhash_signature. In a group of one signature, minhash_union() was never
// called. So this function also refuses the signatures that minhash_union() would refuse.
MINHASH_FUNCTION(minhash_union_agg_final)
{
    arg_whole_signature(fcinfo, 0, "a union");
    PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

// minhash_cardinality(signature) -> float8
MINHASH_FUNCTION(minhash_cardinality)
{
    PG_RETURN_FLOAT8(cardinality(arg_whole_signature(fcinfo, 0, "an estimate of the set's size")));
}

// minhash_intersection_cardinality(a, b) -> float8: the similarity times the size of the union.
MINHASH_FUNCTION(minhash_intersection_cardinality)
{
    std::uint32_t slots[max_num_hashes];
    PG_RETURN_FLOAT8(intersection(unite(fcinfo, slots)));
}

// minhash_containment(a, b) -> float8: the share of a's elements that b has; 0 if a is empty.
MINHASH_FUNCTION(minhash_containment)
{
    std::uint32_t slots[max_num_hashes];
    const united sets = unite(fcinfo, slots);
    const double size = cardinality(sets.a);
    PG_RETURN_FLOAT8(size == 0 ? 0 : std::min(1.0, intersection(sets) / size));
}

} // namespace minhash::pg
