#include "bulk/buckets/grouping.h"

namespace minhash::bulk {

namespace {

void free_room(grouping& state)
{
    for (std::uint32_t* const memory : {state.room.table, state.room.next, state.room.shared, state.room.rows})
        release(*state.owner, memory);
    state.room = {};
}

} // namespace

void start_grouping(grouping& fresh, host& owner, std::size_t rows)
{
    fresh = {};
    fresh.owner = &owner;
    fresh.bits = partition_bits(rows);
    fresh.starts = allocate<std::uint32_t>(owner, partition_count(fresh) + 2);
}

void end_grouping(grouping& state)
{
    free_room(state);
    release(*state.owner, state.entries.values);
    release(*state.owner, state.starts);
}

void enlarge_room(grouping& state, std::size_t entries)
{
    if (entries <= state.room_entries)
        return;
    free_room(state);
    host& owner = *state.owner;
    const std::size_t room = entries + entries / 4;
    state.room.table = allocate<std::uint32_t>(owner, bucket_table_size(room));
    state.room.next = allocate<std::uint32_t>(owner, room);
    state.room.shared = allocate<std::uint32_t>(owner, room);
    state.room.rows = allocate<std::uint32_t>(owner, room);
    state.room_entries = room;
}

} // namespace minhash::bulk
