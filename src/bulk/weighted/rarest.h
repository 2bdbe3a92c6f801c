// Which shingles of a row are indexed, and the index.
//
// Let b be the norm of row B, and let row A have a norm of at least b. If their similarity reaches the threshold t, the
// shingles that they share have a weight (here always: a sum of w²) of at least t·sqrt(ab), which is at least t·b. So
// at most b - t·b of B's weight is missing in A. Shingles that no other row has are missing for certain. The rest of
// this is the slack of B. There are two ways to choose what is indexed of B.
//
// 1. The rarest shingles of B whose weight together is more than the slack: A has some of them (Bayardo, Ma, Srikant
//    2007: All Pairs; Xiao et al. 2008: PPJoin). If more of them are indexed, with weight W, then A has at least
//    W - slack of these, so fewer rows need to be compared. With this choice no pair is missed.
// 2. For a row of many shingles, a sample: each draw takes one of the rarest shingles, with the weight W together, in
//    proportion to its weight. A draw is in A with a probability of at least 1 - slack / W, whatever A is, and draws
//    are independent. So the number of draws that are in A follows a binomial distribution, at worst, and at most the
//    share of pairs that may be missed has fewer than `least` of the draws.
//
// Only the row with the smaller norm is indexed for a pair: rows are looked up in descending order of norms.
#pragma once

#include "bulk/memory/host.h"

namespace minhash::bulk {

// What is indexed of a row.
struct rare_plan {
    std::uint32_t count; // how many ids; 0: the row cannot be the one with the smaller norm in any pair
    bool drawn;          // the ids are draws, some perhaps repeated; false: they are the rarest shingles
    float needed;        // how many draws, or how much weight, a near row has of these
    float rest;          // the weight of the listed shingles that are not indexed; only if not drawn
};

// Scores are rounded, so a row needs only this share of what a near row has.
constexpr float enough_score = 0.999F;

// The largest number for which the chance that fewer than this many of the draws succeed is at most `missed`.
std::uint32_t least_successes(std::uint32_t draws, double chance, double missed) noexcept;

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

struct index_of_rare_shape {
    std::uint32_t places; // the number of rows in the index
    std::uint64_t ids;    // the total number of ids of these rows, less than 2^32
    std::uint32_t sides;  // 2 if there are two queries: their rows are in separate buckets
};

// The index: the places of rows, grouped into buckets by the ids that were chosen. A bucket may have several ids, so a
// score may be too high. All arrays are in one block of the caller's memory.
struct index_of_rare {
    index_of_rare_shape shape;
    std::size_t mask;
    std::uint32_t* starts;   // where each bucket starts in `postings`, and where the last one ends
    float* needed;           // for each place, the score that its row needs to be compared
    std::uint32_t* postings; // places, in ascending order within a bucket; with drawn_mark if they were drawn
};

constexpr std::uint32_t drawn_mark = std::uint32_t{1} << 31;

std::size_t index_bytes(const index_of_rare_shape& shape) noexcept;
index_of_rare open_index(void* memory, const index_of_rare_shape& shape) noexcept;

inline std::size_t bucket_of(const index_of_rare& index, std::uint32_t id, std::uint32_t side) noexcept
{
    return (id & index.mask) * index.shape.sides + side;
}

} // namespace minhash::bulk
