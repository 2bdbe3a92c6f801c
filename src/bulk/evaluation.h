// How well bands and rows would do on a user's own texts: all pairs of a sample are compared
// exactly, and each setting is asked which of them it would have found.
//
// The elements of all texts are sorted, so that each text meets the texts that share an element
// with it, and counts how many they share: what is compared grows with what texts have in common.
#pragma once

#include "bulk/rows.h"

namespace minhash::bulk {

// Bands and rows, and what they did.
struct setting {
    band_choice shape;
    std::uint64_t candidates; // pairs that share a band
    std::uint64_t found;      // of them, those that reach the threshold
    double predicted;         // how many of the true pairs would be found on average
};

// Compares all pairs of the rows of an exact task, and fills the settings' results. Returns the
// number of pairs that reach the threshold.
std::uint64_t evaluate(row_set& rows, std::span<setting> settings);

} // namespace minhash::bulk
