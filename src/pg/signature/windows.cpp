// lsh_windows(): cuts a text into windows of words. An excerpt about as long as a window resembles at least one window.
#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/text_reader.h"

#include <algorithm>
#include <climits>

extern "C" {
#include "mb/pg_wchar.h"
#include "miscadmin.h"
}

namespace minhash::pg {

namespace {

// The number of bytes between checks for cancel. Even a single word needs such checks, and so does the space between
// two words, because either may be as long as the text.
constexpr std::ptrdiff_t slice = 1 << 16;

const char* skip(const char* at, const char* end, bool space)
{
    while (true) {
        const char* const pause = end - at < slice ? end : at + slice;
        while (at < pause && is_space(*at) == space)
            at++;
        if (at < pause || at == end)
            return at;
        CHECK_FOR_INTERRUPTS();
    }
}

const char* skip_space(const char* at, const char* end) { return skip(at, end, true); }

const char* skip_word(const char* at, const char* end) { return skip(at, end, false); }

int count_characters(const char* at, const char* end)
{
    int count = 0;
    while (end - at > slice) {
        const int bytes = pg_mbcliplen(at, static_cast<int>(end - at), slice);
        count += pg_mbstrlen_with_len(at, bytes);
        at += bytes;
        CHECK_FOR_INTERRUPTS();
    }
    return count + pg_mbstrlen_with_len(at, static_cast<int>(end - at));
}

// Copies a passage, with checks for cancel. (cstring_to_text_with_len() would make none, however long the passage.)
text* copy_passage(const char* at, const char* end)
{
    text* const passage = static_cast<text*>(palloc(end - at + VARHDRSZ));
    SET_VARSIZE(passage, end - at + VARHDRSZ);
    for (char* to = VARDATA(passage); at < end;) {
        const std::ptrdiff_t bytes = std::min(end - at, slice);
        memcpy(to, at, bytes);
        to += bytes;
        at += bytes;
        CHECK_FOR_INTERRUPTS();
    }
    return passage;
}

} // namespace

// lsh_windows(document, words, step) -> (position, passage) rows; no rows if `document` or `words` is NULL
MINHASH_FUNCTION(lsh_windows)
{
    const ReturnSetInfo& result = start_rows(fcinfo);
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        return static_cast<Datum>(0);
    text* const document = PG_GETARG_TEXT_PP(0);
    const int words = arg_between(fcinfo, 1, "words", 1, INT_MAX / 2);
    const int half = (words + 1) / 2;
    const int step = PG_ARGISNULL(2) ? half : arg_between(fcinfo, 2, "step", 1, INT_MAX / 2);
    if (step > words)
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("step must not be greater than words"),
                errdetail("A window of %d words at every %d words would skip words.", words, step),
                errhint("Leave out step to get half of words, %d.", half));

    const char* const end = VARDATA_ANY(document) + VARSIZE_ANY_EXHDR(document);
    const char* counted = VARDATA_ANY(document); // up to here, characters have been counted
    int position = 1;
    const char* first = skip_space(counted, end); // the first word of the window
    std::int64_t first_number = 0;
    const char* last = first; // the end of the window
    std::int64_t last_number = 0;
    while (first < end) {
        CHECK_FOR_INTERRUPTS();
        for (const char* next = skip_space(last, end); next < end && last_number < first_number + words;
             next = skip_space(last, end), last_number++)
            last = skip_word(next, end);
        position += count_characters(counted, first);
        counted = first;
        text* const passage = copy_passage(first, last);
        put_row(result, {Int32GetDatum(position), PointerGetDatum(passage)});
        pfree(passage);
        if (skip_space(last, end) == end)
            break; // later windows would be parts of this window
        for (int i = 0; i < step && first < end; i++, first_number++)
            first = skip_space(skip_word(first, end), end);
    }
    return static_cast<Datum>(0);
}

} // namespace minhash::pg
