// The S-curve of LSH banding, and how it is used to choose bands and rows. (Leskovec, Rajaraman, Ullman: Mining of
// Massive Datasets, section 3.4.)
#pragma once

namespace minhash {

// The probability that two sets with this Jaccard similarity agree in all rows of at least one band: 1 - (1 -
// similarity^rows)^bands.
double band_probability(double similarity, int bands, int rows) noexcept;

// The rule of thumb for the similarity at which the curve rises: (1/bands)^(1/rows).
double threshold_rule(int bands, int rows) noexcept;

// The curve's inflection point, where it is steepest: ((rows - 1) / (bands * rows - 1))^(1/rows). With one row, the
// curve is steepest at 0.
double steepest_point(int bands, int rows) noexcept;

// The standard error of a similarity estimated from independent slots of `bits` bits. The share P of equal slots has
// the standard error sqrt(P (1 - P) / num_hashes), which is scaled as in compress.h. At 32 bits P is the similarity.
double standard_error(double similarity, int num_hashes, int bits = 32) noexcept;

// The number of equal slots that pairs of sets with this Jaccard similarity have at least, except for a share of at
// most `share_missed`. This is a quantile of the binomial distribution, which is skewed near 0 and 1.
int least_agreement(double similarity, int num_hashes, double share_missed) noexcept;

// The logarithm of the number of ways to choose `chosen` of `all`.
double log_choose(double all, double chosen) noexcept;

// bands * rows is at most num_hashes. `bands` is 0 if no choice is possible.
struct band_choice {
    int bands;
    int rows;
};

// Of all choices that find at least `recall` of the pairs at the threshold, returns one with the most rows, because
// more rows bring fewer false candidates, and of these the one with the fewest bands.
band_choice choose_by_recall(double threshold, int num_hashes, double recall) noexcept;

// The choice that minimises the weighted sum of two areas: under the curve left of the threshold (false candidates) and
// above the curve right of the threshold (missed pairs). The Python library datasketch has the same rule.
band_choice
choose_by_area(double threshold, int num_hashes, double false_candidate_weight, double missed_pair_weight) noexcept;

} // namespace minhash
