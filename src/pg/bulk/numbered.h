// Numbers values of one type, ids of pairs or scopes, in the order in which they first come.
#pragma once

#include "pg/bulk/datum_store.h"
#include "pg/bulk/host.h"

#include "bulk/components/numbering.h"

namespace minhash::pg {

struct numbered_values {
    bool plain; // of type bigint
    Oid collation;
    FmgrInfo hash;
    FmgrInfo equal;
    datum_store values; // by their numbers
    bulk::numbering numbers;
};

// Starts without values. An ERROR if the type has no hash function.
void open_numbered(numbered_values& fresh, bulk_host& host, bulk::memory_budget& budget, Oid type);

std::uint32_t hash_of(numbered_values& known, Datum value);

// The number of a value that is not null. A new value is kept, and its number is how many values there were before.
std::uint32_t number_of(numbered_values& known, Datum value, std::uint32_t hash);

} // namespace minhash::pg
