#include "core/scheme.h"
#include "core/tuning.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

namespace minhash {

namespace {

// Gauss-Legendre quadrature with 32 nodes on [-1, 1], which are symmetric about 0. The curve on each side of the
// threshold is integrated in two segments. For the polynomials here, the errors are far below the differences between
// choices.
struct quadrature_node {
    double abscissa;
    double weight;
};

constexpr quadrature_node half_of_nodes[] = {
    {0.04830766568773831, 0.096540088514727854},
    {0.14447196158279649, 0.095638720079274847},
    {0.23928736225213706, 0.093844399080804414},
    {0.33186860228212767, 0.091173878695763905},
    {0.42135127613063533, 0.087652093004403742},
    {0.50689990893222936, 0.083311924226946721},
    {0.5877157572407623, 0.078193895787070436},
    {0.66304426693021523, 0.072345794108848616},
    {0.73218211874028971, 0.065822222776361947},
    {0.79448379596794239, 0.058684093478535579},
    {0.84936761373256997, 0.050998059262376154},
    {0.89632115576605209, 0.042835898022226704},
    {0.93490607593773967, 0.034273862913021411},
    {0.96476225558750639, 0.025392065309262139},
    {0.98561151154526838, 0.016274394730905709},
    {0.99726386184948157, 0.0070186100094701363},
};
constexpr int nodes = 2 * static_cast<int>(std::size(half_of_nodes));
constexpr int segments = 2;
constexpr int points = nodes * segments; // the number of points on each side of the threshold

} // namespace

double band_probability(double similarity, int bands, int rows) noexcept
{
    assert(similarity >= 0 && similarity <= 1 && bands >= 1 && rows >= 1);
    // 1 - (1 - x)^b without losing the digits of a small x = similarity^rows.
    return -std::expm1(bands * std::log1p(-std::pow(similarity, rows)));
}

double threshold_rule(int bands, int rows) noexcept { return std::pow(1.0 / bands, 1.0 / rows); }

double steepest_point(int bands, int rows) noexcept
{
    if (rows == 1)
        return 0;
    return std::pow((rows - 1.0) / (static_cast<double>(bands) * rows - 1.0), 1.0 / rows);
}

double standard_error(double similarity, int num_hashes, int bits) noexcept
{
    const double accident = bits == bits_per_slot ? 0 : std::ldexp(1.0, -bits);
    const double equal = accident + (1 - accident) * similarity;
    return std::sqrt(equal * (1 - equal) / num_hashes) / (1 - accident);
}

double log_choose(double all, double chosen) noexcept
{
    int sign; // std::lgamma() would write it to a global variable, a data race between threads
    return lgamma_r(all + 1, &sign) - lgamma_r(chosen + 1, &sign) - lgamma_r(all - chosen + 1, &sign);
}

int least_agreement(double similarity, int num_hashes, double share_missed) noexcept
{
    assert(num_hashes >= 1 && share_missed >= 0);
    if (similarity <= 0 || similarity >= 1)
        return similarity <= 0 ? 0 : num_hashes;
    double missed = 0;
    int least = -1;
    while (missed <= share_missed && least < num_hashes) {
        least++;
        // Computed from logarithms, because with thousands of hashes the powers would underflow.
        missed += std::exp(log_choose(num_hashes, least) + least * std::log(similarity) +
                           (num_hashes - least) * std::log1p(-similarity));
    }
    return least;
}

banding choose_by_recall(double threshold, int num_hashes, double recall) noexcept
{
    assert(threshold >= 0 && threshold <= 1 && num_hashes >= 1);
    // First find the largest number of rows at which the bands that fit reach the recall. Then find the fewest bands of
    // that many rows that still reach it.
    int rows = num_hashes;
    while (rows >= 1 && band_probability(threshold, num_hashes / rows, rows) < recall)
        rows--;
    if (rows == 0)
        return {0, 0};
    int bands = 1;
    while (band_probability(threshold, bands, rows) < recall)
        bands++;
    return {bands, rows};
}

banding
choose_by_area(double threshold, int num_hashes, double false_candidate_weight, double missed_pair_weight) noexcept
{
    assert(threshold >= 0 && threshold <= 1 && num_hashes >= 1);
    assert(false_candidate_weight >= 0 && missed_pair_weight >= 0);
    double similarity[2 * points];
    double weight[2 * points];
    for (int side = 0; side < 2; side++) {
        const double from = side == 0 ? 0 : threshold;
        const double width = ((side == 0 ? threshold : 1) - from) / segments;
        for (int segment = 0; segment < segments; segment++) {
            for (int index = 0; index < nodes; index++) {
                const int point = (side * segments + segment) * nodes + index;
                const quadrature_node& node = half_of_nodes[index / 2];
                const double abscissa = index % 2 == 0 ? node.abscissa : -node.abscissa;
                similarity[point] = from + width * (segment + (1 + abscissa) / 2);
                weight[point] = node.weight * width / 2;
            }
        }
    }

    // Areas are compared with a fixed tolerance, so scale the weights to a sum of 1.
    const double weights = false_candidate_weight + missed_pair_weight;
    false_candidate_weight /= weights;
    missed_pair_weight /= weights;

    // Each power is computed from that of the previous number of rows or bands, by a single multiplication.
    banding best = {0, 0};
    double least = INFINITY;
    double power[2 * points]; // similarity^rows
    std::ranges::fill(power, 1);
    for (int rows = 1; rows <= num_hashes; rows++) {
        double missed[2 * points]; // (1 - similarity^rows)^bands
        for (int point = 0; point < 2 * points; point++) {
            power[point] *= similarity[point];
            missed[point] = 1;
        }
        for (int bands = 1; bands * rows <= num_hashes; bands++) {
            double false_candidates = 0;
            double missed_pairs = 0;
            for (int point = 0; point < points; point++) {
                missed[point] *= 1 - power[point];
                false_candidates += weight[point] * (1 - missed[point]);
            }
            for (int point = points; point < 2 * points; point++) {
                missed[point] *= 1 - power[point];
                missed_pairs += weight[point] * missed[point];
            }
            const double area = false_candidate_weight * false_candidates + missed_pair_weight * missed_pairs;
            const bool equal = std::abs(area - least) <= 1e-12;
            if (equal ? bands < best.bands : area < least) {
                least = area;
                best = {bands, rows};
            }
        }
    }
    return best;
}

} // namespace minhash
