// Checks the arguments of SQL functions and makes their results: converts Datums to the core's values and back.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"
#include "core/scheme.h"

#include <algorithm>
#include <initializer_list>

extern "C" {
#include "nodes/execnodes.h"
#include "utils/array.h"
}

namespace minhash::pg {

// Whether arguments are constants of the query, so that they are the same in every call. (A parameter does not count:
// PL/pgSQL runs one prepared expression with many values.)
bool args_are_constant(FunctionCallInfo fcinfo, int first, int last);

// The object to which an argument of type internal points.
template <typename Value>
Value* arg_internal(FunctionCallInfo fcinfo, int argument)
{
    return reinterpret_cast<Value*>(PG_GETARG_DATUM(argument));
}

// The bytes of a text, in the server's encoding. The text must not be stored out of line.
inline std::string_view view(const text* value) { return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)}; }

// Whether an argument is a literal or a parameter that is most probably meant as an array. (A text that comes from a
// table is no such mistake, even if it looks like an array.)
bool is_array_literal(FunctionCallInfo fcinfo, int argument);

// Reads stored bytes; an ERROR if they are damaged.
signature decode_stored(std::span<const std::uint8_t> bytes);

// signature_of() detoasts a stored signature and decodes it; arg_signature() does so with an argument.
signature signature_of(Datum stored);
signature arg_signature(FunctionCallInfo fcinfo, int argument);

// Like arg_signature(), but an ERROR if the signature is compressed. `result` names what cannot be made from it.
signature arg_whole_signature(FunctionCallInfo fcinfo, int argument, const char* result);

// Makes a new varlena of a signature. The bytes in `front` are written before the signature's bytes.
Datum make_signature(const signature& value, std::span<const std::uint8_t> front = {});

// The row that a function with OUT parameters returns; none of its values is null.
Datum make_row(FunctionCallInfo fcinfo, std::initializer_list<Datum> values);

// Prepares the result of a function that returns a set of rows. (The rows have the type that the query expects. Looking
// the type up in each call instead would leak memory until the query ends.)
ReturnSetInfo& start_rows(FunctionCallInfo fcinfo);

// Adds a row to the result. None of its values is null.
void put_row(const ReturnSetInfo& result, std::initializer_list<Datum> values);

Datum make_bigint_array(Datum* values, std::size_t count);

// A bigint[] of the values that value_at() returns for each index below `count`.
template <typename ValueAt>
Datum make_bigint_array(std::size_t count, ValueAt value_at)
{
    Datum* const made = static_cast<Datum*>(palloc(sizeof(Datum) * (count + 1)));
    for (std::size_t at = 0; at < count; at++)
        made[at] = Int64GetDatum(static_cast<std::int64_t>(value_at(at)));
    const Datum array = make_bigint_array(made, count);
    pfree(made);
    return array;
}

// The values of an array, which has no NULLs and whose elements have a fixed length.
template <typename Value>
std::span<const Value> values_of(ArrayType* array)
{
    Assert(!array_contains_nulls(array));
    return {reinterpret_cast<const Value*>(ARR_DATA_PTR(array)),
            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

// The default way to cut texts into shingles.
constexpr shingling default_shingling = {unit::character, 5, true, false};

// The arguments shingle_size, unit, fold and bag, of which `first` is the first; an ERROR if one is out of range. NULL
// stands for an argument's default.
shingling arg_shingling(FunctionCallInfo fcinfo, int first);

unit arg_unit(FunctionCallInfo fcinfo, int argument);

method arg_method(FunctionCallInfo fcinfo, int argument);

// An argument that is a number of bits per slot; an ERROR if it is not valid.
int arg_bits(FunctionCallInfo fcinfo, int argument);

// The value of an integer argument; an ERROR if it is not between `least` and `most`.
int check_between(const char* name, int value, int least, int most);

// An integer argument; an ERROR if it is not between `least` and `most`.
int arg_between(FunctionCallInfo fcinfo, int argument, const char* name, int least, int most);

// A probability or similarity, an ERROR if it is NaN or not between 0 and 1.
double arg_fraction(FunctionCallInfo fcinfo, int argument, const char* name);

// The share of the pairs at the threshold that bands must find unless a call says otherwise.
constexpr double default_recall = 0.95;

// The recall that bands and rows must reach at a threshold; arg_aim() raises an ERROR if either is impossible. If the
// recall is NULL, it is the default.
struct aim {
    double threshold;
    double recall;
};

aim arg_aim(FunctionCallInfo fcinfo, int threshold, int recall);

// Bands and rows, each at least 1, from two consecutive arguments.
struct banding {
    int bands;
    int rows;
};

banding arg_banding(FunctionCallInfo fcinfo, int first);

// An ERROR if bands * rows is more than num_hashes.
void check_hashes(banding shape, int num_hashes);

// An ERROR if signatures of this scheme cannot have these bands (core/bands.h).
void check_bands(banding shape, const scheme& scheme);

} // namespace minhash::pg
