// Checks the arguments of SQL functions and makes their results: converts Datums to the core's values and back.
#pragma once

#include "pg/glue.h"

#include "core/codec.h"
#include "core/scheme.h"
#include "core/tuning.h"

#include <algorithm>
#include <initializer_list>

extern "C" {
#include "nodes/execnodes.h"
#include "utils/array.h"
}

namespace minhash::pg {

// Whether the arguments `first` to `last` are constants in the query, so that their values are the same in every call.
// (A parameter does not count: PL/pgSQL runs one prepared expression with many values.)
bool args_are_constant(FunctionCallInfo fcinfo, int first, int last);

// The object to which an argument of type internal points.
template <typename Value>
Value* arg_internal(FunctionCallInfo fcinfo, int argument)
{
    return reinterpret_cast<Value*>(PG_GETARG_DATUM(argument));
}

// The bytes of a text, in the server's encoding. The text must be detoasted.
inline std::string_view view(const text* value) { return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)}; }

// Whether a text argument looks like an array and is a literal or a parameter. The caller then probably meant an array.
// (A text from a table may look like an array without being a mistake.)
bool is_array_literal(FunctionCallInfo fcinfo, int argument);

// Decodes the stored bytes of a signature. An ERROR if they are damaged.
signature decode_stored(std::span<const std::uint8_t> bytes);

// signature_of() detoasts and decodes a stored signature; arg_signature() does the same for an argument.
signature signature_of(Datum stored);
signature arg_signature(FunctionCallInfo fcinfo, int argument);

// Like arg_signature(), but raises an ERROR if the signature is compressed. `result` says, for the message, what cannot
// be made from a compressed signature.
signature arg_whole_signature(FunctionCallInfo fcinfo, int argument, const char* result);

// Makes a new varlena from a signature. The bytes in `front` are written before the signature's bytes.
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

// The values of an array, in place. The array must have no NULLs; its elements must have the fixed-length type Value.
template <typename Value>
std::span<const Value> values_of(ArrayType* array)
{
    Assert(!array_contains_nulls(array));
    return {reinterpret_cast<const Value*>(ARR_DATA_PTR(array)),
            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

// The default way to cut texts into shingles.
constexpr shingling default_shingling = {unit::character, 5, true, false};

// Reads the arguments shingle_size, unit, fold and bag. `first` is the position of shingle_size, and the others follow
// it. A NULL argument stands for its default. An ERROR if an argument is out of range.
shingling arg_shingling(FunctionCallInfo fcinfo, int first);

method arg_method(FunctionCallInfo fcinfo, int argument);

// An argument that is a number of bits per slot; an ERROR if it is not valid.
int arg_bits(FunctionCallInfo fcinfo, int argument);

// Returns `value`, the value of the argument `name`. An ERROR if it is not between `least` and `most`.
int check_between(const char* name, int value, int least, int most);

// An integer argument; an ERROR if it is not between `least` and `most`.
int arg_between(FunctionCallInfo fcinfo, int argument, const char* name, int least, int most);

// An argument that is a probability or similarity; an ERROR if it is NaN or not between 0 and 1.
double arg_fraction(FunctionCallInfo fcinfo, int argument, const char* name);

// The default recall: of the pairs whose similarity is the threshold, bands must find this share.
constexpr double default_recall = 0.95;

// A threshold, and the recall that bands and rows must reach at this threshold. arg_aim() raises an ERROR if either is
// out of range. If the recall argument is NULL, arg_aim() uses the default.
struct aim {
    double threshold;
    double recall;
};

aim arg_aim(FunctionCallInfo fcinfo, int threshold, int recall);

// Reads the numbers of bands and of rows from consecutive arguments. Each must be at least 1.
banding arg_banding(FunctionCallInfo fcinfo, int first);

// An ERROR if bands * rows is more than num_hashes.
void check_hashes(banding banding, int num_hashes);

// An ERROR if signatures of this scheme cannot have these bands (core/bands.h).
void check_bands(banding banding, const scheme& scheme);

} // namespace minhash::pg
