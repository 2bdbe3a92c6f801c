// The type minhash_signature: text and binary form, type modifier, comparison.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/signatures.h"

#include <algorithm>

extern "C" {
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

namespace minhash::pg {

namespace {

// Checks that a value of type minhash_signature(n) has n hashes. If it does not, raises an ERROR or, if `context` can
// save the error, returns false.
bool fits_typmod(const scheme& scheme, int typmod, Node* context)
{
    if (typmod < 0 || typmod == scheme.num_hashes)
        return true;
    errsave(context,
            (errcode(ERRCODE_DATA_EXCEPTION),
             errmsg("expected a signature of %d hashes, not %d", typmod, scheme.num_hashes),
             errhint("Call minhash() with num_hashes => %d.", typmod)));
    return false;
}

} // namespace

char* abridge(const signature& value)
{
    constexpr std::size_t shown_slots = 2;
    const std::size_t room = max_text_prefix + value.stored_slots().size() * 2 + 4;
    char* const out = static_cast<char*>(palloc(room));
    const std::size_t length = write_text(value, out);
    const std::size_t shown = std::min(length, write_prefix(value.scheme, out) + 1 + shown_slots * digits_per_slot);
    strcpy(out + shown, shown < length ? "..." : "");
    return out;
}

void fail_input(const char* type)
{
    ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("cannot accept a value of type %s", type));
}

// minhash_signature_in(cstring, oid, typmod) -> minhash_signature
MINHASH_FUNCTION(minhash_signature_in)
{
    const std::string_view input = PG_GETARG_CSTRING(0);
    const std::size_t room = sizeof(std::uint32_t) * (input.size() / digits_per_slot + 1);
    signature value;
    const parse_result result = parse_text(input, value, static_cast<std::uint32_t*>(palloc(room)));
    if (result.what != status::ok) {
        refuse_text(fcinfo->context, input.data(), result);
        PG_RETURN_NULL();
    }
    if (!fits_typmod(value.scheme, PG_GETARG_INT32(2), fcinfo->context))
        PG_RETURN_NULL();
    return make_signature(value);
}

// _minhash_signature_of_text(text) -> minhash_signature
MINHASH_FUNCTION(minhash_signature_of_text)
{
    return DirectFunctionCall3(minhash_signature_in,
                               CStringGetDatum(text_to_cstring(PG_GETARG_TEXT_PP(0))),
                               ObjectIdGetDatum(InvalidOid),
                               Int32GetDatum(-1));
}

MINHASH_FUNCTION(minhash_signature_out)
{
    const signature value = arg_signature(fcinfo, 0);
    const std::size_t room = max_text_prefix + value.stored_slots().size() * 2 + 1;
    char* const out = static_cast<char*>(palloc(room));
    out[write_text(value, out)] = '\0';
    PG_RETURN_CSTRING(out);
}

// minhash_abridged_in(cstring) -> minhash_abridged
MINHASH_FUNCTION(minhash_abridged_in) { fail_input("minhash_abridged"); }

// minhash_abridged_out(abridged) -> cstring
MINHASH_FUNCTION(minhash_abridged_out) { PG_RETURN_CSTRING(abridge(arg_signature(fcinfo, 0))); }

// minhash_signature_recv(internal, oid, typmod) -> minhash_signature
MINHASH_FUNCTION(minhash_signature_recv)
{
    const StringInfo message = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
    const std::size_t bytes = static_cast<std::size_t>(message->len - message->cursor);
    if (bytes > stored_bytes(max_num_hashes))
        fail_received(status::bad_length, bytes);

    // The message may be unaligned, so check a copy of its bytes.
    struct varlena* const stored = static_cast<struct varlena*>(palloc(VARHDRSZ + bytes));
    SET_VARSIZE(stored, VARHDRSZ + bytes);
    pq_copymsgbytes(message, VARDATA(stored), static_cast<int>(bytes));
    signature value;
    const status read = decode({reinterpret_cast<std::uint8_t*>(VARDATA(stored)), bytes}, value);
    if (read != status::ok)
        fail_received(read, bytes);
    fits_typmod(value.scheme, PG_GETARG_INT32(2), nullptr);
    PG_RETURN_POINTER(stored);
}

MINHASH_FUNCTION(minhash_signature_send)
{
    const signature value = arg_signature(fcinfo, 0); // an ERROR if damaged, so damaged bytes are never sent
    std::uint8_t header[header_bytes];
    encode_header(value.scheme, header);
    StringInfoData message;
    pq_begintypsend(&message);
    pq_sendbytes(&message, reinterpret_cast<const char*>(header), sizeof(header));
    pq_sendbytes(&message,
                 reinterpret_cast<const char*>(value.stored_slots().data()),
                 static_cast<int>(value.stored_slots().size()));
    PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

MINHASH_FUNCTION(minhash_signature_typmod_in)
{
    int count;
    const std::int32_t* const modifiers = ArrayGetIntegerTypmods(PG_GETARG_ARRAYTYPE_P(0), &count);
    if (count != 1)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("invalid type modifier"),
                errhint("The modifier is the number of hashes, as in minhash_signature(128)."));
    PG_RETURN_INT32(check_between("num_hashes", modifiers[0], min_num_hashes, max_num_hashes));
}

// minhash_signature(minhash_signature, typmod, explicit) -> minhash_signature: the cast that enforces a type modifier
// on assignment.
MINHASH_FUNCTION(minhash_signature)
{
    fits_typmod(arg_signature(fcinfo, 0).scheme, PG_GETARG_INT32(1), nullptr);
    PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

// Equality, order and hashing of whole signatures, for GROUP BY, DISTINCT, joins and indexes. Signatures are ordered by
// their stored bytes. This order has no meaning, but it is total and the same everywhere. Signatures of different
// schemes are unequal here, although asking for their similarity is an ERROR.

namespace {

// The checked bytes of a signature, and the value that holds the bytes. The value must be freed after use, because a
// sort makes many comparisons.
struct stored_signature {
    struct varlena* value;
    std::span<const std::uint8_t> bytes;
};

stored_signature arg_stored(FunctionCallInfo fcinfo, int argument)
{
    struct varlena* const value = PG_GETARG_VARLENA_PP(argument);
    decode_stored(bytes_of(value));
    return {value, bytes_of(value)};
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

MINHASH_FUNCTION(minhash_cmp) { PG_RETURN_INT32(compare(fcinfo)); }

MINHASH_FUNCTION(minhash_lt) { PG_RETURN_BOOL(compare(fcinfo) < 0); }

MINHASH_FUNCTION(minhash_le) { PG_RETURN_BOOL(compare(fcinfo) <= 0); }

MINHASH_FUNCTION(minhash_eq) { PG_RETURN_BOOL(compare(fcinfo) == 0); }

MINHASH_FUNCTION(minhash_ne) { PG_RETURN_BOOL(compare(fcinfo) != 0); }

MINHASH_FUNCTION(minhash_ge) { PG_RETURN_BOOL(compare(fcinfo) >= 0); }

MINHASH_FUNCTION(minhash_gt) { PG_RETURN_BOOL(compare(fcinfo) > 0); }

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
