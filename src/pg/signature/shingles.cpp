// Exact shingles: as an array, and for exact similarities and differences of two texts.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/exact_texts.h"

#include "core/fold.h"
#include "core/unicode.h"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

namespace minhash::pg {

namespace {

// A text in the server's encoding. A character that this encoding does not have, because the letter was folded to it or
// because the bytes mean nothing in Unicode, becomes a question mark, as a shingle can be signed whatever is in it.
text* to_server(const std::uint8_t* utf8, std::size_t bytes)
{
    const int encoding = GetDatabaseEncoding();
    if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII || is_ascii({utf8, bytes}))
        return cstring_to_text_with_len(reinterpret_cast<const char*>(utf8), static_cast<int>(bytes));
    const Oid conversion = FindDefaultConversionProc(PG_UTF8, encoding);
    StringInfoData out;
    initStringInfo(&out);
    if (!OidIsValid(conversion))
        elog(ERROR, "no conversion from UTF8 to %s", pg_encoding_to_char(encoding));
    constexpr std::size_t most = 1024 * 1024; // bytes that are converted at once
    while (bytes > 0) {
        const std::size_t piece = bytes > most ? whole_characters(utf8, most) : bytes;
        enlargeStringInfo(&out, static_cast<int>(piece) * MAX_CONVERSION_GROWTH + 1);
        const int converted = pg_do_encoding_conversion_buf(conversion,
                                                            PG_UTF8,
                                                            encoding,
                                                            const_cast<unsigned char*>(utf8),
                                                            static_cast<int>(piece),
                                                            reinterpret_cast<unsigned char*>(out.data + out.len),
                                                            out.maxlen - out.len,
                                                            true);
        out.len += static_cast<int>(strlen(out.data + out.len));
        utf8 += converted;
        bytes -= static_cast<std::size_t>(converted);
        if (static_cast<std::size_t>(converted) < piece) {
            appendStringInfoChar(&out, '?');
            const std::size_t skipped = decode_utf8(utf8, bytes).bytes;
            utf8 += skipped;
            bytes -= skipped;
        }
    }
    text* const made = cstring_to_text_with_len(out.data, out.len);
    pfree(out.data);
    return made;
}

// Appends a shingle to an array, in the server's encoding.
ArrayBuildState* add_shingle(ArrayBuildState* result, const std::uint8_t* buffer, const shingle_range& shingle)
{
    if (static_cast<std::size_t>(result->nelems) >= most_exact_shingles)
        fail_too_many_shingles(most_exact_shingles);
    text* const element = to_server(buffer + shingle.offset, shingle.bytes);
    result = accumArrayResult(result, PointerGetDatum(element), false, TEXTOID, CurrentMemoryContext);
    pfree(element); // the array has a copy
    return result;
}

} // namespace

// shingles(document, shingle_size, unit, fold, bag) -> text[]: in the order of the text. In a set, each shingle is at
// the position of its first occurrence.
MINHASH_FUNCTION(shingles)
{
    const exact_texts self = count_arguments(fcinfo, 1, arg_shingling(fcinfo, 1));
    shingle_walk walk = walk_text(self, 0);
    ArrayBuildState* result = initArrayResult(TEXTOID, CurrentMemoryContext, false);
    shingle_group group;
    while (next(walk, group)) {
        CHECK_FOR_INTERRUPTS();
        for (std::size_t i = 0; i < group.count; i++)
            if (self.how.bag || entry_of(self.counts, group, i).first.offset == group.begin[i])
                result = add_shingle(result, self.buffer, group.at(i));
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
    PG_RETURN_FLOAT8(jaccard(measure_arguments(fcinfo, arg_shingling(fcinfo, 2))));
}

// shingle_containment(a, b, shingle_size, unit, fold, bag) -> float8: the share of the first text's shingles that the
// second has; 0 if the first text is empty.
MINHASH_FUNCTION(shingle_containment)
{
    notice_array_literals(fcinfo, "element_containment");
    PG_RETURN_FLOAT8(containment(measure_arguments(fcinfo, arg_shingling(fcinfo, 2))));
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
