// Pairs of rows verified by a crew: signatures are compared here, and of exact tasks the texts of
// those that may be near wherever a worker is free. A worker keeps texts, and is sent those that it
// does not have.
#pragma once

#include "bulk/verifier.h"

namespace minhash::bulk {

// Takes a near pair and its similarity.
using near_pair_taker = void (*)(void* self, std::uint32_t a, std::uint32_t b, double similarity);

// Two rows.
struct row_pair {
    std::uint32_t a;
    std::uint32_t b;
};

// Pairs that wait to be compared while what is read of their rows is fetched from memory, and room
// for them: more, and a power of two.
constexpr std::size_t most_pairs_waiting = 12;
constexpr std::size_t waiting_room = 16;

struct comparisons {
    verifier* check;
    void* taker;
    near_pair_taker take;
    text_ring* sent; // to each worker; without the texts
    job* open;       // that pairs are added to, or null
    row_pair waiting[waiting_room];
    std::size_t first; // of them; and where the next goes, both counted from the start
    std::size_t next;
};

// Starts comparisons of rows that have all been taken.
void start_comparisons(comparisons& state, verifier& check, void* taker, near_pair_taker take);

// Verifies a pair, perhaps later. Near pairs are taken in the order of these calls.
void verify_later(comparisons& state, std::uint32_t a, std::uint32_t b);

// The same for a pair of an exact task whose signatures say that it may be near.
void compare_later(comparisons& state, std::uint32_t a, std::uint32_t b);

// Waits until all pairs have been verified.
void finish_comparisons(comparisons& state);

// The same, and hands what comes then to another taker: every pair of rows of one scope with its
// similarity, as if all of them were near.
void take_all(comparisons& state, void* taker, near_pair_taker take);

void end_comparisons(comparisons& state);

} // namespace minhash::bulk
