// A set that an aggregate collects. A query may have a million of them, so a small set just holds its members, and only
// a large one has a signature.
#pragma once

#include "pg/glue.h"

#include "core/sketch.h"

namespace minhash::pg {

constexpr std::uint32_t first_room = 16;
constexpr std::uint32_t most_waiting = 1024;

struct growing_set {
    minhash::scheme scheme;
    bool integers;          // waiting members are integers, not hashed yet
    std::uint32_t waiting;  // how many members the slots lack yet
    std::uint32_t room;     // of `members`, always more than are waiting
    std::uint64_t* members; // that wait
    std::uint32_t* slots;   // of all other members; null if there are none
};

// The empty set, in the given memory.
growing_set* make_set(MemoryContext memory, const scheme& scheme, bool integers);

// Makes room for more waiting members.
void make_room(growing_set& set);

inline void add(growing_set& set, std::uint64_t member)
{
    set.members[set.waiting++] = member;
    if (set.waiting == set.room)
        make_room(set);
}

// Adds hashes, given by their halves.
void add(growing_set& set, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count);

// Adds the members of another set of the same scheme.
void unite(growing_set& set, const growing_set& other);

// Makes the signature. Does not change the set.
Datum sign(const growing_set& set);

// Serializes the set for another process, and reads it back; an ERROR if the bytes are damaged.
bytea* write_set(const growing_set& set);
growing_set* read_set(MemoryContext memory, const bytea* written);

} // namespace minhash::pg
