#include "pg/arguments.h"
#include "pg/errors.h"
#include "pg/signature/growing_set.h"

#include "core/elements.h"

#include <algorithm>

extern "C" {
#include "utils/memutils.h"
}

namespace minhash::pg {

namespace {

// Precedes the waiting members and the slots in the serialized set.
struct written_head {
    std::uint32_t integers;
    std::uint32_t waiting;
};

std::uint32_t* copy_slots(const growing_set& set, const std::uint32_t* slots)
{
    const std::size_t bytes = set.scheme.num_hashes * sizeof(std::uint32_t);
    const MemoryContext memory = GetMemoryChunkContext(const_cast<growing_set*>(&set));
    return static_cast<std::uint32_t*>(memcpy(MemoryContextAlloc(memory, bytes), slots, bytes));
}

// The signature of all members.
void absorb_all(const growing_set& set, sketch& all)
{
    if (set.slots == nullptr)
        start(all, set.scheme.method, set.scheme.num_hashes);
    else
        resume(all, set.scheme.method, set.scheme.num_hashes, set.slots);

    alignas(64) std::uint32_t lo[most_waiting + padding];
    alignas(64) std::uint32_t hi[most_waiting + padding];
    if (set.integers) {
        alignas(64) std::int64_t values[most_waiting + padding];
        std::copy_n(set.members, set.waiting, values);
        hash_integers(values, set.waiting, set.scheme.seed, lo, hi);
    } else {
        for (std::uint32_t index = 0; index < set.waiting; index++)
            split(set.members[index], lo[index], hi[index]);
    }
    absorb(all, lo, hi, set.waiting);
}

} // namespace

growing_set* make_set(MemoryContext memory, const scheme& scheme, bool integers)
{
    auto* const set = static_cast<growing_set*>(MemoryContextAlloc(memory, sizeof(growing_set)));
    *set = {scheme, integers, 0, first_room, nullptr, nullptr};
    set->members = static_cast<std::uint64_t*>(MemoryContextAlloc(memory, first_room * sizeof(std::uint64_t)));
    return set;
}

void make_room(growing_set& set)
{
    if (set.room < most_waiting) {
        set.room *= 2;
        set.members = static_cast<std::uint64_t*>(repalloc(set.members, set.room * sizeof(std::uint64_t)));
        return;
    }
    Assert(set.waiting == set.room);
    sketch all;
    absorb_all(set, all);
    if (set.slots == nullptr)
        set.slots = copy_slots(set, all.slots);
    else
        std::copy_n(all.slots, set.scheme.num_hashes, set.slots);
    set.waiting = 0;
}

void add(growing_set& set, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count)
{
    for (std::size_t at = 0; at < count;) {
        const std::size_t taken = std::min<std::size_t>(count - at, set.room - set.waiting);
        for (std::size_t index = 0; index < taken; index++)
            set.members[set.waiting + index] = join(lo[at + index], hi[at + index]);
        set.waiting += static_cast<std::uint32_t>(taken);
        at += taken;
        if (set.waiting == set.room)
            make_room(set);
    }
}

void unite(growing_set& set, const growing_set& other)
{
    Assert(set.integers == other.integers && comparable({set.scheme, {}}, {other.scheme, {}}));
    for (std::uint32_t index = 0; index < other.waiting; index++)
        add(set, other.members[index]);
    if (other.slots == nullptr)
        return;
    if (set.slots == nullptr)
        set.slots = copy_slots(set, other.slots);
    else
        merge(set.slots, other.slots, set.scheme.num_hashes, set.slots);
}

Datum sign(const growing_set& set)
{
    sketch all;
    absorb_all(set, all);
    return make_signature({set.scheme, {all.slots, is_empty(all) ? 0u : set.scheme.num_hashes}});
}

bytea* write_set(const growing_set& set)
{
    const written_head head = {set.integers, set.waiting};
    const std::size_t slots = set.slots == nullptr ? 0 : set.scheme.num_hashes;
    const std::size_t members = set.waiting * sizeof(std::uint64_t);
    const std::size_t bytes = VARHDRSZ + sizeof(head) + members + stored_bytes(slots);
    bytea* const written = static_cast<bytea*>(palloc(bytes));
    SET_VARSIZE(written, bytes);
    char* at = VARDATA(written);
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    memcpy(at, set.members, members);
    at += members;
    encode_header(set.scheme, reinterpret_cast<std::uint8_t*>(at));
    if (slots > 0)
        memcpy(at + header_bytes, set.slots, slots * sizeof(std::uint32_t));
    return written;
}

growing_set* read_set(MemoryContext memory, const bytea* written)
{
    const std::size_t bytes = VARSIZE(written) - VARHDRSZ;
    const char* at = VARDATA(written);
    written_head head = {0, 0};
    if (bytes >= sizeof(head))
        memcpy(&head, at, sizeof(head));
    const std::size_t front = sizeof(head) + head.waiting * sizeof(std::uint64_t);
    if (bytes < front || head.integers > 1 || head.waiting >= most_waiting)
        fail_received(status::bad_length, bytes);

    signature rest;
    const status what = decode({reinterpret_cast<const std::uint8_t*>(at) + front, bytes - front}, rest);
    if (what != status::ok || rest.scheme.bits != bits_per_slot)
        fail_received(what == status::ok ? status::bad_bits : what, bytes);
    growing_set* const set = make_set(memory, rest.scheme, head.integers != 0);
    for (std::uint32_t index = 0; index < head.waiting; index++) {
        std::uint64_t member;
        memcpy(&member, at + sizeof(head) + index * sizeof(member), sizeof(member));
        add(*set, member);
    }
    if (!rest.empty())
        set->slots = copy_slots(*set, rest.slots.data());
    return set;
}

} // namespace minhash::pg
