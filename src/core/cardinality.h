// Estimates the number of elements in a set from its signature.
#pragma once

#include "core/codec.h"

namespace minhash {

// The maximum-likelihood estimate; 0 for the empty set. For large sets, the relative standard error is about
// 1 / sqrt(num_hashes); for small sets and the method fss, it is less. The formulas, for k slots:
//
// Classic: the smallest of n uniform values exceeds x with probability (1 - x)^n. So -log(1 - minimum) is exponential
// with rate n, and n is (k - 1) / (the sum of these logarithms) (Cohen 1997, "Size-estimation framework").
//
// FSS: in round 0 a slot sees n / k elements on average, and its smallest value exceeds x with probability near
// exp(-n x / k). Slots that no element hit are censored at 1. If f slots were hit,
// n is k f / (the sum of the values of these f slots + k - f).
double estimate_cardinality(const signature& value) noexcept;

} // namespace minhash
