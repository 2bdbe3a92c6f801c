#include "bulk/sets/text_signer.h"

#include "core/unicode.h"

#include <algorithm>

namespace minhash::bulk {

namespace {

// Cuts the first bytes of `left` into shingles, about `most` bytes, and removes these bytes from `left`. Returns true
// if no bytes are left.
bool cut_next(host_signer& self, text_bytes& left, std::size_t most)
{
    pause(*self.owner);
    std::size_t bytes = std::min(left.size(), most);
    if (bytes < left.size())
        bytes = whole_characters(left.data(), bytes);
    const text_bytes slice = left.first(bytes);
    left = left.subspan(bytes);
    cut(self.cutter, slice.data(), slice.size(), left.empty(), self.batch);
    return left.empty();
}

} // namespace

host_signer* make_signer(host& owner, const scheme& scheme)
{
    // The signer's vectors need a stricter alignment than allocate() promises.
    char* const raw = allocate<char>(owner, sizeof(host_signer) + alignof(host_signer));
    const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(raw) % alignof(host_signer);
    host_signer* const made = reinterpret_cast<host_signer*>(raw + (alignof(host_signer) - past));
    made->owner = &owner;
    made->scheme = scheme;
    made->bag_room = {};
    return made;
}

std::uint32_t* text_source::grow(std::uint32_t* old, std::size_t words)
{
    release(*signer.owner, old);
    return allocate<std::uint32_t>(*signer.owner, words);
}

void text_source::rewind()
{
    left = text;
    start(signer.cutter, signer.scheme.shingles, signer.scheme.seed);
}

bool text_source::next_batch() { return cut_next(signer, left, slice_bytes); }

bool has_shingles(host_signer& self, text_bytes text)
{
    constexpr std::size_t at_once = 32; // one slice of this size is enough for most texts
    start(self.cutter, self.scheme.shingles, self.scheme.seed);
    while (!cut_next(self, text, at_once) && self.batch.count == 0)
        ;
    return self.batch.count > 0;
}

} // namespace minhash::bulk
