// Every file of the glue (the directory pg) includes this header. The header includes the two PostgreSQL headers that
// all files need, and defines the macro for functions that SQL can call. Each file itself includes any other PostgreSQL
// headers that it needs. Nothing in the glue has a destructor, because PostgreSQL's errors leave functions by
// longjmp().
#pragma once

// Standard headers first: PostgreSQL's port.h redefines printf and its relatives.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

extern "C" {
#include "postgres.h"

#include "fmgr.h"
}

#include "pg/compat.h"

// Defines a function that SQL can call; `name` is its C symbol. This symbol, and the symbol of the pg_finfo function
// that describes it, are exported whatever -fvisibility says.
#define MINHASH_FUNCTION(name)                                                                                         \
    extern "C" {                                                                                                       \
    [[gnu::visibility("default")]] const Pg_finfo_record* pg_finfo_##name();                                           \
    [[gnu::visibility("default")]] Datum name(PG_FUNCTION_ARGS);                                                       \
    const Pg_finfo_record* pg_finfo_##name()                                                                           \
    {                                                                                                                  \
        static const Pg_finfo_record info = {1};                                                                       \
        return &info;                                                                                                  \
    }                                                                                                                  \
    }                                                                                                                  \
    Datum name(PG_FUNCTION_ARGS)

namespace minhash::pg {

// Memory in this context for a Value, which may need a stricter alignment than MAXALIGN.
template <typename Value>
Value* allocate(MemoryContext context)
{
    char* const raw = static_cast<char*>(MemoryContextAlloc(context, sizeof(Value) + alignof(Value)));
    return reinterpret_cast<Value*>(TYPEALIGN(alignof(Value), raw));
}

// The bytes of a detoasted value.
inline std::span<const std::uint8_t> bytes_of(const struct varlena* value)
{
    return {reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(value)), VARSIZE_ANY_EXHDR(value)};
}

} // namespace minhash::pg
