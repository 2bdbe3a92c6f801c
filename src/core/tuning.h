// The S-curve of LSH banding, and its use for choosing bands and rows (Leskovec, Rajaraman, Ullman: Mining of Massive
// Datasets, section 3.4).
#pragma once

namespace minhash {

// The probability that two sets of the given Jaccard similarity agree in all rows of at least one band. It is 1 - (1 -
// similarity^rows)^bands.
double band_probability(double similarity, int bands, int rows) noexcept;

// The rule of thumb for the similarity at which the curve rises: (1/bands)^(1/rows).
double threshold_rule(int bands, int rows) noexcept;

// The curve's inflection point, where it is steepest: ((rows - 1) / (bands * rows - 1))^(1/rows). With one row, the
// curve is steepest at 0.
double steepest_point(int bands, int rows) noexcept;

// The standard error of a similarity that is estimated from independent slots of `bits` bits. The share P of equal
// slots has the standard error sqrt(P (1 - P) / num_hashes). At 32 bits, P is the similarity; at fewer bits, the error
// is divided by 1 - 2^-bits (compress.h).
double standard_error(double similarity, int num_hashes, int bits = 32) noexcept;

// The largest number such that all pairs of sets with this Jaccard similarity, apart from a share of at most
// share_missed, have at least as many equal slots. It is a quantile of the binomial distribution, which is skewed near
// 0 and 1; so it also says how many of some draws succeed, if each does with this probability.
int least_agreement(double similarity, int num_hashes, double share_missed) noexcept;

// The natural logarithm of the number of ways to choose `chosen` items from `all`.
double log_choose(double all, double chosen) noexcept;

// The numbers of bands, and of rows in each band. As a choice, both are 0 if none is possible.
struct banding {
    int bands;
    int rows;

    bool operator==(const banding&) const = default;
};

// Considers all choices that find at least a share `recall` of the pairs at the threshold. Among these, returns the one
// with the most rows, because it has few false candidates; and with that many rows, the one with the fewest bands.
banding choose_by_recall(double threshold, int num_hashes, double recall) noexcept;

// The choice that minimises the weighted sum of two areas: the area under the curve left of the threshold (false
// candidates), and the area above the curve right of it (missed pairs). The weights must not both be 0. The Python
// library datasketch uses the same rule.
banding
choose_by_area(double threshold, int num_hashes, double false_candidate_weight, double missed_pair_weight) noexcept;

} // namespace minhash
