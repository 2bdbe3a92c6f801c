#include "pg/arguments.h"
#include "pg/errors.h"

#include "core/bands.h"

#include <algorithm>

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/tuplestore.h"
}

namespace minhash::pg {

namespace {

// `result` says, for the message, what cannot be made from the compressed signature.
void refuse_compressed(const scheme& scheme, const char* result, int least_bits)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_EXCEPTION),
            errmsg_plural("cannot make %s from a signature of %d bit per slot",
                          "cannot make %s from a signature of %d bits per slot",
                          scheme.bits,
                          result,
                          scheme.bits),
            errdetail("At least %d bits are needed; the signature is %s.", least_bits, describe(scheme)),
            errhint("Use the signature before minhash_compress()."));
}

// Returns `a` or `b`, whichever the text argument names. If it names neither, raises an ERROR that lists `choices`.
template <typename Value>
Value choose(FunctionCallInfo fcinfo, int argument, const char* name, Value a, Value b, const char* choices)
{
    text* const given = PG_GETARG_TEXT_PP(argument);
    if (view(given) != name_of(a) && view(given) != name_of(b))
        fail_choice(name, given, choices);
    return view(given) == name_of(a) ? a : b;
}

unit arg_unit(FunctionCallInfo fcinfo, int argument)
{
    return choose(fcinfo, argument, "unit", unit::character, unit::word, "\"char\" and \"word\"");
}

} // namespace

bool args_are_constant(FunctionCallInfo fcinfo, int first, int last)
{
    const Node* const call = fcinfo->flinfo->fn_expr;
    if (call == nullptr || !IsA(call, FuncExpr))
        return false;
    const List* const given = reinterpret_cast<const FuncExpr*>(call)->args;
    if (last >= list_length(given))
        return false;
    for (int argument = first; argument <= last; argument++) {
        if (!IsA(list_nth(given, argument), Const))
            return false;
    }
    return true;
}

bool is_array_literal(FunctionCallInfo fcinfo, int argument)
{
    if (!get_fn_expr_arg_stable(fcinfo->flinfo, argument))
        return false;
    const std::string_view given = view(PG_GETARG_TEXT_PP(argument));
    return given.starts_with('{') && given.ends_with('}') && !given.starts_with("{{") && // not a template
           given.find(':') == given.npos;                                                // not JSON
}

signature decode_stored(std::span<const std::uint8_t> bytes)
{
    signature value;
    if (const status read = decode(bytes, value); read != status::ok)
        fail_stored(read, bytes.size());
    return value;
}

signature signature_of(Datum stored)
{
    // Does not allow the packed form (short header): slots are read in place, so they must be aligned.
    return decode_stored(bytes_of(PG_DETOAST_DATUM(stored)));
}

signature arg_signature(FunctionCallInfo fcinfo, int argument) { return signature_of(PG_GETARG_DATUM(argument)); }

signature arg_whole_signature(FunctionCallInfo fcinfo, int argument, const char* result)
{
    const signature value = arg_signature(fcinfo, argument);
    if (value.scheme.bits != bits_per_slot)
        refuse_compressed(value.scheme, result, bits_per_slot);
    return value;
}

Datum make_signature(const signature& value, std::span<const std::uint8_t> front)
{
    const std::span<const std::uint8_t> slots = value.stored_slots();
    const std::size_t bytes = VARHDRSZ + front.size() + header_bytes + slots.size();
    struct varlena* const stored = static_cast<struct varlena*>(palloc(bytes));
    SET_VARSIZE(stored, bytes);
    std::uint8_t* const out = std::copy(front.begin(), front.end(), reinterpret_cast<std::uint8_t*>(VARDATA(stored)));
    encode_header(value.scheme, out);
    std::copy(slots.begin(), slots.end(), out + header_bytes); // the empty set has no slots
    return PointerGetDatum(stored);
}

Datum make_row(FunctionCallInfo fcinfo, std::initializer_list<Datum> values)
{
    TupleDesc columns;
    if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "return type must be a row type");
    bool nulls[16] = {};
    Assert(values.size() <= lengthof(nulls));
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), const_cast<Datum*>(values.begin()), nulls));
}

ReturnSetInfo& start_rows(FunctionCallInfo fcinfo)
{
    materialize_rows(fcinfo);
    return *reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
}

void put_row(const ReturnSetInfo& result, std::initializer_list<Datum> values)
{
    bool nulls[16] = {};
    Assert(values.size() <= lengthof(nulls));
    tuplestore_putvalues(result.setResult, result.setDesc, const_cast<Datum*>(values.begin()), nulls);
}

Datum make_bigint_array(Datum* values, std::size_t count)
{
    return PointerGetDatum(construct_array(values,
                                           static_cast<int>(count),
                                           INT8OID,
                                           sizeof(std::int64_t),
                                           FLOAT8PASSBYVAL,
                                           TYPALIGN_DOUBLE));
}

shingling arg_shingling(FunctionCallInfo fcinfo, int first)
{
    shingling cut = default_shingling;
    if (!PG_ARGISNULL(first))
        cut.size = static_cast<std::uint16_t>(arg_between(fcinfo, first, "shingle_size", 1, max_shingle_size));
    if (!PG_ARGISNULL(first + 1))
        cut.of = arg_unit(fcinfo, first + 1);
    if (!PG_ARGISNULL(first + 2))
        cut.fold = PG_GETARG_BOOL(first + 2);
    if (!PG_ARGISNULL(first + 3))
        cut.bag = PG_GETARG_BOOL(first + 3);
    return cut;
}

method arg_method(FunctionCallInfo fcinfo, int argument)
{
    return choose(fcinfo, argument, "method", method::fss, method::classic, "\"fss\" and \"classic\"");
}

int arg_bits(FunctionCallInfo fcinfo, int argument)
{
    const int bits = PG_GETARG_INT32(argument);
    if (!valid_bits(bits))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("bits must be 1, 2, 4, 8, 16, or 32"),
                errdetail("The value given is %d.", bits),
                errhint("8 bits are as accurate as 32, in a quarter of the space."));
    return bits;
}

int check_between(const char* name, int value, int least, int most)
{
    if (value < least || value > most)
        fail_range(name, value, least, most);
    return value;
}

int arg_between(FunctionCallInfo fcinfo, int argument, const char* name, int least, int most)
{
    return check_between(name, PG_GETARG_INT32(argument), least, most);
}

double arg_fraction(FunctionCallInfo fcinfo, int argument, const char* name)
{
    const double value = PG_GETARG_FLOAT8(argument);
    if (!(value >= 0 && value <= 1))
        fail_fraction(name, value, "between 0 and 1");
    return value;
}

aim arg_aim(FunctionCallInfo fcinfo, int threshold, int recall)
{
    const aim given = {PG_GETARG_FLOAT8(threshold), PG_ARGISNULL(recall) ? default_recall : PG_GETARG_FLOAT8(recall)};
    if (!(given.threshold > 0 && given.threshold <= 1))
        fail_fraction("threshold", given.threshold, "greater than 0 and at most 1");
    if (!(given.recall > 0 && given.recall < 1))
        fail_fraction("recall", given.recall, "greater than 0 and less than 1");
    return given;
}

banding arg_banding(FunctionCallInfo fcinfo, int first)
{
    return {arg_between(fcinfo, first, "bands", 1, max_num_hashes),
            arg_between(fcinfo, first + 1, "rows", 1, max_num_hashes)};
}

void check_hashes(banding banding, int num_hashes)
{
    const std::int64_t needed = std::int64_t{banding.bands} * banding.rows;
    if (needed <= num_hashes)
        return;
    const int fitting = num_hashes / banding.rows;
    ereport(ERROR,
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("bands => %d and rows => %d need %lld hashes, but the signature has %d",
                   banding.bands,
                   banding.rows,
                   static_cast<long long>(needed),
                   num_hashes),
            fitting > 0 ? errhint("With rows => %d, bands can be at most %d.", banding.rows, fitting)
                        : errhint("With one band, rows can be at most %d.", num_hashes));
}

void check_bands(banding banding, const scheme& scheme)
{
    if (can_be_banded(scheme, banding.bands, banding.rows))
        return;
    if (scheme.bits < min_band_bits)
        refuse_compressed(scheme, "band keys", min_band_bits);
    check_hashes(banding, scheme.num_hashes);
}

} // namespace minhash::pg
