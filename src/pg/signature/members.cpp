#include "pg/signature/members.h"
#include "pg/text_reader.h"

#include "core/fold.h"

extern "C" {
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
}

namespace minhash::pg {

namespace {

std::uint64_t hash_converted(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    text_reader reader;
    piecewise_hash hash;
    open(reader, bytes);
    start(hash, seed);
    while (!at_end(reader)) {
        const std::span<const std::uint8_t> slice = read(reader);
        add(hash, slice.data(), slice.size());
    }
    return finish(hash);
}

} // namespace

std::uint64_t hash_text(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    const int encoding = GetDatabaseEncoding();
    if (encoding != PG_UTF8 && encoding != PG_SQL_ASCII && !is_ascii(bytes))
        return hash_converted(bytes, seed);
    return hash_bytes(bytes.data(), bytes.size(), seed);
}

} // namespace minhash::pg
