#include "pg/arguments.h"
#include "pg/memory.h"
#include "pg/signer.h"

namespace minhash::pg {

namespace {

scheme scheme_of(FunctionCallInfo fcinfo, int num_hashes, int seed, int method)
{
    scheme scheme = default_text_scheme;
    if (!PG_ARGISNULL(num_hashes))
        scheme.num_hashes =
            static_cast<std::uint16_t>(arg_between(fcinfo, num_hashes, "num_hashes", min_num_hashes, max_num_hashes));
    if (!PG_ARGISNULL(seed))
        scheme.seed = PG_GETARG_INT64(seed);
    if (!PG_ARGISNULL(method))
        scheme.method = arg_method(fcinfo, method);
    return scheme;
}

} // namespace

scheme arg_scheme(FunctionCallInfo fcinfo, int first)
{
    scheme scheme = scheme_of(fcinfo, first, first + 5, first + 6);
    scheme.shingles = arg_shingling(fcinfo, first + 1);
    return scheme;
}

scheme arg_element_scheme(FunctionCallInfo fcinfo, int first, bool bag)
{
    scheme scheme = scheme_of(fcinfo, first, first + 1, first + 2);
    scheme.shingles = given_members(bag);
    return scheme;
}

void start_bag(set_signer& state, std::size_t text_bytes)
{
    const std::size_t wanted = minhash::bag_room(text_bytes);
    if (state.bag_room.size() < wanted) {
        if (!state.bag_room.empty())
            pfree(state.bag_room.data());
        state.bag_room = {};
        const std::size_t bytes = wanted * sizeof(std::uint32_t);
        state.bag_room = {static_cast<std::uint32_t*>(allocate_large(state.memory, bytes)), wanted};
    }
    Assert(state.bag_room.size() >= wanted);
    // A small text must not pay for clearing the table of a large one before it.
    start(state.bag, state.bag_room.first(wanted));
}

std::span<const std::uint32_t> signed_slots(const set_signer& state)
{
    return {state.slots.slots, is_empty(state.slots) ? 0u : state.scheme.num_hashes};
}

std::span<const std::uint32_t> sign(text_signer& state, const text* document)
{
    start(state.slots, state.scheme.method, state.scheme.num_hashes);
    each_batch(state, document, [&state](const shingle_batch& batch) {
        absorb(state.slots, batch.lo, batch.hi, batch.count);
    });
    return signed_slots(state);
}

} // namespace minhash::pg
