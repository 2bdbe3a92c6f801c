#include "core/scheme.h"
#include "core/tuning.h"

#include <cmath>
#include <cstddef>

namespace minhash {

namespace {

// Nodes and weights of the Gauss-Legendre quadrature on [-1, 1] (Newton's method on the Legendre
// polynomial). Two segments of 32 nodes on either side of the threshold integrate polynomials of
// the degrees at hand far more exactly than the differences between choices.
constexpr int nodes = 32;
constexpr int segments = 2;
constexpr int points = nodes * segments; // on each side of the threshold

struct quadrature {
    double node[nodes];
    double weight[nodes];
};

quadrature make_quadrature() noexcept
{
    quadrature scheme = {};
    for (int index = 0; index < nodes; index++) {
        double x = std::cos(M_PI * (index + 0.75) / (nodes + 0.5));
        double slope = 0;
        for (int iteration = 0; iteration < 100; iteration++) {
            double previous = 1;
            double value = x;
            for (int degree = 2; degree <= nodes; degree++) {
                const double next =
                    ((2 * degree - 1) * x * value - (degree - 1) * previous) / degree;
                previous = value;
                value = next;
            }
            slope = nodes * (x * value - previous) / (x * x - 1);
            const double step = value / slope;
            x -= step;
            if (std::abs(step) < 1e-15)
                break;
        }
        scheme.node[index] = x;
        scheme.weight[index] = 2 / ((1 - x * x) * slope * slope);
    }
    return scheme;
}

} // namespace

double band_probability(double similarity, int bands, int rows) noexcept
{
    // 1 - (1 - x)^b without losing the digits of a small x.
    return -std::expm1(bands * std::log1p(-std::pow(similarity, rows)));
}

double threshold_rule(int bands, int rows) noexcept
{
    return std::pow(1.0 / bands, 1.0 / rows);
}

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

int least_agreement(double similarity, int num_hashes, double share_missed) noexcept
{
    if (similarity <= 0 || similarity >= 1)
        return similarity <= 0 ? 0 : num_hashes;
    double missed = 0;
    int least = -1;
    while (missed <= share_missed && least < num_hashes) {
        least++;
        // In logarithms, as powers of thousands of hashes leave the range of numbers.
        missed += std::exp(std::lgamma(num_hashes + 1.0) - std::lgamma(least + 1.0) -
                           std::lgamma(num_hashes - least + 1.0) + least * std::log(similarity) +
                           (num_hashes - least) * std::log1p(-similarity));
    }
    return least;
}

band_choice choose_by_recall(double threshold, int num_hashes, double recall) noexcept
{
    // More bands find more: first the rows with which all bands that fit will do, then the fewest.
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

band_choice choose_by_area(double threshold,
                           int num_hashes,
                           double false_positive_weight,
                           double false_negative_weight) noexcept
{
    const quadrature rule = make_quadrature();
    double similarity[2 * points];
    double weight[2 * points];
    for (int side = 0; side < 2; side++) {
        const double from = side == 0 ? 0 : threshold;
        const double width = ((side == 0 ? threshold : 1) - from) / segments;
        for (int segment = 0; segment < segments; segment++) {
            for (int index = 0; index < nodes; index++) {
                const int point = (side * segments + segment) * nodes + index;
                similarity[point] = from + width * (segment + (1 + rule.node[index]) / 2);
                weight[point] = rule.weight[index] * width / 2;
            }
        }
    }

    // Choices are compared with a tolerance, so the weights' scale must not matter.
    const double weights = false_positive_weight + false_negative_weight;
    false_positive_weight /= weights;
    false_negative_weight /= weights;

    // One multiplication per point and choice: the powers run along with rows and bands.
    band_choice best = {0, 0};
    double least = INFINITY;
    double power[2 * points]; // similarity^rows
    for (double& value : power)
        value = 1;
    for (int rows = 1; rows <= num_hashes; rows++) {
        double missed[2 * points]; // (1 - similarity^rows)^bands
        for (int point = 0; point < 2 * points; point++) {
            power[point] *= similarity[point];
            missed[point] = 1;
        }
        for (int bands = 1; bands * rows <= num_hashes; bands++) {
            double in_vain = 0;
            double lost = 0;
            for (int point = 0; point < points; point++) {
                missed[point] *= 1 - power[point];
                in_vain += weight[point] * (1 - missed[point]);
            }
            for (int point = points; point < 2 * points; point++) {
                missed[point] *= 1 - power[point];
                lost += weight[point] * missed[point];
            }
            const double area = false_positive_weight * in_vain + false_negative_weight * lost;
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
