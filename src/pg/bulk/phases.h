// The phases of calls, in the order in which they are reported, from which a call's progress has the number of a phase
// (pg/progress.h). A call skips a phase if there is nothing to do in it, and repeats the last two of some if its index
// does not fit into memory. (The phases of tables that are larger than memory are not among them.)
#pragma once

namespace minhash::pg {

inline constexpr const char* pair_phases[] = {
    "reading rows",
    "signing rows",
    "looking for rows that are the same",
    "looking for candidates",
    "verifying candidates",
    "returning pairs of equal rows",
    "returning pairs",
};

inline constexpr const char* cluster_phases[] = {
    "reading rows",
    "signing rows",
    "looking for rows that are the same",
    "looking for candidates",
    "verifying large buckets",
    "verifying candidates",
};

inline constexpr const char* weighted_phases[] = {
    "reading rows",
    "counting shingles",
    "weighing shingles",
    "looking for rows that are the same",
    "making the index of rare shingles",
    "looking for near rows",
};

inline constexpr const char* contained_phases[] = {
    "reading rows",
    "marking the shingles to count",
    "counting shingles",
    "choosing witnesses of rows",
    "looking for rows that are the same",
    "making the index of witnesses",
    "looking for rows within others",
};

} // namespace minhash::pg
