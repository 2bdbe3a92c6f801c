#include "bulk/tuning/sample.h"

#include "core/compress.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

row_sample start_sample(host& owner, const scheme& scheme)
{
    row_sample fresh = {};
    fresh.owner = &owner;
    fresh.scheme = scheme;
    fresh.scheme.num_hashes = std::min(scheme.num_hashes, most_sampled_slots);
    return fresh;
}

void add_to_sample(row_sample& sample, const signature& value)
{
    if (value.empty())
        return;
    assert(sample.count < most_sampled && value.scheme.bits == sample.scheme.bits &&
           value.scheme.num_hashes >= sample.scheme.num_hashes);
    const std::size_t bytes = slot_bytes(sample.scheme.bits, sample.scheme.num_hashes);
    const std::size_t before = sample.count * bytes;
    grow(*sample.owner, sample.slots, before, before + bytes);
    std::memcpy(sample.slots.values + before, value.stored_slots().data(), bytes);
    sample.count++;
}

agreement_counts tally_agreements(const row_sample& sample, sampled_counts& counts)
{
    const scheme& scheme = sample.scheme;
    const std::size_t bytes = slot_bytes(scheme.bits, scheme.num_hashes);
    counts = {};
    for (std::uint32_t a = 0; a < sample.count; a++) {
        pause(*sample.owner);
        const std::uint8_t* const slots = sample.slots.values + a * bytes;
        for (std::uint32_t b = 0; b < a; b++)
            counts[count_equal(scheme, slots, sample.slots.values + b * bytes)]++;
    }
    counts[scheme.num_hashes] = 0;
    return agreement_counts(counts).first(scheme.num_hashes + std::size_t{1});
}

} // namespace minhash::bulk
