// Stores values of one type in order of arrival. The engine's stores are used: values are in memory as far as the
// call's budget allows, and otherwise in temporary files. The values of scopes, and the ids of lsh_components(), are
// also numbered: each new value gets the next number.
#pragma once

#include "pg/bulk/host.h"

#include "bulk/components/numbering.h"

namespace minhash::pg {

struct datum_store {
    Oid type; // InvalidOid: the store is not open
    std::int16_t length;
    bool by_value;
    bool plain;               // values are passed by value and none is NULL, so `values` has only Datums
    bulk::byte_store* values; // Datums if `plain`; otherwise a datum_position (datum_store.cpp) for each value
    bulk::byte_store* bytes;
};

datum_store open_datums(bulk::memory_budget& budget, Oid type, bool nulls = true);

// Appends a value. A value that is passed by reference is detoasted and copied.
void append_datum(datum_store& store, Datum value, bool null);

// Prefetches a value of a plain store.
[[gnu::always_inline]] inline void prefetch_datum(const datum_store& store, std::uint32_t ordinal)
{
    const std::uint64_t offset = ordinal * std::uint64_t{sizeof(Datum)};
    if (bulk::in_place(*store.values, offset, sizeof(Datum)))
        __builtin_prefetch(bulk::in_memory(*store.values, offset));
}

// Reads a value of a plain store.
inline Datum fetch_plain(datum_store& store, std::uint32_t ordinal)
{
    Assert(store.plain);
    return bulk::fetch_value<Datum>(*store.values, ordinal);
}

// Reads the value at an ordinal; ordinals are counted from 0. If the type is passed by reference, the result points
// into the store, or to a copy in the current memory context. If the value may be NULL, the caller must give a pointer
// `null`. A plain store has no NULLs, so `*null` is not set.
Datum fetch_datum(datum_store& store, std::uint32_t ordinal, bool* null = nullptr);

struct numbered_values {
    bool plain; // the values are of type bigint
    Oid collation;
    FmgrInfo hash;
    FmgrInfo equal;
    datum_store values; // the ordinal of each value is its number
    bulk::numbering numbers;
};

// Prepares `fresh`, without values. An ERROR if the type has no extended hash function or no equality operator.
void open_numbered(numbered_values& fresh, bulk_host& host, bulk::memory_budget& budget, Oid type);

std::uint32_t hash_of(numbered_values& known, Datum value);

// The number of a value, which must not be NULL; bulk::no_row if it has none. `hash` must be the result of hash_of().
std::uint32_t known_number(numbered_values& known, Datum value, std::uint32_t hash);

// The number of a value, which must not be NULL. A new value is kept, and gets the next number. `hash` must be the
// result of hash_of().
std::uint32_t number_of(numbered_values& known, Datum value, std::uint32_t hash);

} // namespace minhash::pg
