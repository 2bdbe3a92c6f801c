#include "bulk/sets/text_signer.h"

namespace minhash::bulk {

text_signer* make_signer(host& owner, const scheme& scheme)
{
    // Its vectors need a stricter alignment than allocate() promises.
    char* const raw = allocate<char>(owner, sizeof(text_signer) + alignof(text_signer));
    const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(raw) % alignof(text_signer);
    text_signer* const made = reinterpret_cast<text_signer*>(raw + (alignof(text_signer) - past));
    made->owner = &owner;
    made->scheme = scheme;
    made->bag_room = {};
    return made;
}

void start_bag(text_signer& state, std::size_t bytes)
{
    const std::size_t wanted = minhash::bag_room(bytes);
    if (state.bag_room.size() < wanted) {
        release(*state.owner, state.bag_room.data());
        state.bag_room = {};
        state.bag_room = {allocate<std::uint32_t>(*state.owner, wanted), wanted};
    }
    // A small text must not pay for clearing the table of a large one before it.
    start(state.bag, state.bag_room.first(wanted));
}

bool has_shingles(text_signer& state, text_bytes text)
{
    constexpr std::size_t at_once = 32; // one slice is enough for most texts
    start(state.cutter, state.scheme.shingles, state.scheme.seed);
    do {
        pause(*state.owner);
        std::size_t bytes = std::min(text.size(), at_once);
        if (bytes < text.size())
            bytes = whole_characters(text.data(), bytes);
        cut(state.cutter, text.data(), bytes, bytes == text.size(), state.batch);
        text = text.subspan(bytes);
    } while (state.batch.count == 0 && !text.empty());
    return state.batch.count > 0;
}

std::span<const std::uint32_t> sign(text_signer& state, text_bytes text)
{
    start(state.slots, state.scheme.method, state.scheme.num_hashes);
    each_batch(state, text, [&state](const shingle_batch& batch) {
        absorb(state.slots, batch.lo, batch.hi, batch.count);
    });
    return {state.slots.slots, is_empty(state.slots) ? 0u : state.scheme.num_hashes};
}

} // namespace minhash::bulk
