// A set as an aggregate collects it. A query may have a million of them: one of few members holds
// these, and only one of many their signature.
#pragma once

#include "pg/glue.h"

#include "core/sketch.h"

namespace minhash::pg {

constexpr std::uint32_t first_room = 16;
constexpr std::uint32_t most_waiting = 1024;

struct growing_set {
    minhash::scheme scheme;
    bool integers;          // what waits are integers, to be hashed together; else hashes
    std::uint32_t waiting;  // members that the slots do not have yet
    std::uint32_t room;     // of `members`, always more than are waiting
    std::uint64_t* members; // that wait
    std::uint32_t* slots;   // of all other members, null as long as there are none
};

// The empty set, in the given memory.
growing_set* make_set(MemoryContext memory, const scheme& scheme, bool integers);

// Makes room where there is none left.
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

// The signature. The set stays as it is.
Datum sign(const growing_set& set);

// The set as bytes for another process, and back; an ERROR if they are damaged.
bytea* write_set(const growing_set& set);
growing_set* read_set(MemoryContext memory, const bytea* written);

} // namespace minhash::pg
