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

// Whether arguments are constants of the query, and so the same in every call. (A parameter is not: PL/pgSQL runs one
// prepared expression with many values.)
bool args_are_constant(FunctionCallInfo fcinfo, int first, int last);

// The object to which an argument of type internal points.
template <typename Value>
Value* arg_internal(FunctionCallInfo fcinfo, int argument)
{
    return reinterpret_cast<Value*>(PG_GETARG_DATUM(argument));
}

// The bytes of a text that is not stored out of line, in the server's encoding.
inline std::string_view view(const text* value) { return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)}; }

// Whether an argument is a literal or parameter that most probably is meant as an array. (A text in a table may well
// look like one.)
bool is_array_literal(FunctionCallInfo fcinfo, int argument);

// Reads stored bytes; an ERROR if they are damaged.
signature decode_stored(std::span<const std::uint8_t> bytes);

// A stored signature, or the one in an argument, detoasted.
signature signature_of(Datum stored);
signature arg_signature(FunctionCallInfo fcinfo, int argument);

// The same, but an ERROR if the signature is compressed; `result` names the result that it cannot give.
signature arg_whole_signature(FunctionCallInfo fcinfo, int argument, const char* result);

// A new varlena; `front` has bytes that are written before the signature's bytes.
Datum make_signature(const signature& value, std::span<const std::uint8_t> front = {});

// The row that a function with OUT parameters returns; none of its values is null.
Datum make_row(FunctionCallInfo fcinfo, std::initializer_list<Datum> values);

// Starts the rows that a set-returning function returns. (They have the row type that the query expects: looking it up
// in each call would leak memory until the query ends.)
ReturnSetInfo& start_rows(FunctionCallInfo fcinfo);

// Adds one of these rows; none of its values is null.
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

// The values of an array without NULLs, of a type with a fixed length.
template <typename Value>
std::span<const Value> values_of(ArrayType* array)
{
    Assert(!array_contains_nulls(array));
    return {reinterpret_cast<const Value*>(ARR_DATA_PTR(array)),
            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

// The default way to cut texts into shingles.
constexpr shingling default_shingling = {unit::character, 5, true, false};

// The arguments shingle_size, unit, fold and bag, from `first` on; an ERROR if one is out of range. NULL stands for the
// default of each.
shingling arg_shingling(FunctionCallInfo fcinfo, int first);

unit arg_unit(FunctionCallInfo fcinfo, int argument);

method arg_method(FunctionCallInfo fcinfo, int argument);

// Bits per slot.
int arg_bits(FunctionCallInfo fcinfo, int argument);

// The value of an integer argument; an ERROR if it is not between `least` and `most`.
int check_between(const char* name, int value, int least, int most);

// An integer argument; an ERROR if it is not between `least` and `most`.
int arg_between(FunctionCallInfo fcinfo, int argument, const char* name, int least, int most);

// A probability or similarity, an ERROR if it is NaN or not between 0 and 1.
double arg_fraction(FunctionCallInfo fcinfo, int argument, const char* name);

// The share of the pairs at the threshold that bands must find unless a call says otherwise.
constexpr double default_recall = 0.95;

// The recall that bands and rows must reach at a threshold; an ERROR if either is impossible. A NULL recall is the
// default.
struct aim {
    double threshold;
    double recall;
};

aim arg_aim(FunctionCallInfo fcinfo, int threshold, int recall);

// bands and rows, both at least 1, as two consecutive arguments.
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
