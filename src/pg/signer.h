// Signs sets and texts, one after another, and reuses the same memory for all of them.
#pragma once

#include "pg/glue.h"

#include "pg/text_reader.h"

#include "core/signer.h"

namespace minhash::pg {

struct sql_signer : text_signer {
    MemoryContext memory; // memory for bags
    text_reader reader;
};

// A signer that is kept from call to call at one call site in a query.
template <typename Signer>
struct kept {
    Signer signer;
    bool parsed; // the arguments have been read; they are the same in each call
};

template <typename Signer>
kept<Signer>& kept_of(FunctionCallInfo fcinfo)
{
    if (fcinfo->flinfo->fn_extra == nullptr) {
        kept<Signer>* const fresh = allocate<kept<Signer>>(fcinfo->flinfo->fn_mcxt);
        fresh->parsed = false;
        fresh->signer.bag_room = {};
        fresh->signer.memory = fcinfo->flinfo->fn_mcxt;
        fcinfo->flinfo->fn_extra = fresh;
    }
    return *static_cast<kept<Signer>*>(fcinfo->flinfo->fn_extra);
}

// Reads a scheme from the arguments num_hashes, shingle_size, unit, fold, bag, seed and method. `first` is the position
// of num_hashes, and the others follow it. A NULL argument stands for its default.
scheme arg_scheme(FunctionCallInfo fcinfo, int first);

// Like arg_scheme(), but for elements: reads only the arguments num_hashes, seed and method.
scheme arg_element_scheme(FunctionCallInfo fcinfo, int first, bool bag);

// The default scheme of minhash() and minhash_elements().
constexpr scheme default_scheme(shingling shingles)
{
    return {scheme_version, method::fss, bits_per_slot, default_num_hashes, shingles, default_seed};
}

constexpr scheme default_text_scheme = default_scheme(default_shingling);
constexpr scheme default_element_scheme = default_scheme(given_members(false));

// Replaces the memory for bags (core/signer.h).
std::uint32_t* grow_bag(MemoryContext memory, std::uint32_t* old, std::size_t words);

// A detoasted text as a source for each_batch() and sign().
struct text_source {
    sql_signer& signer;
    const text* document;

    std::size_t bytes() const { return VARSIZE_ANY_EXHDR(document); }

    std::uint32_t* grow(std::uint32_t* old, std::size_t words) const { return grow_bag(signer.memory, old, words); }

    void rewind() const;
    bool next_batch() const;
};

} // namespace minhash::pg
