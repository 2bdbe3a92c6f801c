// Signs sets and texts, one after the other with the same memory.
#pragma once

#include "pg/glue.h"

#include "pg/text_reader.h"

#include "core/bag.h"
#include "core/shingle.h"
#include "core/sketch.h"
#include "core/text_batches.h"

namespace minhash::pg {

// Signs a set, whose elements come batch by batch.
struct set_signer {
    minhash::scheme scheme; // what to sign with, set by the owner
    shingle_batch batch;
    sketch slots;
    bag_counter bag;
    std::span<std::uint32_t> bag_room; // a bag uses as much of it as its text needs
    MemoryContext memory;              // of bag_room
};

// Signs texts: reads a text and cuts it into batches of shingles.
struct text_signer : set_signer {
    text_reader reader;
    shingler cutter;
};

// A signer that is kept from call to call at one call site in a query.
template <typename Signer>
struct kept {
    Signer state;
    bool parsed; // the signer has read the arguments, which are the same in each call
};

template <typename Signer>
kept<Signer>& kept_of(FunctionCallInfo fcinfo)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        kept<Signer>* const fresh = allocate<kept<Signer>>(fcinfo->flinfo->fn_mcxt);
        fresh->parsed = false;
        fresh->state.bag_room = {};
        fresh->state.memory = fcinfo->flinfo->fn_mcxt;
        fcinfo->flinfo->fn_extra = fresh;
    }
    return *static_cast<kept<Signer>*>(fcinfo->flinfo->fn_extra);
}

// The arguments num_hashes, shingle_size, unit, fold, bag, seed and method, from `first` on. NULL is the default of
// each.
scheme arg_scheme(FunctionCallInfo fcinfo, int first);

// The same for elements: the arguments num_hashes, seed and method, from `first` on.
scheme arg_element_scheme(FunctionCallInfo fcinfo, int first, bool bag);

// The default scheme of minhash() and minhash_elements().
constexpr scheme default_scheme(shingling shingles)
{
    return {scheme_version, method::fss, bits_per_slot, default_num_hashes, shingles, default_seed};
}

constexpr scheme default_text_scheme = default_scheme(default_shingling);
constexpr scheme default_element_scheme = default_scheme(given_members(false));

// Makes room for the bag of a text of `text_bytes` bytes, or of so many elements, and starts its first pass.
void start_bag(set_signer& state, std::size_t text_bytes);

// Calls take(const shingle_batch&) for all shingles of a detoasted text, or for the numbered occurrences of a bag.
// Occurrences may come more than once.
template <typename Take>
void each_batch(text_signer& state, const text* document, Take&& take)
{
    struct {
        text_reader& reader;
        const text* document;

        void rewind() { open(reader, document); }

        std::span<const std::uint8_t> next() { return read(reader); }

        bool at_end() const { return minhash::pg::at_end(reader); }
    } slices = {state.reader, document};

    if (state.scheme.shingles.bag)
        start_bag(state, VARSIZE_ANY_EXHDR(document));
    minhash::each_batch(state, slices, take);
}

// The slots in state.slots; none for the empty set.
std::span<const std::uint32_t> signed_slots(const set_signer& state);

// Signs a detoasted text into state.slots. Returns its slots, none for the empty set.
std::span<const std::uint32_t> sign(text_signer& state, const text* document);

} // namespace minhash::pg
