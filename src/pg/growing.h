// An array that grows, in the memory context that is current when start() is called. (The engine has a growing array of
// its own, in bulk/memory/host.h. That array's memory comes from the host of the engine, which counts the memory and
// can refuse to give more.)
#pragma once

#include "pg/glue.h"

#include <algorithm>
#include <functional>
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

    // Adds `more` values, which the caller must set, and returns the first of them.
    Value* extend(std::size_t more)
    {
        Assert(at != nullptr && count <= room);
        if (count + more > room) {
            room = std::max(2 * room, count + more);
            at = static_cast<Value*>(repalloc_huge(at, room * sizeof(Value)));
        }
        count += more;
        return at + count - more;
    }

    Value* begin() const { return at; }

    Value* end() const { return at + count; }
};

// Sorts arrays that may be as large as a table, with checks for cancel.
template <typename Value, typename Less = std::less<Value>>
void sort_answering(std::span<Value> values, Less less = {})
{
    constexpr std::size_t at_once = 32768;
    if (values.size() <= at_once) {
        std::sort(values.begin(), values.end(), less);
        return;
    }
    const auto compare = [](const void* left, const void* right, void* argument) {
        const Less& before = *static_cast<const Less*>(argument);
        const Value& a = *static_cast<const Value*>(left);
        const Value& b = *static_cast<const Value*>(right);
        return before(a, b) ? -1 : static_cast<int>(before(b, a));
    };
    qsort_interruptible(values.data(), values.size(), sizeof(Value), compare, &less);
}

} // namespace minhash::pg
