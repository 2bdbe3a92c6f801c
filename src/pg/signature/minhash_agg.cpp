// The aggregates minhash_agg(), which signs the shingles of a column's texts, and minhash_elements_agg(), which signs a
// column's values as a set.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/members.h"
#include "pg/signer.h"

#include "core/kernels.h"
#include "core/sketch.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
}

namespace minhash::pg {

namespace {

// A set that an aggregate collects. A query may have a million such sets. So a small set stores its members, and has no
// signature. Only a large set has a signature.
struct growing_set {
    minhash::scheme scheme;
    bool integers;          // whether the waiting members are integers, not hashed yet
    std::uint32_t waiting;  // how many members are not absorbed into the slots yet
    std::uint32_t room;     // the capacity of `members`; between calls, more than `waiting`
    std::uint64_t* members; // the waiting members
    std::uint32_t* slots;   // the signature of all absorbed members; null if there are none
};

constexpr std::uint32_t first_room = 16;
constexpr std::uint32_t most_waiting = 1024;

// The start of a serialized set. The waiting members and the signature follow.
struct written_head {
    std::uint32_t integers;
    std::uint32_t waiting;
};

std::uint32_t* copy_slots(const growing_set& set, const std::uint32_t* slots)
{
    const std::size_t bytes = set.scheme.num_hashes * sizeof(std::uint32_t);
    const MemoryContext memory = GetMemoryChunkContext(const_cast<growing_set*>(&set));
    return static_cast<std::uint32_t*>(memcpy(MemoryContextAlloc(memory, bytes), slots, bytes));
}

// Sets `all` to the signature of all members, absorbed or waiting.
void absorb_all(const growing_set& set, sketch& all)
{
    if (set.slots == nullptr)
        start(all, set.scheme.method, set.scheme.num_hashes);
    else
        resume(all, set.scheme.method, set.scheme.num_hashes, set.slots);

    alignas(64) std::uint32_t lo[most_waiting + padding];
    alignas(64) std::uint32_t hi[most_waiting + padding];
    if (set.integers) {
        alignas(64) std::int64_t values[most_waiting + padding];
        std::copy_n(set.members, set.waiting, values);
        kernels->hash_integers(values, set.waiting, set.scheme.seed, lo, hi);
    } else {
        for (std::uint32_t index = 0; index < set.waiting; index++)
            split(set.members[index], lo[index], hi[index]);
    }
    absorb(all, lo, hi, set.waiting);
}

growing_set* make_set(MemoryContext memory, const scheme& scheme, bool integers)
{
    auto* const set = static_cast<growing_set*>(MemoryContextAlloc(memory, sizeof(growing_set)));
    *set = {scheme, integers, 0, first_room, nullptr, nullptr};
    set->members = static_cast<std::uint64_t*>(MemoryContextAlloc(memory, first_room * sizeof(std::uint64_t)));
    return set;
}

// Makes room for more waiting members. Enlarges `members` or, if it has its maximum size, absorbs the members into the
// slots.
void make_room(growing_set& set)
{
    if (set.room < most_waiting) {
        set.room *= 2;
        set.members = static_cast<std::uint64_t*>(repalloc(set.members, set.room * sizeof(std::uint64_t)));
        return;
    }
    Assert(set.waiting == set.room);
    sketch all;
    absorb_all(set, all);
    if (set.slots == nullptr)
        set.slots = copy_slots(set, all.slots);
    else
        std::copy_n(all.slots, set.scheme.num_hashes, set.slots);
    set.waiting = 0;
}

void add(growing_set& set, std::uint64_t member)
{
    set.members[set.waiting++] = member;
    if (set.waiting == set.room)
        make_room(set);
}

// Adds hashes, each in two halves.
void add(growing_set& set, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count)
{
    for (std::size_t at = 0; at < count;) {
        const std::size_t taken = std::min<std::size_t>(count - at, set.room - set.waiting);
        for (std::size_t index = 0; index < taken; index++)
            set.members[set.waiting + index] = join(lo[at + index], hi[at + index]);
        set.waiting += static_cast<std::uint32_t>(taken);
        at += taken;
        if (set.waiting == set.room)
            make_room(set);
    }
}

// Adds the members of another set of the same scheme.
void unite(growing_set& set, const growing_set& other)
{
    Assert(set.integers == other.integers && set.scheme == other.scheme);
    for (std::uint32_t index = 0; index < other.waiting; index++)
        add(set, other.members[index]);
    if (other.slots == nullptr)
        return;
    if (set.slots == nullptr)
        set.slots = copy_slots(set, other.slots);
    else
        kernels->merge(set.slots, other.slots, set.scheme.num_hashes, set.slots);
}

// Makes the signature. Does not change the set.
Datum sign(const growing_set& set)
{
    sketch all;
    absorb_all(set, all);
    return make_signature({set.scheme, {all.slots, is_empty(all) ? 0u : set.scheme.num_hashes}});
}

// Serializes the set for another process, which may have loaded another build. So this form never changes; another one
// would need functions of other names.
bytea* write_set(const growing_set& set)
{
    const written_head head = {set.integers, set.waiting};
    const std::size_t slots = set.slots == nullptr ? 0 : set.scheme.num_hashes;
    const std::size_t members = set.waiting * sizeof(std::uint64_t);
    const std::size_t bytes = VARHDRSZ + sizeof(head) + members + stored_bytes(slots);
    bytea* const written = static_cast<bytea*>(palloc(bytes));
    SET_VARSIZE(written, bytes);
    char* at = VARDATA(written);
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    memcpy(at, set.members, members);
    at += members;
    encode_header(set.scheme, reinterpret_cast<std::uint8_t*>(at));
    if (slots > 0)
        memcpy(at + header_bytes, set.slots, slots * sizeof(std::uint32_t));
    return written;
}

// Reads a serialized set; an ERROR if the bytes are damaged.
growing_set* read_set(MemoryContext memory, const bytea* written)
{
    const std::size_t bytes = VARSIZE(written) - VARHDRSZ;
    const char* at = VARDATA(written);
    written_head head = {0, 0};
    if (bytes >= sizeof(head))
        memcpy(&head, at, sizeof(head));
    const std::size_t front = sizeof(head) + head.waiting * sizeof(std::uint64_t);
    if (bytes < front || head.integers > 1 || head.waiting >= most_waiting)
        fail_received(status::bad_length, bytes);

    signature rest;
    const status what = decode({reinterpret_cast<const std::uint8_t*>(at) + front, bytes - front}, rest);
    if (what != status::ok || rest.scheme.bits != bits_per_slot)
        fail_received(what == status::ok ? status::bad_bits : what, bytes);
    growing_set* const set = make_set(memory, rest.scheme, head.integers != 0);
    for (std::uint32_t index = 0; index < head.waiting; index++) {
        std::uint64_t member;
        memcpy(&member, at + sizeof(head) + index * sizeof(member), sizeof(member));
        add(*set, member);
    }
    if (!rest.empty())
        set->slots = copy_slots(*set, rest.slots.data());
    return set;
}

growing_set* arg_set(FunctionCallInfo fcinfo, int argument)
{
    return PG_ARGISNULL(argument) ? nullptr : arg_internal<growing_set>(fcinfo, argument);
}

// The state as the result of a SQL function; NULL if no value has been added yet.
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

// The set collected so far, or a new one. An ERROR if the set that was collected has another scheme.
growing_set* set_of(FunctionCallInfo fcinfo, growing_set* collected, const scheme& scheme, bool integers)
{
    if (collected == nullptr)
        return make_set(state_memory(fcinfo), scheme, integers);
    if (collected->scheme != scheme)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("arguments of %s() must be the same in all rows of a group", "minhash_elements_agg"),
                errdetail("One row asks for %s, another for %s.", describe(collected->scheme), describe(scheme)),
                errhint("Add to GROUP BY what they depend on."));
    return collected;
}

// An ERROR if an argument after the aggregated value is NULL.
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

// The result of member_type() for the aggregated values. It is looked up once per query.
Oid arg_member_type(FunctionCallInfo fcinfo)
{
    FmgrInfo& function = *fcinfo->flinfo;
    if (function.fn_extra == nullptr) {
        Oid* const type = allocate<Oid>(function.fn_mcxt);
        *type = member_type(get_fn_expr_argtype(&function, 1));
        function.fn_extra = type;
    }
    return *static_cast<const Oid*>(function.fn_extra);
}

// The member in the second argument, as its hash. An integer is returned unhashed, because integers are hashed in
// batches later.
std::uint64_t arg_member(FunctionCallInfo fcinfo, Oid type, std::int64_t seed)
{
    switch (type) {
    case INT2OID:
        return static_cast<std::uint64_t>(std::int64_t{PG_GETARG_INT16(1)});
    case INT4OID:
        return static_cast<std::uint64_t>(std::int64_t{PG_GETARG_INT32(1)});
    case INT8OID:
        return static_cast<std::uint64_t>(PG_GETARG_INT64(1));
    case UUIDOID:
        return hash_bytea({PG_GETARG_UUID_P(1)->data, UUID_LEN}, seed);
    }
    struct varlena* const value = PG_GETARG_VARLENA_PP(1);
    const std::uint64_t hashed = type == TEXTOID ? hash_text(bytes_of(value), seed) : hash_bytea(bytes_of(value), seed);
    PG_FREE_IF_COPY(value, 1);
    return hashed;
}

// Adds the value in the second argument, unless it is NULL. If the call has no arguments for a scheme and there is
// room, a row costs no more than hashing and storing the value.
template <bool has_scheme>
Datum add_value(FunctionCallInfo fcinfo)
{
    const Oid type = arg_member_type(fcinfo);
    growing_set* set = arg_set(fcinfo, 0);
    if (PG_ARGISNULL(1))
        return state_of(fcinfo, set);
    const bool integers = type == INT2OID || type == INT4OID || type == INT8OID;
    if constexpr (has_scheme) {
        refuse_nulls(fcinfo);
        set = set_of(fcinfo, set, arg_element_scheme(fcinfo, 2, false), integers);
    } else if (set == nullptr) {
        set = set_of(fcinfo, set, default_element_scheme, integers);
    }
    add(*set, arg_member(fcinfo, type, set->scheme.seed));
    PG_RETURN_POINTER(set);
}

} // namespace

// minhash_elements_agg_add(state, element) -> state
MINHASH_FUNCTION(minhash_elements_agg_add) { return add_value<false>(fcinfo); }

// minhash_elements_agg_add(state, element, num_hashes, seed, method) -> state
MINHASH_FUNCTION(minhash_elements_agg_add_as) { return add_value<true>(fcinfo); }

// minhash_agg_add(state, document) -> state
MINHASH_FUNCTION(minhash_agg_add)
{
    growing_set* set = arg_set(fcinfo, 0);
    if (PG_ARGISNULL(1))
        return state_of(fcinfo, set);
    sql_signer& signing = kept_of<sql_signer>(fcinfo).signer;
    signing.scheme = default_text_scheme;
    set = set_of(fcinfo, set, signing.scheme, false);
    text* const document = PG_GETARG_TEXT_PP(1);
    each_batch(text_source{signing, document},
               [set](const shingle_batch& batch) { add(*set, batch.lo, batch.hi, batch.count); });
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

MINHASH_FUNCTION(minhash_agg_serial) { PG_RETURN_BYTEA_P(write_set(*arg_set(fcinfo, 0))); }

// minhash_agg_deserial(bytes, internal) -> state, which lasts as long as the current memory context
MINHASH_FUNCTION(minhash_agg_deserial) { PG_RETURN_POINTER(read_set(CurrentMemoryContext, PG_GETARG_BYTEA_P(0))); }

// minhash_agg_final(state) -> minhash_signature. In a window, PostgreSQL calls this repeatedly for one state, so the
// state must not change.
MINHASH_FUNCTION(minhash_agg_final)
{
    const growing_set* const set = arg_set(fcinfo, 0);
    if (set == nullptr)
        PG_RETURN_NULL();
    return sign(*set);
}

} // namespace minhash::pg
