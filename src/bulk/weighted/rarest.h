// Which shingles of a row are indexed, and the index.
//
// Let b be the norm of row B, and let row A have a norm of at least b. If their similarity reaches the threshold t, the
// shingles that they share have a weight (here always: a sum of w²) of at least t·sqrt(ab), which is at least t·b. So
// at most b - t·b of B's weight is missing in A. Shingles that no other row has are missing for certain. The rest of
// this is the slack of B. There are two ways to choose what is indexed of B.
//
// 1. The rarest shingles of B (Bayardo, Ma, Srikant 2007: All Pairs; Xiao et al. 2008: PPJoin). All rows order their
//    shingles in the same way, the rarest first, and the first shingle that two rows share comes so early in both that
//    the weight from there on can be what they share at least. Only such shingles bring two rows together: those of B
//    within its slack, called its first shingles, and those of A up to a weight that depends on B's norm. For two rows
//    that were brought together, more shingles are counted: all up to where the weight that remains is less than
//    (1 - more_indexed) of what they share at least, in A as in B. So the shingles counted must weigh more_indexed of
//    that at least. With this choice no pair is missed.
// 2. For a row of many shingles, a sample: each draw takes one of the rarest shingles, with the weight W together, in
//    proportion to its weight. A draw is in A with a probability of at least 1 - slack / W, whatever A is, and draws
//    are independent. So the number of draws that are in A follows a binomial distribution, at worst, and at most the
//    share of pairs that may be missed has fewer than `least` of the draws. All shingles of A are looked up for them.
//
// Only the row with the smaller norm is indexed for a pair: a row is looked up among those of smaller norms.
#pragma once

#include "bulk/memory/host.h"

namespace minhash::bulk {

// What is indexed of a row.
struct rare_plan {
    std::uint32_t count; // how many ids; 0: the row cannot be the one with the smaller norm in any pair
    std::uint32_t first; // how many first shingles the ids begin with; 0: the ids are draws, some perhaps repeated
    std::uint32_t least; // how many of the draws a near row has
};

// A near row shares at least a certain weight with the row. This part of that weight is indexed in addition to the
// first shingles. A larger part makes a larger index; with a smaller one, more rows that are not near are compared.
constexpr double more_indexed = 0.5;

// At least this many draws must be in a row that is compared, so that chance alone brings few rows together.
constexpr std::uint32_t least_drawn = 3;

// Scores are rounded, so a row needs only this share of what a near row has.
constexpr double enough_score = 0.999;

// The buffers of choose_rarest(), reused for each row.
struct rare_choice {
    growing<double> sums;
    growing<std::uint32_t> ids;
};

struct rare_wanted {
    double threshold;
    double missed; // the share of pairs that may be missed
    double norm;
    std::uint64_t digest; // gives random numbers, which depend only on the row's shingles
};

// Chooses what is indexed of a row, and writes the ids to choice.ids. The caller has put the sums of the weights of the
// row's list (part.h) into choice.sums: the entry with number i is the weight of the first i + 1 shingles.
rare_plan
choose_rarest(rare_choice& choice, host& owner, std::span<const std::uint64_t> list, const rare_wanted& wanted);

// What an id is in its row. The ids of a bucket are sorted by this.
enum class rare_kind : std::uint32_t { first, drawn, further };

constexpr int kind_shift = 30;
constexpr std::uint32_t most_ordinals = std::uint32_t{1} << kind_shift;

inline rare_kind kind_of(const rare_plan& plan, std::uint32_t number)
{
    return plan.first == 0 ? rare_kind::drawn : number < plan.first ? rare_kind::first : rare_kind::further;
}

// Postings are sorted. Those of first shingles begin at the start of a bucket with the lowest ordinal, and those of
// further ones at the end, so that neither has to be searched for.
inline std::uint32_t make_posting(rare_kind kind, std::uint32_t ordinal)
{
    const std::uint32_t start = static_cast<std::uint32_t>(kind) << kind_shift;
    return kind == rare_kind::further ? start + (most_ordinals - ordinal) : start + ordinal;
}

inline std::uint32_t ordinal_of(rare_kind kind, std::uint32_t posting)
{
    return (kind == rare_kind::further ? -posting : posting) & (most_ordinals - 1);
}

struct rare_index_dimensions {
    std::uint32_t rows;  // the number of rows in the index
    std::uint32_t sides; // 2 if there are two queries: their rows are in separate buckets
    std::uint64_t ids;   // the total number of ids of these rows, less than 2^32
    std::uint64_t drawn; // how many of them are draws
};

// The index: the ordinals of rows, grouped into buckets by the ids that were chosen. A bucket may have several ids, so
// a score may be too high. All arrays are in one block of the caller's memory.
struct index_of_rare {
    rare_index_dimensions dimensions;
    std::size_t mask;
    std::size_t filter_mask;
    std::uint64_t* filter;   // a bit for each id, or for several: whether any row has it. Small enough for the cache
    std::uint32_t* starts;   // where each bucket starts in `postings`, and where the last one ends
    float* needed;           // for each ordinal, the root of its row's norm; or if it has draws, -plan.least
    std::uint32_t* postings; // sorted within a bucket
};

std::size_t index_bytes(const rare_index_dimensions& dimensions) noexcept;
index_of_rare open_index(void* memory, const rare_index_dimensions& dimensions) noexcept;

inline std::size_t bucket_of(const index_of_rare& index, std::uint32_t id, std::uint32_t side) noexcept
{
    return (id & index.mask) * index.dimensions.sides + side;
}

inline void add_to_filter(const index_of_rare& index, std::uint32_t id) noexcept
{
    index.filter[(id & index.filter_mask) >> 6] |= std::uint64_t{1} << (id & 63);
}

inline bool passes_filter(const index_of_rare& index, std::uint32_t id) noexcept
{
    return (index.filter[(id & index.filter_mask) >> 6] >> (id & 63) & 1) != 0;
}

} // namespace minhash::bulk
