// How many bands of how many rows: the S-curve of LSH banding, and choices on it.
// (Leskovec, Rajaraman, Ullman: Mining of Massive Datasets, section 3.4.)
#pragma once

namespace minhash {

// The probability that two sets of the given Jaccard similarity agree in all rows of at least one
// band: 1 - (1 - similarity^rows)^bands.
double band_probability(double similarity, int bands, int rows) noexcept;

// The rule of thumb for the similarity at which the curve rises: (1/bands)^(1/rows).
double threshold_rule(int bands, int rows) noexcept;

// Where the curve is steepest: ((rows - 1) / (bands * rows - 1))^(1/rows), its inflection point.
// With one row it is steepest at 0.
double steepest_point(int bands, int rows) noexcept;

// The standard error of an estimate from independent slots of `bits` bits: of the share P of equal
// slots sqrt(P (1 - P) / num_hashes), and of the similarity that it tells of (compress.h). Of 32
// bits P is the similarity.
double standard_error(double similarity, int num_hashes, int bits = 32) noexcept;

// The slots that agree at least for two sets of the given Jaccard similarity, but for a share of
// all such pairs: a quantile of the binomial distribution, which is lopsided near 0 and 1.
int least_agreement(double similarity, int num_hashes, double share_missed) noexcept;

// The logarithm of how many ways there are to choose `chosen` of `all`.
double log_choose(double all, double chosen) noexcept;

// bands * rows <= num_hashes; bands = 0 if no choice will do.
struct band_choice {
    int bands;
    int rows;
};

// Of all choices that find at least `recall` of the pairs at the threshold, the one with the most
// rows, hence with few false candidates, and as few bands as that takes.
band_choice choose_by_recall(double threshold, int num_hashes, double recall) noexcept;

// The choice that minimises the weighted areas under the curve left of the threshold (false
// candidates) and above it right of the threshold (missed pairs): datasketch's rule.
band_choice choose_by_area(double threshold,
                           int num_hashes,
                           double false_candidate_weight,
                           double missed_pair_weight) noexcept;

} // namespace minhash
