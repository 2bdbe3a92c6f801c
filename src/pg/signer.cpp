#include "pg/signer.h"

namespace minhash::pg {

kept_signer& kept_signer_of(FunctionCallInfo fcinfo)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        kept_signer* const fresh = allocate<kept_signer>(fcinfo->flinfo->fn_mcxt);
        fresh->parsed = false;
        fresh->state.bag_room = {};
        fresh->state.memory = fcinfo->flinfo->fn_mcxt;
        fcinfo->flinfo->fn_extra = fresh;
    }
    return *static_cast<kept_signer*>(fcinfo->flinfo->fn_extra);
}

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

scheme arg_element_scheme(FunctionCallInfo fcinfo, int first, bool bag)
{
    const int num_hashes = arg_between(fcinfo, first, "num_hashes", min_num_hashes, max_num_hashes);
    return {
        .version = scheme_version,
        .made_by = arg_method(fcinfo, first + 2),
        .bits = bits_per_slot,
        .num_hashes = static_cast<std::uint16_t>(num_hashes),
        .shingles = given_members(bag),
        .seed = PG_GETARG_INT64(first + 1),
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

std::span<const std::uint32_t> signed_slots(const signer& state)
{
    return {state.slots.slots, is_empty(state.slots) ? 0u : state.made.num_hashes};
}

std::span<const std::uint32_t> sign(signer& state, const text* document)
{
    start(state.slots, state.made.made_by, state.made.num_hashes);
    each_batch(state, document, [&state](const shingle_batch& batch) {
        absorb(state.slots, batch.lo, batch.hi, batch.count);
    });
    return signed_slots(state);
}

} // namespace minhash::pg
