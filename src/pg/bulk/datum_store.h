// Values of one type, in order of arrival, in the engine's stores: in memory within the budget of a call, and otherwise
// in temporary files. Ids of pairs and scopes are numbered in order of first appearance.
#pragma once

#include "pg/bulk/host.h"

#include "bulk/components/numbering.h"

namespace minhash::pg {

struct datum_store {
    Oid type; // InvalidOid: not open
    std::int16_t length;
    bool by_value;
    bool plain;               // values are passed by value, none is NULL: `values` has only Datums
    bulk::byte_store* values; // Datums; for types passed by reference, the places of values
    bulk::byte_store* bytes;
};

datum_store open_datums(bulk::memory_budget& budget, Oid type, bool nulls = true);

// Values that are passed by reference are detoasted and copied.
void append_datum(datum_store& store, Datum value, bool null);

// Prefetches a value of a plain store.
[[gnu::always_inline]] inline void prefetch_datum(const datum_store& store, std::uint32_t place)
{
    const std::uint64_t offset = place * std::uint64_t{sizeof(Datum)};
    if (bulk::in_place(*store.values, offset, sizeof(Datum)))
        __builtin_prefetch(bulk::in_memory(*store.values, offset));
}

// A value of a plain store.
inline Datum fetch_plain(datum_store& store, std::uint32_t place)
{
    Assert(store.plain);
    return bulk::fetch_value<Datum>(*store.values, place);
}

// The value at a place, from 0 on. A value that is passed by reference lies in the store or in the current context.
// `null` must be given if the value may be NULL; in a plain store none is.
Datum fetch_datum(datum_store& store, std::uint32_t place, bool* null = nullptr);

struct numbered_values {
    bool plain; // the values are of type bigint
    Oid collation;
    FmgrInfo hash;
    FmgrInfo equal;
    datum_store values; // each value at its number
    bulk::numbering numbers;
};

// Starts without values. An ERROR if the type has no hash function.
void open_numbered(numbered_values& fresh, bulk_host& host, bulk::memory_budget& budget, Oid type);

std::uint32_t hash_of(numbered_values& known, Datum value);

// The number of a value that is not null. A new value is kept, and gets the number of values that were there before.
std::uint32_t number_of(numbered_values& known, Datum value, std::uint32_t hash);

} // namespace minhash::pg
