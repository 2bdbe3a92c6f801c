// Cuts texts in UTF-8 into shingles and signs them, one after the other with the same memory.
#pragma once

#include "bulk/memory/host.h"

#include "core/bag.h"
#include "core/shingle.h"
#include "core/sketch.h"
#include "core/text_batches.h"
#include "core/unicode.h"

#include <algorithm>
#include <span>

namespace minhash::bulk {

using text_bytes = std::span<const std::uint8_t>;

struct text_signer {
    host* owner;
    minhash::scheme scheme;
    shingler cutter;
    shingle_batch batch;
    sketch slots;
    bag_counter bag;
    std::span<std::uint32_t> bag_room; // a bag uses as much of it as its text needs
};

text_signer* make_signer(host& owner, const scheme& scheme);

void start_bag(text_signer& state, std::size_t bytes);

// Calls take(const shingle_batch&) for all shingles of a text, or for the numbered occurrences of a bag. Occurrences
// may come more than once.
template <typename Take>
void each_batch(text_signer& state, text_bytes text, Take&& take)
{
    struct {
        host& asked;
        text_bytes all;
        text_bytes left;

        void rewind() { left = all; }

        text_bytes next()
        {
            pause(asked);
            std::size_t bytes = std::min(left.size(), slice_bytes);
            if (bytes < left.size())
                bytes = whole_characters(left.data(), bytes);
            const text_bytes slice = left.first(bytes);
            left = left.subspan(bytes);
            return slice;
        }

        bool at_end() const { return left.empty(); }
    } slices = {*state.owner, text, text};

    if (state.scheme.shingles.bag)
        start_bag(state, text.size());
    minhash::each_batch(state, slices, take);
}

// Whether a text has any shingle, so that its signature is not that of the empty set.
bool has_shingles(text_signer& state, text_bytes text);

// The slots of a text's signature, which lie in state.slots; none for the empty set.
std::span<const std::uint32_t> sign(text_signer& state, text_bytes text);

} // namespace minhash::bulk
