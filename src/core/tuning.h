// The S-curve of LSH banding, and how it is used to choose bands and rows. (Leskovec, Rajaraman, Ullman: Mining of
// Massive Datasets, section 3.4.)
#pragma once

namespace minhash {

// The probability that two sets of the given Jaccard similarity agree in all rows of at least one band: 1 - (1 -
// similarity^rows)^bands.
double band_probability(double similarity, int bands, int rows) noexcept;

// The rule of thumb for the similarity at which the curve rises: (1/bands)^(1/rows).
double threshold_rule(int bands, int rows) noexcept;

// Where the curve is steepest: ((rows - 1) / (bands * rows - 1))^(1/rows), its inflection point. With one row it is
// steepest at 0.
double steepest_point(int bands, int rows) noexcept;

// The standard error of a similarity estimated from independent slots of `bits` bits. The share P of equal slots has
// the standard error sqrt(P (1 - P) / num_hashes), which is scaled as in compress.h. At 32 bits P is the similarity.
double standard_error(double similarity, int num_hashes, int bits = 32) noexcept;

// The fewest equal slots that two sets of this Jaccard similarity have, except for a share share_missed of such pairs.
// It is a quantile of the binomial distribution, which is skewed near 0 and 1.
int least_agreement(double similarity, int num_hashes, double share_missed) noexcept;

// The logarithm of the number of ways to choose `chosen` of `all`.
double log_choose(double all, double chosen) noexcept;

// bands * rows <= num_hashes; bands = 0 if no choice is possible.
struct band_choice {
    int bands;
    int rows;
};

// Of all choices that find at least `recall` of the pairs at the threshold, prefers those with the most rows, which
// give few false candidates. Of these it returns the one with the fewest bands.
band_choice choose_by_recall(double threshold, int num_hashes, double recall) noexcept;

// The choice that minimises the weighted sum of two areas: under the curve left of the threshold (false candidates) and
// above the curve right of it (missed pairs). It is datasketch's rule.
band_choice
choose_by_area(double threshold, int num_hashes, double false_candidate_weight, double missed_pair_weight) noexcept;

} // namespace minhash
