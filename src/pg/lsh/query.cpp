// The type minhash_query, and similarity from a threshold that is given.
//
// Stored and sent: the threshold as eight bytes (when sent, in network order), then the bytes of
// the signature. Text: the threshold, a colon and the signature's text form.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/lsh/query.h"
#include "pg/settings.h"
#include "pg/signature/signatures.h"

#include <algorithm>

extern "C" {
#include "access/stratnum.h"
#include "common/shortest_dec.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
}

namespace minhash::pg {

namespace {

bool is_threshold(double value)
{
    return value >= 0 && value <= 1;
}

Datum make_query(const query& value)
{
    const std::span<const std::uint8_t> slots = value.sought.stored_slots();
    const std::size_t bytes = VARHDRSZ + sizeof(double) + header_bytes + slots.size();
    struct varlena* const stored = static_cast<struct varlena*>(palloc(bytes));
    SET_VARSIZE(stored, bytes);
    std::uint8_t* const out = reinterpret_cast<std::uint8_t*>(VARDATA(stored));
    memcpy(out, &value.threshold, sizeof(double));
    encode_header(value.sought.scheme, out + sizeof(double));
    std::copy(slots.begin(), slots.end(), out + sizeof(double) + header_bytes);
    return PointerGetDatum(stored);
}

} // namespace

query query_of(Datum stored)
{
    const struct varlena* const bytes = PG_DETOAST_DATUM(stored);
    const std::size_t size = VARSIZE(bytes) - VARHDRSZ;
    query value;
    if (size < sizeof(double))
        fail_stored(status::bad_length, size);
    memcpy(&value.threshold, VARDATA(bytes), sizeof(double));
    value.sought =
        decode_stored({reinterpret_cast<const std::uint8_t*>(VARDATA(bytes)) + sizeof(double),
                       size - sizeof(double)});
    return value;
}

query query_of(Datum stored, StrategyNumber strategy)
{
    if (strategy == similar_to_query)
        return query_of(stored);
    const struct varlena* const bytes = PG_DETOAST_DATUM(stored);
    return {decode_stored(
                {reinterpret_cast<const std::uint8_t*>(VARDATA(bytes)), VARSIZE(bytes) - VARHDRSZ}),
            similarity_threshold};
}

// minhash_query_in(cstring) -> minhash_query
MINHASH_FUNCTION(minhash_query_in)
{
    char* const input = PG_GETARG_CSTRING(0);
    char* end;
    query value;
    value.threshold = strtod(input, &end);
    if (end == input || *end != ':' || !is_threshold(value.threshold)) {
        errsave(fcinfo->context,
                (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                 errmsg("invalid input syntax for type %s", "minhash_query"),
                 errdetail("Expected a threshold between 0 and 1, a colon and a signature."),
                 errhint("Queries are made by minhash_query().")));
        PG_RETURN_NULL();
    }
    const std::string_view text = end + 1;
    const std::size_t room = sizeof(std::uint32_t) * (text.size() / digits_per_slot + 1);
    const parse_result result =
        parse_text(text, value.sought, static_cast<std::uint32_t*>(palloc(room)));
    if (result.what != status::ok) {
        refuse_text(fcinfo->context, text.data(), result);
        PG_RETURN_NULL();
    }
    PG_RETURN_DATUM(make_query(value));
}

MINHASH_FUNCTION(minhash_query_out)
{
    const query value = query_of(PG_GETARG_DATUM(0));
    const std::size_t room =
        DOUBLE_SHORTEST_DECIMAL_LEN + max_text_prefix + value.sought.stored_slots().size() * 2 + 1;
    char* const out = static_cast<char*>(palloc(room));
    char* at = out + double_to_shortest_decimal_buf(value.threshold, out);
    *at++ = ':';
    at[write_text(value.sought, at)] = '\0';
    PG_RETURN_CSTRING(out);
}

// minhash_query_recv(internal) -> minhash_query
MINHASH_FUNCTION(minhash_query_recv)
{
    const StringInfo message = arg_internal<StringInfoData>(fcinfo, 0);
    query value;
    value.threshold = pq_getmsgfloat8(message);
    const std::size_t bytes = static_cast<std::size_t>(message->len - message->cursor);
    if (!is_threshold(value.threshold))
        fail_fraction("threshold", value.threshold, "between 0 and 1");
    if (bytes > stored_bytes(max_num_hashes))
        fail_received(status::bad_length, bytes);

    // The message's bytes lie anywhere: they are checked where they are aligned.
    std::uint8_t* const aligned = static_cast<std::uint8_t*>(palloc(bytes));
    pq_copymsgbytes(message, reinterpret_cast<char*>(aligned), static_cast<int>(bytes));
    if (const status read = decode({aligned, bytes}, value.sought); read != status::ok)
        fail_received(read, bytes);
    PG_RETURN_DATUM(make_query(value));
}

MINHASH_FUNCTION(minhash_query_send)
{
    const query value = query_of(PG_GETARG_DATUM(0));
    std::uint8_t header[header_bytes];
    encode_header(value.sought.scheme, header);
    StringInfoData message;
    pq_begintypsend(&message);
    pq_sendfloat8(&message, value.threshold);
    pq_sendbytes(&message, reinterpret_cast<const char*>(header), sizeof(header));
    pq_sendbytes(&message,
                 reinterpret_cast<const char*>(value.sought.stored_slots().data()),
                 static_cast<int>(value.sought.stored_slots().size()));
    PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

// minhash_query(signature, threshold) -> minhash_query
MINHASH_FUNCTION(minhash_query)
{
    PG_RETURN_DATUM(make_query({arg_signature(fcinfo, 0), arg_fraction(fcinfo, 1, "threshold")}));
}

// minhash_similar(signature, query) -> bool: the operator %, by the query's threshold.
MINHASH_FUNCTION(minhash_similar_to_query)
{
    const query sought = query_of(PG_GETARG_DATUM(1));
    PG_RETURN_BOOL(similarity(arg_signature(fcinfo, 0), sought.sought) >= sought.threshold);
}

// minhash_similar(query, signature) -> bool: its commutator.
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
