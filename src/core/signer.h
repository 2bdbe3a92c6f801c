// Signs sets one after another, in the same memory. Their members come in batches. The caller provides the memory and
// the source of the members.
#pragma once

#include "core/bag.h"
#include "core/shingle.h"
#include "core/sketch.h"

#include <cstdint>
#include <span>
#include <utility>

namespace minhash {

struct set_signer {
    minhash::scheme scheme; // how to sign; set by the owner
    shingle_batch batch;
    sketch slots;
    bag_counter bag;
    std::span<std::uint32_t> bag_room; // memory for counting bags; each bag uses only as much as its members need
};

// A signer of texts, which are cut into batches of shingles.
struct text_signer : set_signer {
    shingler cutter;
};

// Calls take(const shingle_batch&) for batches of all members of a set or, for a bag, of all numbered occurrences, some
// of which may come more than once. source.signer is a set_signer. source.rewind() goes back to the first member.
// source.next_batch() puts the next batch into signer.batch and returns whether it is the last. Only for bags:
// source.bytes() is the length of the text or the number of elements, and source.grow(old, words) replaces the memory
// for counting with a new one of `words` 32-bit words, and returns it.
template <typename Source, typename Take>
void each_batch(Source source, Take&& take)
{
    set_signer& self = source.signer;
    const bool bag = self.scheme.shingles.bag;
    if (bag) {
        const std::size_t wanted = bag_room(source.bytes());
        if (self.bag_room.size() < wanted) {
            std::uint32_t* const old = std::exchange(self.bag_room, {}).data();
            self.bag_room = {source.grow(old, wanted), wanted};
        }
        // Use no more memory than this bag needs: clearing a table that was sized for a larger bag would take too long.
        start(self.bag, self.bag_room.first(wanted));
    }
    do {
        source.rewind();
        bool last;
        do {
            last = source.next_batch();
            if (!bag || number_occurrences(self.bag, self.batch))
                take(self.batch);
        } while (!last && !(bag && self.bag.overflowed));
    } while (bag && start_next_pass(self.bag));
}

// The slots in self.slots, or none for the empty set.
inline std::span<const std::uint32_t> signed_slots(const set_signer& self)
{
    return {self.slots.slots, is_empty(self.slots) ? 0u : self.scheme.num_hashes};
}

// Signs the set into source.signer.slots. Returns its slots, or none for the empty set.
template <typename Source>
std::span<const std::uint32_t> sign(Source source)
{
    set_signer& self = source.signer;
    start(self.slots, self.scheme.method, self.scheme.num_hashes);
    each_batch(source, [&self](const shingle_batch& batch) { absorb(self.slots, batch.lo, batch.hi, batch.count); });
    return signed_slots(self);
}

} // namespace minhash
