// Band keys of a signature, for all code that looks up rows by band keys.
#pragma once

#include "pg/arguments.h"

namespace minhash::pg {

// The key of each band of a signature, in new memory; no keys for the empty set. An ERROR if the signature cannot have
// these bands (core/bands.h).
std::span<Datum> make_band_keys(const signature& value, const banding& banding);

} // namespace minhash::pg
