#include "bulk/buckets/grouping.h"

namespace minhash::bulk {

void start_grouping(grouping& fresh, host& owner, std::size_t rows)
{
    fresh = {};
    fresh.owner = &owner;
    fresh.bits = partition_bits(rows);
    fresh.starts = allocate<std::uint32_t>(owner, partition_count(fresh) + 2);
}

void enlarge_room(grouping& state, std::size_t entries)
{
    if (entries <= state.room_entries)
        return;
    host& owner = *state.owner;
    for (std::uint32_t* const memory : {state.room.table, state.room.next, state.room.shared, state.room.rows})
        release(owner, memory);
    const std::size_t room = entries + entries / 4;
    state.room.table = allocate<std::uint32_t>(owner, bucket_table_size(room));
    state.room.next = allocate<std::uint32_t>(owner, room);
    state.room.shared = allocate<std::uint32_t>(owner, room);
    state.room.rows = allocate<std::uint32_t>(owner, room);
    state.room_entries = room;
}

} // namespace minhash::bulk
