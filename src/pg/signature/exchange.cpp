// Exchanges signatures with other systems, as arrays of numbers. Minima of any 32-bit hashes can be stored, compared,
// united and banded here. How the other system made its minima is unknown. So signatures of such minima have a method
// of their own, `external`, and cannot be compared with signatures from minhash().
#include "pg/arguments.h"
#include "pg/errors.h"

#include "core/sketch.h"

extern "C" {
#include "utils/array.h"
}

namespace minhash::pg {

// minhash_to_values(signature) -> bigint[]: one value for each hash. For the empty set, each value is the one with
// which a minimum starts.
MINHASH_FUNCTION(minhash_to_values)
{
    const signature value = arg_whole_signature(fcinfo, 0, "values");
    return make_bigint_array(value.scheme.num_hashes,
                             [&](std::size_t slot) { return value.empty() ? empty_slot : value.slots[slot]; });
}

namespace {

template <typename Detail>
void refuse_array(Detail detail)
{
    ereport(ERROR,
            errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
            errmsg("invalid array of values"),
            detail(),
            errhint("Give one value for each hash, between %d and %d of them.", min_num_hashes, max_num_hashes));
}

} // namespace

// minhash_from_values(values, seed) -> minhash_signature
MINHASH_FUNCTION(minhash_from_values)
{
    ArrayType* const array = PG_GETARG_ARRAYTYPE_P(0);
    if (ARR_NDIM(array) > 1)
        refuse_array([] { return errdetail("It has more than one dimension."); });
    const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    if (count < min_num_hashes || count > max_num_hashes)
        refuse_array([count] { return errdetail("It has %d values.", count); });
    if (array_contains_nulls(array))
        refuse_array([] { return errdetail("It contains a NULL."); });

    const std::span<const std::int64_t> given = values_of<std::int64_t>(array);
    std::uint32_t room[max_num_hashes];
    const std::span<std::uint32_t> slots(room, static_cast<std::size_t>(count));
    for (std::size_t slot = 0; slot < slots.size(); slot++) {
        if (given[slot] < 0 || given[slot] > UINT32_MAX)
            ereport(ERROR,
                    errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("value %lld at position %zu is out of range", static_cast<long long>(given[slot]), slot + 1),
                    errdetail("Values must be between 0 and 4294967295."),
                    errhint("To import 64-bit values, keep 32 bits of each: value & 4294967295."));
        slots[slot] = static_cast<std::uint32_t>(given[slot]);
    }
    return make_signature({{.version = scheme_version,
                            .method = method::external,
                            .bits = bits_per_slot,
                            .num_hashes = static_cast<std::uint16_t>(count),
                            .shingles = given_members(false),
                            .seed = PG_GETARG_INT64(1)},
                           are_empty(slots) ? slots.first(0) : slots});
}

} // namespace minhash::pg
