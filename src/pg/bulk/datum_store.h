// Values of one type, in the order in which they came, in the engine's stores: in memory within the budget of a call,
// and beyond it in temporary files.
#pragma once

#include "pg/glue.h"

#include "bulk/memory/store.h"

namespace minhash::pg {

struct datum_store {
    Oid type; // InvalidOid: not open
    std::int16_t length;
    bool by_value;
    bool plain;               // by value, without NULLs: `values` has only Datums
    bulk::byte_store* values; // Datums; for types by reference, their places
    bulk::byte_store* bytes;
};

datum_store open_datums(bulk::memory_budget& budget, Oid type, bool nulls = true);

void close_datums(datum_store& store);

// Values by reference are detoasted, and copied.
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
    Datum copy;
    return *static_cast<const Datum*>(
        bulk::fetch(*store.values, place * std::uint64_t{sizeof(copy)}, sizeof(copy), &copy));
}

// The value at a place, from 0 on. If by reference, it lies in the store or in the current context.
Datum fetch_datum(datum_store& store, std::uint32_t place, bool& null);

} // namespace minhash::pg
