#include "pg/errors.h"
#include "pg/text_reader.h"

#include "core/unicode.h"

#include <algorithm>

namespace minhash::pg {

namespace {

constexpr std::size_t convertible_bytes = slice_bytes / MAX_CONVERSION_GROWTH;

bool is_ascii(const std::uint8_t* bytes, std::size_t count)
{
    std::uint8_t all = 0;
    for (std::size_t index = 0; index < count; index++)
        all |= bytes[index];
    return all < 0x80;
}

} // namespace

void open(text_reader& reader, const text* value)
{
    reader.at = reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(value));
    reader.left = VARSIZE_ANY_EXHDR(value);
    reader.conversion = InvalidOid;

    // SQL_ASCII says nothing about bytes above 127: they are taken as UTF-8 where they are that.
    const int encoding = GetDatabaseEncoding();
    if (encoding != PG_UTF8 && encoding != PG_SQL_ASCII) {
        reader.conversion = FindDefaultConversionProc(encoding, PG_UTF8);
        if (!OidIsValid(reader.conversion))
            fail_no_conversion(encoding);
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
    } else {
        // Every server encoding agrees with ASCII, so only the rest needs to be converted.
        taken = std::min(taken, convertible_bytes);
        const char* const from = reinterpret_cast<const char*>(reader.at);
        if (taken < reader.left)
            taken = pg_mbcliplen(from,
                                 static_cast<int>(taken) + MAX_MULTIBYTE_CHAR_LEN,
                                 static_cast<int>(taken));
        if (is_ascii(reader.at, taken)) {
            slice = {reader.at, taken};
        } else {
            taken = pg_do_encoding_conversion_buf(reader.conversion,
                                                  GetDatabaseEncoding(),
                                                  PG_UTF8,
                                                  const_cast<unsigned char*>(reader.at),
                                                  static_cast<int>(taken),
                                                  reader.converted,
                                                  sizeof(reader.converted),
                                                  false);
            slice = {reader.converted, strlen(reinterpret_cast<char*>(reader.converted))};
        }
    }
    reader.at += taken;
    reader.left -= taken;
    return slice;
}

} // namespace minhash::pg
