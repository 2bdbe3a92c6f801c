// How many elements a set has, from its signature.
#pragma once

#include "core/codec.h"

namespace minhash {

// The maximum-likelihood estimate; 0 for the empty set. The relative standard error is about
// 1 / sqrt(num_hashes) for large sets, and less for small ones with FSS.
//
// Classic: the smallest of n uniform values exceeds x with probability (1 - x)^n, so
// -log(1 - minimum) is exponential with rate n, and n is (k - 1) / sum (Cohen 1997,
// "Size-estimation framework").
//
// FSS: in round 0 a slot sees n / k elements on average, and its smallest value exceeds x with probability near exp(-n
// x / k); slots that no element hit are censored at 1. With f slots hit,
// n is k f / (sum of their values + k - f).
double estimate_cardinality(const signature& value) noexcept;

} // namespace minhash
