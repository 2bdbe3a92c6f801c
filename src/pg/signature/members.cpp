#include "pg/signature/members.h"
#include "pg/text_reader.h"

#include "core/fold.h"

#include <algorithm>

extern "C" {
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace minhash::pg {

namespace {

std::uint64_t hash_converted(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    text_reader reader;
    auto* const utf8 =
        static_cast<std::uint8_t*>(palloc_extended(bytes.size() * MAX_CONVERSION_GROWTH, MCXT_ALLOC_HUGE));
    std::uint8_t* end = utf8;
    for (open(reader, bytes); !at_end(reader);)
        end = std::ranges::copy(read(reader), end).out;
    const std::uint64_t hash = hash_bytes(utf8, static_cast<std::size_t>(end - utf8), seed);
    pfree(utf8);
    return hash;
}

} // namespace

Oid member_type(Oid type)
{
    const Oid base = getBaseType(type);
    for (const Oid known : {INT2OID, INT4OID, INT8OID, UUIDOID, BYTEAOID})
        if (base == known)
            return base;
    if (!IsBinaryCoercible(base, TEXTOID))
        ereport(ERROR,
                errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("elements cannot be of type %s", format_type_be(type)),
                errdetail("They can be of type text, smallint, integer, bigint, uuid or bytea."),
                errhint("Cast them, for instance to text."));
    return TEXTOID;
}

std::uint64_t hash_text(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    const int encoding = GetDatabaseEncoding();
    if (encoding != PG_UTF8 && encoding != PG_SQL_ASCII && !is_ascii(bytes))
        return hash_converted(bytes, seed);
    return hash_bytes(bytes.data(), bytes.size(), seed);
}

} // namespace minhash::pg
