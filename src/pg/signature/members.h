// Hashes members of sets to 64 bits (core/hash.h), for functions to which users pass the members themselves, and not a
// text.
#pragma once

#include "pg/glue.h"

#include "core/hash.h"

namespace minhash::pg {

// The type as which values of `type` are hashed: text, smallint, integer, bigint, uuid or bytea. An ERROR if values of
// `type` cannot be members of sets.
Oid member_type(Oid type);

// The hash of a text or a lexeme, whose bytes are in the server's encoding.
std::uint64_t hash_text(std::span<const std::uint8_t> bytes, std::int64_t seed);

inline std::uint64_t hash_bytea(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    return hash_any_bytes(bytes.data(), bytes.size(), seed);
}

} // namespace minhash::pg
