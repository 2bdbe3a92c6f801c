#include "pg/text_reader.h"

#include "core/fold.h"
#include "core/unicode.h"

#include <algorithm>

extern "C" {
#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
}

namespace minhash::pg {

namespace {

// Converted, these fill a slice at most.
constexpr std::size_t convertible_bytes = slice_bytes / MAX_CONVERSION_GROWTH;

} // namespace

void open(text_reader& reader, const text* value)
{
    open(reader,
         {reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(value)),
          static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))});

    // A table's page is filled from its end. So the text of the next row most likely lies just
    // before this one; it is fetched while this one is signed. (A prefetch may ask for any
    // address.)
    if (reader.left <= slice_bytes) {
        for (std::size_t before = 64; before <= reader.left + 64; before += 64)
            __builtin_prefetch(reader.at - before);
    }
}

void open(text_reader& reader, std::span<const std::uint8_t> bytes)
{
    reader.at = bytes.data();
    reader.left = bytes.size();
    reader.conversion = InvalidOid;

    // SQL_ASCII says nothing about bytes above 127: they are taken as UTF-8 where they are that.
    const int encoding = GetDatabaseEncoding();
    if (encoding != PG_UTF8 && encoding != PG_SQL_ASCII) {
        reader.conversion = FindDefaultConversionProc(encoding, PG_UTF8);
        if (!OidIsValid(reader.conversion))
            ereport(
                ERROR,
                errcode(ERRCODE_UNDEFINED_FUNCTION),
                errmsg("default conversion function for encoding \"%s\" to \"%s\" does not exist",
                       pg_encoding_to_char(encoding),
                       pg_encoding_to_char(PG_UTF8)),
                errhint("Use a database with encoding UTF8."));
    }
}

std::span<const std::uint8_t> read(text_reader& reader)
{
    CHECK_FOR_INTERRUPTS();
    std::span<const std::uint8_t> slice;
    std::size_t taken = std::min(reader.left, slice_bytes);
    if (!OidIsValid(reader.conversion)) {
        if (taken < reader.left)
            taken = whole_characters(reader.at, taken);
        slice = {reader.at, taken};
    } else if (is_ascii({reader.at, taken})) {
        // Every server encoding agrees with ASCII, so only the rest needs to be converted.
        slice = {reader.at, taken};
    } else {
        taken = std::min(taken, convertible_bytes);
        if (taken < reader.left)
            taken = pg_mbcliplen(
                reinterpret_cast<const char*>(reader.at),
                static_cast<int>(std::min(reader.left, taken + MAX_MULTIBYTE_CHAR_LEN)),
                static_cast<int>(taken));
        taken = pg_do_encoding_conversion_buf(reader.conversion,
                                              GetDatabaseEncoding(),
                                              PG_UTF8,
                                              const_cast<unsigned char*>(reader.at),
                                              static_cast<int>(taken),
                                              reader.converted,
                                              sizeof(reader.converted),
                                              true);
        if (taken > 0) {
            slice = {reader.converted, strlen(reinterpret_cast<char*>(reader.converted))};
        } else {
            // A character that Unicode does not have: its bytes as they are, so that every text
            // that can be stored can be signed.
            taken = std::min<std::size_t>(reader.left,
                                          pg_mblen(reinterpret_cast<const char*>(reader.at)));
            slice = {reader.at, taken};
        }
    }
    reader.at += taken;
    reader.left -= taken;
    return slice;
}

} // namespace minhash::pg
