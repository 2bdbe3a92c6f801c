// shingle_headline(): marks the parts of a text that another text lacks, by the conventions of ts_headline().
#include "pg/arguments.h"
#include "pg/signature/exact_texts.h"
#include "pg/text_reader.h"

#include <algorithm>
#include <climits>

extern "C" {
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
}

namespace minhash::pg {

namespace {

struct headline_options {
    const char* start;
    const char* stop;
    const char* delimiter;
    int most_fragments;
    int most_words;
    bool all;
};

int positive(const char* name, const char* value)
{
    const int number = pg_strtoint32(value);
    if (number < 1)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must be at least 1, not %d", name, number));
    return number;
}

bool truth(const char* name, const char* value)
{
    bool result;
    if (!parse_bool(value, &result))
        ereport(ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s must be true or false, not \"%s\"", name, value));
    return result;
}

headline_options read_options(Datum given)
{
    headline_options options = {"<b>", "</b>", " ... ", 3, 35, false};
    ListCell* cell;
    foreach (cell, deserialize_deflist(given)) {
        DefElem* const option = lfirst_node(DefElem, cell);
        char* const value = defGetString(option);
        const auto is = [&](const char* name) { return pg_strcasecmp(option->defname, name) == 0; };
        if (is("StartSel"))
            options.start = value;
        else if (is("StopSel"))
            options.stop = value;
        else if (is("FragmentDelimiter"))
            options.delimiter = value;
        else if (is("MaxFragments"))
            options.most_fragments = positive("MaxFragments", value);
        else if (is("MaxWords"))
            options.most_words = positive("MaxWords", value);
        else if (is("HighlightAll"))
            options.all = truth("HighlightAll", value);
        else
            ereport(
                ERROR,
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("unrecognized headline parameter: \"%s\"", option->defname),
                errhint("There are StartSel, StopSel, MaxFragments, MaxWords, FragmentDelimiter and HighlightAll."));
    }
    return options;
}

// A text from which a headline is made. All positions in the text are in bytes.
struct headline {
    headline_options options;
    const char* text;
    std::size_t end;
    difference_walk* walk;
    text_reader* reader; // reads words
    text_span span;      // the next difference, if there is one
    bool more;
    StringInfoData result;
};

std::size_t skip_space(const headline& line, std::size_t at)
{
    while (at < line.end && is_space(line.text[at]))
        at++;
    return at;
}

// The end of the word that starts at or after `at`. A text without white space, such as Chinese or an encoded file, is
// cut into words of most_characters grapheme clusters.
std::size_t skip_word(const headline& line, std::size_t at)
{
    constexpr int most_characters = 20;
    CHECK_FOR_INTERRUPTS();
    at = skip_space(line, at);
    text_reader& reader = *line.reader;
    reader.at = reinterpret_cast<const std::uint8_t*>(line.text) + at;
    reader.left = line.end - at;
    grapheme_state graphemes = start_graphemes();
    for (int read = 0; at < line.end && !is_space(line.text[at]); at = line.end - reader.left)
        if (begins_grapheme(graphemes, read_character(reader)) && read++ == most_characters)
            break;
    return at;
}

std::size_t skip_words(const headline& line, std::size_t at, std::size_t words)
{
    for (std::size_t i = 0; i < words && skip_space(line, at) < line.end; i++)
        at = skip_word(line, at);
    return at;
}

// The number of words that start at or after `at` and before `before`. Stops counting at `most`.
std::size_t count_words(const headline& line, std::size_t at, std::size_t before, std::size_t most)
{
    std::size_t words = 0;
    for (at = skip_space(line, at); at < before && words < most; words++)
        at = skip_space(line, skip_word(line, at));
    return words;
}

void append(headline& line, std::size_t from, std::size_t to)
{
    Assert(from <= to);
    appendBinaryStringInfo(&line.result, line.text + from, static_cast<int>(to - from));
}

void go_on(headline& line) { line.more = next(*line.walk, line.span); }

// Appends a part of the text, and marks the differences that start in it.
void append_marked(headline& line, std::size_t from, std::size_t to)
{
    for (; line.more && line.span.from.bytes < to; go_on(line)) {
        append(line, from, line.span.from.bytes);
        from = std::min(line.span.to.bytes, to);
        appendStringInfoString(&line.result, line.options.start);
        append(line, line.span.from.bytes, from);
        appendStringInfoString(&line.result, line.options.stop);
    }
    append(line, from, to);
}

// Appends the next difference, with about as many words before it as after it. `shown` is where the previous fragment
// ended, or 0. Returns where this fragment ends.
std::size_t append_fragment(headline& line, std::size_t shown)
{
    const std::size_t most = line.options.most_words;
    const std::size_t from = line.span.from.bytes;
    const std::size_t own = count_words(line, from, line.span.to.bytes, most);
    const bool amid_word = from > 0 && !is_space(line.text[from - 1]);
    const std::size_t context = (most - own) / 2 + amid_word;
    const std::size_t before = count_words(line, shown, from, SIZE_MAX);
    std::size_t start = shown;
    if (before > context) {
        start = skip_space(line, skip_words(line, shown, before - context));
        if (shown > 0)
            appendStringInfoString(&line.result, line.options.delimiter);
    } else if (shown == 0) {
        start = skip_space(line, 0);
    }
    start = std::min(start, from); // the difference may begin with white space
    std::size_t end = skip_words(line, start, most);
    if (end <= from)
        end = skip_word(line, from);
    append_marked(line, start, end);
    return end;
}

} // namespace

// shingle_headline(a, b, options, shingle_size, unit, fold, bag) -> text
MINHASH_FUNCTION(shingle_headline)
{
    const headline_options options = read_options(PG_GETARG_DATUM(2));
    exact_texts texts = count_arguments(fcinfo, 2, arg_shingling(fcinfo, 3));
    text* const value = PG_GETARG_TEXT_PP(0);
    headline line = {options,
                     VARDATA_ANY(value),
                     VARSIZE_ANY_EXHDR(value),
                     static_cast<difference_walk*>(palloc(sizeof(difference_walk))),
                     static_cast<text_reader*>(palloc(sizeof(text_reader))),
                     {},
                     false,
                     {}};
    initStringInfo(&line.result);
    open(*line.reader, value);
    start(*line.walk, texts, 0, value);
    go_on(line);
    if (line.options.all) {
        append_marked(line, 0, line.end);
    } else if (!line.more) {
        const std::size_t first = skip_space(line, 0);
        append(line, first, skip_words(line, first, line.options.most_words));
    } else {
        std::size_t shown = 0;
        for (int i = 0; i < line.options.most_fragments && line.more; i++)
            shown = append_fragment(line, shown);
    }
    PG_RETURN_TEXT_P(cstring_to_text_with_len(line.result.data, line.result.len));
}

} // namespace minhash::pg
