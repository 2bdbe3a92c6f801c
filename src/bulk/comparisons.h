// Pairs of rows verified by a crew: signatures are compared here, and of exact tasks the texts of
// those that may be near wherever a worker is free. Each process keeps the sets of rows, so a row's
// pairs go where the row was compared last, and a worker is sent the texts that it does not have.
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

// A pair that was given to a process.
struct numbered_pair {
    row_pair rows;
    bool answered;
    std::optional<double> similarity; // if it was answered: of near rows
};

// Pairs that wait to be compared while what is read of their rows is fetched from memory, and room
// for them: more, and a power of two.
constexpr std::size_t most_pairs_waiting = 12;
constexpr std::size_t waiting_room = 16;

struct comparisons {
    verifier* check;
    void* taker;
    near_pair_taker take;
    row_pair waiting[waiting_room];
    std::size_t first; // of them; and where the next goes, both counted from the start
    std::size_t next;

    // Where there are workers: of each, its texts (without the texts) and the job that pairs are
    // added to.
    text_ring* sent; // or null
    job* open;
    std::uint8_t* home; // of each row: who compared it last; 0: nobody
    int next_home;      // of rows without, a worker or done_here
    bool is_starving;   // that worker has nothing to do
    std::size_t work;   // bytes of texts compared by anybody since it was chosen

    // Pairs that were given to workers, and those after them, by numbers that count them: a ring.
    numbered_pair* numbered;
    std::size_t room;
    std::uint64_t first_number;
    std::uint64_t next_number;
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
