#include "core/tuning.h"

#include <cmath>
#include <gtest/gtest.h>

namespace {

using minhash::band_probability;

// The similarity at which the curve reaches a probability.
double similarity_at(double probability, int bands, int rows)
{
    double low = 0;
    double high = 1;
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        (band_probability(middle, bands, rows) < probability ? low : high) = middle;
    }
    return (low + high) / 2;
}

TEST(tuning, points_on_the_curve)
{
    static const struct {
        double similarity;
        int bands, rows;
        double probability, within;
    } points[] = {
        {0.8, 20, 5, 0.999644, 5e-7},
        {0.3, 20, 5, 0.047494, 5e-7},
        {0.8, 15, 5, 0.997408, 5e-7},
        {0.3, 15, 5, 0.035836, 5e-7},
        {0.8, 2, 50, 2.85e-5, 5e-8},
        {0.8, 5, 20, 0.0563, 5e-5},
        {0.8, 10, 10, 0.6789, 5e-5},
        {0.8, 20, 5, 0.99964, 5e-6},
        {0.8, 50, 2, 1.0, 1e-9},
        {0.95, 2, 50, 0.148, 5e-4},
        {0.8, 14, 8, 0.9235, 5e-5},
        {0.7, 20, 6, 0.918, 5e-4},
        {0.25, 80, 3, 0.71631, 5e-6},
        {0.5, 42, 3, 0.9963, 5e-5},
    };

    for (const auto& point : points)
        EXPECT_NEAR(band_probability(point.similarity, point.bands, point.rows), point.probability, point.within)
            << point.bands << " x " << point.rows;
    EXPECT_NEAR(1 - band_probability(0.8, 20, 5), 0.000356, 5e-7);
}

TEST(tuning, ends_of_the_curve)
{
    for (const int bands : {1, 2, 20, 4096}) {
        for (const int rows : {1, 5, 128, 4096}) {
            EXPECT_EQ(band_probability(0, bands, rows), 0);
            EXPECT_EQ(band_probability(1, bands, rows), 1);
            double last = 0;
            for (double similarity = 0; similarity <= 1; similarity += 0.01) {
                const double probability = band_probability(similarity, bands, rows);
                EXPECT_GE(probability, last);
                EXPECT_LE(probability, 1);
                last = probability;
            }
        }
    }
    // Small probabilities must keep their digits.
    EXPECT_NEAR(band_probability(0.1, 20, 30) / 20e-30, 1, 1e-12);
}

TEST(tuning, where_the_curve_rises)
{
    static const struct {
        int bands, rows;
        double steepest, rule;
    } choices[] = {
        {3, 4, 0.7227, 0.7598},
        {20, 5, 0.5264, 0.5493},
        {15, 5, 0.5579, 0.5818},
        {10, 10, 0.7868, 0.7943},
        {5, 20, 0.9208, 0.9227},
        {2, 50, 0.9860, 0.9862},
        {50, 2, 0.1005, 0.1414},
    };

    for (const auto& choice : choices) {
        EXPECT_NEAR(minhash::steepest_point(choice.bands, choice.rows), choice.steepest, 5e-5);
        EXPECT_NEAR(minhash::threshold_rule(choice.bands, choice.rows), choice.rule, 5.1e-5);

        // The slope must not be steeper anywhere else.
        const auto slope = [&](double at) {
            return band_probability(at + 1e-4, choice.bands, choice.rows) -
                   band_probability(at - 1e-4, choice.bands, choice.rows);
        };
        const double steepest = minhash::steepest_point(choice.bands, choice.rows);
        EXPECT_GT(slope(steepest), slope(steepest - 0.005));
        EXPECT_GT(slope(steepest), slope(steepest + 0.005));
    }
    EXPECT_NEAR(minhash::threshold_rule(14, 8), 0.719, 5e-4);
    EXPECT_EQ(minhash::steepest_point(10, 1), 0);
    EXPECT_EQ(minhash::steepest_point(1, 1), 0);
}

TEST(tuning, similarities_of_given_probabilities)
{
    static const struct {
        int bands, rows;
        double similarity[4]; // the similarities found with probability .05, .50, .95, .99
    } choices[] = {
        {20, 5, {.303, .509, .674, .729}},
        {16, 8, {.488, .674, .802, .841}},
        {14, 8, {.496, .685, .814, .853}},
        {20, 13, {.632, .771, .859, .885}},
        {32, 4, {.200, .383, .547, .605}},
    };

    static const double probability[] = {.05, .50, .95, .99};
    for (const auto& choice : choices)
        for (int index = 0; index < 4; index++)
            EXPECT_NEAR(similarity_at(probability[index], choice.bands, choice.rows), choice.similarity[index], 5e-4)
                << choice.bands << " x " << choice.rows << " at " << probability[index];
}

TEST(tuning, standard_errors)
{
    EXPECT_NEAR(minhash::standard_error(0.5, 100), 0.05, 1e-12);
    EXPECT_NEAR(minhash::standard_error(0.8, 128), 0.0354, 5e-5);
    EXPECT_NEAR(minhash::standard_error(0.5, 200), 0.0354, 5e-5);
    EXPECT_EQ(minhash::standard_error(0, 128), 0);
    EXPECT_EQ(minhash::standard_error(1, 128), 0);

    // For slots of few bits: compares with values measured by trial programs, for 128 hashes at 0.8.
    const struct {
        int bits;
        double error;
    } few[] = {{1, 0.0530}, {2, 0.0421}, {4, 0.0368}, {8, 0.0354}, {16, 0.0354}};

    for (const auto& of : few)
        EXPECT_NEAR(minhash::standard_error(0.8, 128, of.bits), of.error, 6e-5) << of.bits;
    EXPECT_EQ(minhash::standard_error(1, 128, 1), 0);
}

TEST(tuning, equal_areas_as_datasketch_has_them)
{
    static const struct {
        double threshold;
        int num_hashes, bands, rows;
    } choices[] = {
        {.9, 128, 5, 25},
        {.8, 128, 9, 13},
        {.7, 128, 14, 9},
        {.6, 128, 18, 7},
        {.5, 128, 25, 5},
        {.5, 100, 20, 5},
        {.7, 240, 24, 10},
    };

    for (const auto& expected : choices) {
        const minhash::banding found = minhash::choose_by_area(expected.threshold, expected.num_hashes, 0.5, 0.5);
        EXPECT_EQ(found.bands, expected.bands) << expected.threshold;
        EXPECT_EQ(found.rows, expected.rows) << expected.threshold;
    }
    EXPECT_NEAR(band_probability(0.8, 9, 13), 0.40, 5e-3);
}

// The choices at 128 hashes, with the share of pairs found at the threshold and 0.1 below it.
struct picked {
    double threshold;
    int bands, rows;
    double found, below;
};

void expect_picked(const picked& expected, const minhash::banding& choice)
{
    EXPECT_EQ(choice.bands, expected.bands) << expected.threshold;
    EXPECT_EQ(choice.rows, expected.rows) << expected.threshold;
    EXPECT_NEAR(band_probability(expected.threshold, choice.bands, choice.rows), expected.found, 5.1e-4);
    EXPECT_NEAR(band_probability(expected.threshold - .1, choice.bands, choice.rows), expected.below, 5.1e-4);
}

TEST(tuning, equal_areas)
{
    static const picked table[] = {
        {.50, 25, 5, .548, .227},
        {.55, 21, 6, .445, .161},
        {.60, 18, 7, .400, .132},
        {.65, 16, 8, .404, .126},
        {.70, 14, 9, .438, .132},
        {.75, 11, 11, .378, .092},
        {.80, 9, 13, .399, .084},
        {.85, 8, 16, .461, .077},
        {.90, 5, 25, .311, .019},
        {.95, 3, 42, .309, .003},
    };
    for (const picked& expected : table)
        expect_picked(expected, minhash::choose_by_area(expected.threshold, 128, .5, .5));
}

TEST(tuning, areas_weighted_for_recall)
{
    static const picked table[] = {
        {.50, 32, 4, .873, .564},
        {.55, 28, 4, .932, .690},
        {.60, 25, 5, .868, .548},
        {.65, 21, 6, .807, .445},
        {.70, 20, 6, .918, .615},
        {.75, 16, 8, .815, .404},
        {.80, 14, 9, .867, .438},
        {.85, 11, 11, .867, .378},
        {.90, 8, 16, .806, .204},
        {.95, 5, 25, .803, .083},
    };
    for (const picked& expected : table)
        expect_picked(expected, minhash::choose_by_area(expected.threshold, 128, .1, .9));
}

TEST(tuning, recall_of_95_percent)
{
    static const picked table[] = {
        {.50, 23, 3, .954, .782},
        {.55, 32, 4, .954, .738},
        {.60, 22, 4, .953, .758},
        {.65, 25, 5, .954, .725},
        {.70, 17, 5, .956, .747},
        {.75, 16, 6, .957, .715},
        {.80, 13, 7, .953, .673},
        {.85, 12, 9, .958, .608},
        {.90, 10, 12, .964, .509},
        {.95, 6, 18, .952, .282},
    };
    for (const picked& expected : table)
        expect_picked(expected, minhash::choose_by_recall(expected.threshold, 128, .95));
}

TEST(tuning, recall_of_99_percent)
{
    static const struct {
        double threshold;
        int bands, rows;
    } table[] = {
        {.50, 35, 3},
        {.55, 26, 3},
        {.60, 19, 3},
        {.65, 24, 4},
        {.70, 17, 4},
        {.75, 17, 5},
        {.80, 16, 6},
        {.85, 15, 8},
        {.90, 11, 10},
        {.95, 8, 16},
    };

    for (const auto& expected : table) {
        const auto found = minhash::choose_by_recall(expected.threshold, 128, .99);
        EXPECT_EQ(found.bands, expected.bands) << expected.threshold;
        EXPECT_EQ(found.rows, expected.rows) << expected.threshold;
    }
}

// Compares with the definition: the most rows that reach the recall, with as few bands as possible.
TEST(tuning, recall_is_reached_by_the_most_rows)
{
    for (const int num_hashes : {16, 64, 100, 128, 256}) {
        for (double threshold = 0.05; threshold < 1; threshold += 0.05) {
            for (const double recall : {0.5, 0.9, 0.95, 0.99}) {
                const auto found = minhash::choose_by_recall(threshold, num_hashes, recall);
                const bool possible = band_probability(threshold, num_hashes, 1) >= recall;
                ASSERT_EQ(found.bands > 0, possible);
                if (!possible)
                    continue;
                ASSERT_LE(found.bands * found.rows, num_hashes);
                ASSERT_GE(band_probability(threshold, found.bands, found.rows), recall);
                if (found.bands > 1) {
                    ASSERT_LT(band_probability(threshold, found.bands - 1, found.rows), recall);
                }
                for (int rows = found.rows + 1; rows <= num_hashes; rows++)
                    ASSERT_LT(band_probability(threshold, num_hashes / rows, rows), recall);
            }
        }
    }
}

TEST(tuning, pickers_at_the_ends)
{
    for (const int num_hashes : {16, 128, 512}) {
        for (const double threshold : {0.0, 0.001, 0.999, 1.0}) {
            const auto found = minhash::choose_by_area(threshold, num_hashes, .5, .5);
            EXPECT_GE(found.bands, 1);
            EXPECT_GE(found.rows, 1);
            EXPECT_LE(found.bands * found.rows, num_hashes);
        }
        EXPECT_EQ(minhash::choose_by_recall(0, num_hashes, 0.95).bands, 0);
        const auto all = minhash::choose_by_recall(1, num_hashes, 0.95);
        EXPECT_EQ(all.bands, 1);
        EXPECT_EQ(all.rows, num_hashes);
    }
}

TEST(tuning, the_scale_of_the_weights_does_not_matter)
{
    for (const double scale : {1e-13, 1.0, 1e12}) {
        const minhash::banding chosen = minhash::choose_by_area(0.8, 128, 0.5 * scale, 0.5 * scale);
        EXPECT_EQ(chosen.bands, 9) << scale;
        EXPECT_EQ(chosen.rows, 13) << scale;
    }
}

TEST(tuning, least_agreement_is_a_quantile)
{
    for (const int hashes : {16, 128, 251, 4096}) {
        EXPECT_EQ(minhash::least_agreement(0, hashes, 1e-4), 0);
        EXPECT_EQ(minhash::least_agreement(1, hashes, 1e-4), hashes);
        int last = 0;
        for (double similarity = 0.01; similarity < 1; similarity += 0.01) {
            const int least = minhash::least_agreement(similarity, hashes, 1e-4);
            EXPECT_GE(least, last);
            EXPECT_LE(least, similarity * hashes);
            last = least;
        }
    }
    // If the distribution is nearly normal, the quantile is this many standard errors below the mean.
    for (const double similarity : {0.3, 0.5, 0.7})
        EXPECT_NEAR(minhash::least_agreement(similarity, 4096, 0.00135) / 4096.0,
                    similarity - 3 * minhash::standard_error(similarity, 4096),
                    0.001);
    // P(at most 122 of 128 agree) = 0.0017 at 0.99, which four standard errors would have allowed.
    EXPECT_EQ(minhash::least_agreement(0.99, 128, 0.002), 123);
    EXPECT_EQ(minhash::least_agreement(0.99, 128, 0.001), 122);
    EXPECT_EQ(minhash::least_agreement(0.99, 128, 1.0 / 30000), 120);
}

TEST(tuning, fewer_agreements_are_as_rare_as_promised)
{
    for (const int draws : {1, 24, 200})
        for (const double chance : {0.01, 0.3, 0.7, 0.99, 1.0})
            for (const double missed : {0.0001, 0.01, 0.2}) {
                const int least = minhash::least_agreement(chance, draws, missed);
                ASSERT_LE(least, draws);
                const auto chance_below = [&](int number) {
                    double sum = 0;
                    for (int i = 0; i < number; i++)
                        sum +=
                            std::exp(std::lgamma(draws + 1.0) - std::lgamma(i + 1.0) - std::lgamma(draws - i + 1.0)) *
                            std::pow(chance, i) * std::pow(1 - chance, draws - i);
                    return sum;
                };
                EXPECT_LE(chance_below(least), missed + 1e-9) << draws << " " << chance << " " << missed;
                if (least < draws) {
                    EXPECT_GT(chance_below(least + 1), missed - 1e-9) << draws << " " << chance << " " << missed;
                }
            }
}

} // namespace
