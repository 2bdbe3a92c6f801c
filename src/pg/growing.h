// An array that grows, in the memory context that is current when it starts. (The engine has one of its own,
// bulk/memory/host.h: its memory is its host's, which counts it and can refuse it.)
#pragma once

#include "pg/glue.h"

#include <type_traits>

namespace minhash::pg {

template <typename Value>
struct growing {
    static_assert(std::is_trivially_copyable_v<Value>);

    Value* at = nullptr;
    std::size_t count = 0;
    std::size_t room = 0;

    void start(std::size_t first_room)
    {
        room = first_room > 0 ? first_room : 1;
        count = 0;
        at = static_cast<Value*>(MemoryContextAllocHuge(CurrentMemoryContext, room * sizeof(Value)));
    }

    void add(const Value& value)
    {
        Assert(at != nullptr && count <= room);
        if (count == room) {
            room *= 2;
            at = static_cast<Value*>(repalloc_huge(at, room * sizeof(Value)));
        }
        at[count++] = value;
    }
};

} // namespace minhash::pg
