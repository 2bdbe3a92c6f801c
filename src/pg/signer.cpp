#include "pg/signer.h"

namespace minhash::pg {

scheme arg_scheme(FunctionCallInfo fcinfo, int first)
{
    const int num_hashes = arg_between(fcinfo, first, "num_hashes", min_num_hashes, max_num_hashes);
    return {
        .version = scheme_version,
        .made_by = arg_method(fcinfo, first + 6),
        .bits = bits_per_slot,
        .num_hashes = static_cast<std::uint16_t>(num_hashes),
        .shingles = arg_shingling(fcinfo, first + 1),
        .seed = PG_GETARG_INT64(first + 5),
    };
}

void start_bag(signer& state, std::size_t text_bytes)
{
    const std::size_t wanted = bag_table_size(text_bytes);
    if (state.bag_room.size() < wanted) {
        if (!state.bag_room.empty())
            pfree(state.bag_room.data());
        state.bag_room = {};
        const std::size_t bytes = wanted * sizeof(bag_entry);
        state.bag_room = {static_cast<bag_entry*>(MemoryContextAlloc(state.memory, bytes)), wanted};
    }
    // A small text must not pay for the table of a large one before it.
    start(state.bag, state.bag_room.first(wanted));
}

std::span<const std::uint32_t> sign(signer& state, const text* document)
{
    start(state.slots, state.made.made_by, state.made.num_hashes);
    each_batch(state, document, [&state](const shingle_batch& batch) {
        absorb(state.slots, batch.lo, batch.hi, batch.count);
    });
    const std::size_t slots = is_empty(state.slots) ? 0 : state.made.num_hashes;
    return {state.slots.slots, slots};
}

} // namespace minhash::pg
