// Cuts a text that comes in slices into batches of shingles: the loop that all signers of texts share, whoever owns
// their memory.
#pragma once

#include "core/bag.h"
#include "core/shingle.h"

#include <cstdint>
#include <span>

namespace minhash {

// Calls take(const shingle_batch&) for all shingles of a text, or for the numbered occurrences of a bag, which may come
// more than once. `state` has the members scheme, cutter, batch and bag; for bags, state.bag must be started.
// slices.rewind() goes back to the first slice, next() returns a slice, and at_end() says whether it was the last.
template <typename Signer, typename Slices, typename Take>
void each_batch(Signer& state, Slices slices, Take&& take)
{
    const bool bag = state.scheme.shingles.bag;
    do {
        slices.rewind();
        start(state.cutter, state.scheme.shingles, state.scheme.seed);
        do {
            const std::span<const std::uint8_t> slice = slices.next();
            cut(state.cutter, slice.data(), slice.size(), slices.at_end(), state.batch);
            if (bag)
                each_occurrence(state.bag, slices.at_end(), state.batch, take);
            else
                take(state.batch);
        } while (!slices.at_end() && !(bag && state.bag.overflowed));
    } while (bag && start_next_pass(state.bag));
}

} // namespace minhash
