// Signatures of some rows, from which the similarities of all pairs are estimated (choose_bands.h).
#pragma once

#include "bulk/memory/host.h"
#include "bulk/tuning/choose_bands.h"

#include "core/codec.h"

#include <array>

namespace minhash::bulk {

// The size of a sample: a larger one would take more time than its better choice saves.
constexpr std::uint32_t most_sampled = 1000;

// Only this many slots of a signature are compared, the first ones.
constexpr std::uint16_t most_sampled_slots = 128;

using sampled_counts = std::array<std::uint64_t, most_sampled_slots + 1>;

struct row_sample {
    host* owner;
    minhash::scheme scheme; // of the slots compared
    std::uint32_t count;
    growing<std::uint8_t> slots;
};

// Starts a sample, without rows, of signatures of one scheme.
row_sample start_sample(host& owner, const scheme& scheme);

// Adds a signature of the sample's scheme. The empty set is left out.
void add_to_sample(row_sample& sample, const signature& value);

// How many pairs agree in 0, 1, ... slots. The result lies in `counts`. Pairs that agree in all slots do not count,
// because one of several equal rows stands for all.
agreement_counts tally_agreements(const row_sample& sample, sampled_counts& counts);

} // namespace minhash::bulk
