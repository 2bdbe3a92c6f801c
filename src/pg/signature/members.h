// Hashes members of sets to 64 bits (core/hash.h). This is for functions that get the members themselves, not a text.
#pragma once

#include "pg/glue.h"

#include "core/hash.h"

namespace minhash::pg {

// How values of `type` are hashed: as values of the returned type, which is text, smallint, integer, bigint, uuid or
// bytea. An ERROR if values of `type` cannot be members of sets.
Oid member_type(Oid type);

// The hash of a text or a lexeme, whose bytes are in the server's encoding.
std::uint64_t hash_text(std::span<const std::uint8_t> bytes, std::int64_t seed);

inline std::uint64_t hash_bytea(std::span<const std::uint8_t> bytes, std::int64_t seed)
{
    return hash_any_bytes(bytes.data(), bytes.size(), seed);
}

} // namespace minhash::pg
