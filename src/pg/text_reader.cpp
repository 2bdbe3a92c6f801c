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

// At most this many bytes are converted at once, so that the result fits into a slice.
constexpr std::size_t convertible_bytes = slice_bytes / MAX_CONVERSION_GROWTH;

std::size_t character_bytes(const text_reader& reader)
{
    return std::min<std::size_t>(reader.left, pg_mblen(reinterpret_cast<const char*>(reader.at)));
}

// Returns the next bytes without conversion.
std::span<const std::uint8_t> pass(text_reader& reader, std::size_t bytes)
{
    const std::span<const std::uint8_t> slice = {reader.at, bytes};
    reader.at += bytes;
    reader.left -= bytes;
    return slice;
}

// Converts as many of the next `bytes` bytes as possible. A character that does not exist in Unicode is returned
// unchanged, so that every text that can be stored can be signed.
std::span<const std::uint8_t> convert(text_reader& reader, std::size_t bytes)
{
    const int converted = pg_do_encoding_conversion_buf(reader.conversion,
                                                        GetDatabaseEncoding(),
                                                        PG_UTF8,
                                                        const_cast<unsigned char*>(reader.at),
                                                        static_cast<int>(bytes),
                                                        reader.converted,
                                                        sizeof(reader.converted),
                                                        true);
    if (converted == 0)
        return pass(reader, character_bytes(reader));
    pass(reader, converted);
    return {reader.converted, strlen(reinterpret_cast<char*>(reader.converted))};
}

} // namespace

void open(text_reader& reader, const text* value)
{
    open(reader, bytes_of(value));

    // A table's page is filled from its end, so the text of the next row most likely lies just before this text.
    // Prefetch that text while this one is signed. (Prefetching from an invalid address is harmless.)
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

    // SQL_ASCII does not define the meaning of bytes above 127. They are read as UTF-8 where they are valid UTF-8.
    const int encoding = GetDatabaseEncoding();
    if (encoding != PG_UTF8 && encoding != PG_SQL_ASCII) {
        reader.conversion = FindDefaultConversionProc(encoding, PG_UTF8);
        if (!OidIsValid(reader.conversion))
            ereport(ERROR,
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
    const std::size_t bytes = std::min(reader.left, slice_bytes);
    if (!OidIsValid(reader.conversion))
        return pass(reader, bytes < reader.left ? whole_characters(reader.at, bytes) : bytes);
    // ASCII bytes mean the same in every server encoding, so only slices with other bytes are converted.
    if (is_ascii({reader.at, bytes}))
        return pass(reader, bytes);
    std::size_t fitting = std::min(bytes, convertible_bytes);
    if (fitting < reader.left)
        fitting = pg_mbcliplen(reinterpret_cast<const char*>(reader.at),
                               static_cast<int>(std::min(reader.left, fitting + MAX_MULTIBYTE_CHAR_LEN)),
                               static_cast<int>(fitting));
    return convert(reader, fitting);
}

std::span<const std::uint8_t> read_character(text_reader& reader)
{
    CHECK_FOR_INTERRUPTS();
    Assert(!at_end(reader));
    if (*reader.at < 0x80)
        return pass(reader, 1);
    return OidIsValid(reader.conversion) ? convert(reader, character_bytes(reader))
                                         : pass(reader, decode_utf8(reader.at, reader.left).bytes);
}

} // namespace minhash::pg
