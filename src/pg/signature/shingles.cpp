// Exact shingles: as an array, and for exact similarities and differences of two texts.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/exact_texts.h"

extern "C" {
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

namespace minhash::pg {

namespace {

// Appends a shingle to an array, converted to the server's encoding.
ArrayBuildState* add_shingle(ArrayBuildState* result, const std::uint8_t* buffer, const shingle_range& shingle)
{
    if (static_cast<std::size_t>(result->nelems) >= most_exact_shingles)
        fail_too_many_shingles(most_exact_shingles);
    const char* const utf8 = reinterpret_cast<const char*>(buffer + shingle.offset);
    const int bytes = static_cast<int>(shingle.bytes);
    const bool converts = GetDatabaseEncoding() != PG_UTF8 && GetDatabaseEncoding() != PG_SQL_ASCII;
    char* const converted = converts ? pg_any_to_server(utf8, bytes, PG_UTF8) : nullptr;
    const bool same = converted == nullptr || converted == utf8;
    text* const element = same ? cstring_to_text_with_len(utf8, bytes) : cstring_to_text(converted);
    result = accumArrayResult(result, PointerGetDatum(element), false, TEXTOID, CurrentMemoryContext);
    pfree(element); // the array has a copy
    if (!same)
        pfree(converted);
    return result;
}

} // namespace

// shingles(document, shingle_size, unit, fold, bag) -> text[]: in the order of the text. In a set, each shingle is at
// the place of its first occurrence.
MINHASH_FUNCTION(shingles)
{
    const exact_texts state = count_arguments(fcinfo, 1, arg_shingling(fcinfo, 1));
    shingle_walk walk = walk_text(state, 0);
    ArrayBuildState* result = initArrayResult(TEXTOID, CurrentMemoryContext, false);
    shingle_group group;
    while (next(walk, group)) {
        CHECK_FOR_INTERRUPTS();
        for (std::size_t i = 0; i < group.count; i++)
            if (state.how.bag || entry_of(state.counts, group, i).first.offset == group.begin[i])
                result = add_shingle(result, state.buffer, group.at(i));
    }
    PG_RETURN_DATUM(makeArrayResult(result, CurrentMemoryContext));
}

namespace {

void notice_array_literals(FunctionCallInfo fcinfo, const char* of_arrays)
{
    if (is_array_literal(fcinfo, 0) && is_array_literal(fcinfo, 1))
        ereport(NOTICE,
                errmsg("shingles of texts in braces are compared, not elements of arrays"),
                errhint("Arrays are compared by %s(ARRAY['a', 'b'], ARRAY['a', 'c']).", of_arrays));
}

} // namespace

// shingle_jaccard(a, b, shingle_size, unit, fold, bag) -> float8: size of the intersection over size of the union; 0 if
// both texts are empty.
MINHASH_FUNCTION(shingle_jaccard)
{
    notice_array_literals(fcinfo, "element_jaccard");
    PG_RETURN_FLOAT8(jaccard(count_arguments(fcinfo, 2, arg_shingling(fcinfo, 2)).counts.sizes));
}

// shingle_containment(a, b, shingle_size, unit, fold, bag) -> float8: the share of the first text's shingles that the
// second has; 0 if the first text is empty.
MINHASH_FUNCTION(shingle_containment)
{
    notice_array_literals(fcinfo, "element_containment");
    PG_RETURN_FLOAT8(containment(count_arguments(fcinfo, 2, arg_shingling(fcinfo, 2)).counts.sizes));
}

// shingle_difference(a, b, shingle_size, unit, fold, bag) -> (side, position, length, passage) rows
MINHASH_FUNCTION(shingle_difference)
{
    const ReturnSetInfo& result = start_rows(fcinfo);
    exact_texts texts = count_arguments(fcinfo, 2, arg_shingling(fcinfo, 2));
    difference_walk* const walk = static_cast<difference_walk*>(palloc(sizeof(difference_walk)));
    for (const int which : {0, 1}) {
        text* const value = PG_GETARG_TEXT_PP(which);
        const Datum side = PointerGetDatum(cstring_to_text(which == 0 ? "a" : "b"));
        start(*walk, texts, which, value);
        for (text_span span; next(*walk, span);) {
            text* const passage = cstring_to_text_with_len(VARDATA_ANY(value) + span.from.bytes,
                                                           static_cast<int>(span.to.bytes - span.from.bytes));
            put_row(result,
                    {side,
                     Int32GetDatum(static_cast<int>(span.from.characters + 1)),
                     Int32GetDatum(static_cast<int>(span.to.characters - span.from.characters)),
                     PointerGetDatum(passage)});
            pfree(passage);
        }
        PG_FREE_IF_COPY(value, which);
    }
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
