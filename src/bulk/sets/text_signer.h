// Signs texts in UTF-8, using a host's memory (core/signer.h).
#pragma once

#include "bulk/memory/host.h"

#include "core/signer.h"

#include <span>

namespace minhash::bulk {

using text_bytes = std::span<const std::uint8_t>;

struct host_signer : text_signer {
    host* owner;
};

host_signer* make_signer(host& owner, const scheme& scheme);

// A text as a source for each_batch() and sign().
struct text_source {
    host_signer& signer;
    text_bytes text;
    text_bytes left;

    std::size_t bytes() const { return text.size(); }

    std::uint32_t* grow(std::uint32_t* old, std::size_t words);
    void rewind();
    bool next_batch();
};

inline text_source source_of(host_signer& self, text_bytes text) { return {self, text, text}; }

// Whether a text has any shingles. If it has none, its signature is the signature of the empty set.
bool has_shingles(host_signer& self, text_bytes text);

} // namespace minhash::bulk
