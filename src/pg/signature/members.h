// Hashes members of sets that users give as such to 64 bits (core/hash.h).
#pragma once

#include "pg/glue.h"

#include "core/hash.h"

namespace minhash::pg {

// Values of a type are hashed as values of the type returned: text, smallint, integer, bigint, uuid or bytea. An ERROR
// if values of the type cannot be members of sets.
Oid member_type(Oid type);

// The hash of a text or a lexeme in the server's encoding.
std::uint64_t hash_text(std::span<const std::uint8_t> bytes, std::int64_t seed);

inline std::uint64_t hash_bytea(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    return hash_any_bytes(bytes.data(), bytes.size(), seed);
}

} // namespace minhash::pg
