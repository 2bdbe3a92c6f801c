// Estimates how many elements a set has from its signature.
#pragma once

#include "core/codec.h"

namespace minhash {

// The maximum-likelihood estimate, which for the method classic is corrected for bias; 0 for the empty set. For large
// sets, the relative standard error is about 1 / sqrt(num_hashes); for small sets signed by the method fss, it is
// smaller. The formulas for k slots are:
//
// Classic: the smallest of n uniform values exceeds x with probability (1 - x)^n. So -log(1 - minimum) is exponentially
// distributed with rate n, and n is estimated as (k - 1) / (the sum of -log(1 - minimum) over all slots) (Cohen 1997,
// "Size-estimation framework").
//
// FSS: in round 0, a slot is hit by n / k elements on average, and its smallest value exceeds x with probability near
// exp(-n x / k). Slots that no element hit are treated as censored at 1. If f slots were hit, n is estimated as k f /
// (the sum of the values of these f slots + k - f).
double estimate_cardinality(const signature& value) noexcept;

} // namespace minhash
