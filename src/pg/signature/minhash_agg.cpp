// The aggregates minhash_agg(), of the shingles of a column's texts, and minhash_elements_agg(), of the set of its
// values.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/growing_set.h"
#include "pg/signature/members.h"
#include "pg/signer.h"

extern "C" {
#include "utils/uuid.h"
}

namespace minhash::pg {

namespace {

growing_set* arg_set(FunctionCallInfo fcinfo, int argument)
{
    return PG_ARGISNULL(argument) ? nullptr : arg_internal<growing_set>(fcinfo, argument);
}

// The state to return; NULL while there have been no values.
Datum state_of(FunctionCallInfo fcinfo, growing_set* set)
{
    fcinfo->isnull = set == nullptr;
    return PointerGetDatum(set);
}

// The memory that lives as long as the aggregate's state.
MemoryContext state_memory(FunctionCallInfo fcinfo)
{
    MemoryContext memory;
    if (AggCheckCallContext(fcinfo, &memory) == 0)
        elog(ERROR, "aggregate function called in non-aggregate context");
    return memory;
}

// The set collected so far, or a new one. An ERROR if it is of another scheme.
growing_set* set_of(FunctionCallInfo fcinfo, growing_set* collected, const scheme& scheme, bool integers)
{
    if (collected == nullptr)
        return make_set(state_memory(fcinfo), scheme, integers);
    if (!comparable({collected->scheme, {}}, {scheme, {}}))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("arguments of %s() must be the same in all rows of a group", "minhash_elements_agg"),
                errdetail("One row asks for %s, another for %s.", describe(collected->scheme), describe(scheme)),
                errhint("Add to GROUP BY what they depend on."));
    return collected;
}

// An ERROR if an argument after the value is NULL.
void refuse_nulls(FunctionCallInfo fcinfo)
{
    for (int argument = 2; argument < PG_NARGS(); argument++) {
        if (PG_ARGISNULL(argument))
            ereport(ERROR,
                    errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("argument %d of %s() must not be NULL", argument, "minhash_elements_agg"),
                    errhint("Only the aggregated value can be NULL; such rows are ignored."));
    }
}

// Whether arguments for the scheme follow the value. Each case has its own SQL function.
enum class arguments { none, scheme };

// How values are hashed; looked up once per query.
member_kind arg_kind(FunctionCallInfo fcinfo)
{
    FmgrInfo& function = *fcinfo->flinfo;
    if (function.fn_extra == nullptr) {
        member_kind* const kind = allocate<member_kind>(function.fn_mcxt);
        *kind = kind_of(get_fn_expr_argtype(&function, 1));
        function.fn_extra = kind;
    }
    return *static_cast<const member_kind*>(function.fn_extra);
}

bool are_integers(member_kind kind)
{
    return kind == member_kind::smallint || kind == member_kind::integer || kind == member_kind::bigint;
}

std::uint64_t hash_varlena(FunctionCallInfo fcinfo, member_kind kind, std::int64_t seed)
{
    struct varlena* const value = PG_GETARG_VARLENA_PP(1);
    const std::uint64_t hashed =
        kind == member_kind::text ? hash_text(bytes_of(value), seed) : hash_bytea(bytes_of(value), seed);
    PG_FREE_IF_COPY(value, 1);
    return hashed;
}

// The second argument: its hash, or the integer itself, as integers are hashed together later.
std::uint64_t arg_member(FunctionCallInfo fcinfo, member_kind kind, std::int64_t seed)
{
    switch (kind) {
    case member_kind::smallint:
        return static_cast<std::uint64_t>(std::int64_t{PG_GETARG_INT16(1)});
    case member_kind::integer:
        return static_cast<std::uint64_t>(std::int64_t{PG_GETARG_INT32(1)});
    case member_kind::bigint:
        return static_cast<std::uint64_t>(PG_GETARG_INT64(1));
    case member_kind::uuid:
        return hash_bytea({PG_GETARG_UUID_P(1)->data, UUID_LEN}, seed);
    case member_kind::text:
    case member_kind::bytea:
        break;
    }
    return hash_varlena(fcinfo, kind, seed);
}

// Adds the value in the second argument, unless it is NULL. If there are no other arguments and room is left, a row
// costs nothing more.
template <arguments given>
Datum add_value(FunctionCallInfo fcinfo)
{
    const member_kind kind = arg_kind(fcinfo);
    growing_set* set = arg_set(fcinfo, 0);
    if (PG_ARGISNULL(1))
        return state_of(fcinfo, set);
    if constexpr (given == arguments::scheme) {
        refuse_nulls(fcinfo);
        set = set_of(fcinfo, set, arg_element_scheme(fcinfo, 2, false), are_integers(kind));
    } else if (set == nullptr) {
        set = set_of(fcinfo, set, default_element_scheme, are_integers(kind));
    }
    add(*set, arg_member(fcinfo, kind, set->scheme.seed));
    PG_RETURN_POINTER(set);
}

} // namespace

// minhash_elements_agg_add(state, element) -> state
MINHASH_FUNCTION(minhash_elements_agg_add)
{
    return add_value<arguments::none>(fcinfo);
}

// minhash_elements_agg_add(state, element, num_hashes, seed, method) -> state
MINHASH_FUNCTION(minhash_elements_agg_add_as)
{
    return add_value<arguments::scheme>(fcinfo);
}

// minhash_agg_add(state, document) -> state
MINHASH_FUNCTION(minhash_agg_add)
{
    growing_set* set = arg_set(fcinfo, 0);
    if (PG_ARGISNULL(1))
        return state_of(fcinfo, set);
    text_signer& signing = kept_of<text_signer>(fcinfo).state;
    signing.scheme = default_text_scheme;
    set = set_of(fcinfo, set, signing.scheme, false);
    text* const document = PG_GETARG_TEXT_PP(1);
    each_batch(signing, document, [set](const shingle_batch& batch) { add(*set, batch.lo, batch.hi, batch.count); });
    PG_FREE_IF_COPY(document, 1);
    PG_RETURN_POINTER(set);
}

// minhash_agg_combine(state, other) -> state: `other` is not changed.
MINHASH_FUNCTION(minhash_agg_combine)
{
    growing_set* set = arg_set(fcinfo, 0);
    if (const growing_set* const other = arg_set(fcinfo, 1); other != nullptr) {
        set = set_of(fcinfo, set, other->scheme, other->integers);
        unite(*set, *other);
    }
    return state_of(fcinfo, set);
}

MINHASH_FUNCTION(minhash_agg_serial)
{
    PG_RETURN_BYTEA_P(write_set(*arg_set(fcinfo, 0)));
}

// minhash_agg_deserial(bytes, internal) -> state, short-lived
MINHASH_FUNCTION(minhash_agg_deserial)
{
    PG_RETURN_POINTER(read_set(CurrentMemoryContext, PG_GETARG_BYTEA_P(0)));
}

// minhash_agg_final(state) -> minhash_signature. A window calls it repeatedly.
MINHASH_FUNCTION(minhash_agg_final)
{
    const growing_set* const set = arg_set(fcinfo, 0);
    if (set == nullptr)
        PG_RETURN_NULL();
    return sign(*set);
}

} // namespace minhash::pg
