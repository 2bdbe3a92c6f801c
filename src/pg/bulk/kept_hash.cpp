// The hashes by which a refresh of kept clusters finds the rows whose text or signature has changed.
#include "pg/glue.h"

#include "core/hash.h"

namespace minhash::pg {

// _lsh_kept_hash(text, seed), _lsh_kept_hash(signature, seed) -> bigint
MINHASH_FUNCTION(lsh_kept_hash)
{
    const auto bytes = bytes_of(PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0)));
    PG_RETURN_INT64(static_cast<std::int64_t>(hash_any_bytes(bytes.data(), bytes.size(), PG_GETARG_INT64(1))));
}

} // namespace minhash::pg
