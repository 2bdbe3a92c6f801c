// The band keys of a signature, for all that look rows up by them.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg {

// The key of each band, in new memory; none for the empty set. An ERROR if the signature cannot be
// banded so (core/bands.h). `scope` is the hash of the scope that the keys are for, 0 for none.
std::span<Datum>
make_band_keys(const signature& value, const banding& shape, std::uint64_t scope = 0);

// Whether values of a type can be scopes: their hashes go with their default equality.
bool can_be_scope(Oid type);

// The hash of a scope: by the type's own hash function, as for hash partitions, so that values that
// are equal have equal hashes, whatever their type in a family of operators.
std::uint64_t hash_scope(Oid type, Oid collation, Datum value);

} // namespace minhash::pg
