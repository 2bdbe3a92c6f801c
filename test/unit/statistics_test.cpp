// Tests how good estimates are: they must be unbiased, and as exact as theory says or better, and bands must follow the
// S-curve. Seeds are fixed, so a failure is reproducible. Run without sanitizers.
#include "core/tuning.h"

#include <cmath>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using minhash::method;

// Hashes counters: every trial has a fresh set of elements, under one of 32 seeds.
struct element_source {
    std::uint64_t counter;
    std::int64_t seed = 0;

    std::uint64_t next()
    {
        counter++;
        return minhash::hash_bytes(reinterpret_cast<const std::uint8_t*>(&counter), 8, seed);
    }
};

struct banding {
    int bands, rows;
};

constexpr banding bandings[] = {{20, 5}, {16, 8}, {25, 4}, {10, 10}};

struct measurement {
    double jaccard;
    double bias;
    double bias_error;
    double ratio;    // the ratio of the mean squared error to J (1 - J) / k
    double found[4]; // share of trials in which at least one band was equal
};

bool any_band_equal(const std::uint32_t* a, const std::uint32_t* b, const banding& how)
{
    for (int band = 0; band < how.bands; band++, a += how.rows, b += how.rows)
        if (std::equal(a, a + how.rows, b))
            return true;
    return false;
}

// Makes pairs of sets of `size` elements on average, whose overlap is as near as possible to the wanted one.
measurement measure(method method, std::uint32_t num_hashes, int size, double wanted, int trials)
{
    const int all = static_cast<int>(std::lround(2 * size / (1 + wanted)));
    const int shared = std::min(all - 1, static_cast<int>(std::lround(wanted * all)));
    const int only_left = (all - shared) / 2;
    measurement made = {};
    made.jaccard = static_cast<double>(shared) / all;

    const auto left = std::make_unique<minhash::sketch>();
    const auto right = std::make_unique<minhash::sketch>();
    const auto count = static_cast<std::size_t>(all);
    std::vector<std::uint32_t> lo(count), hi(count); // left only, shared, right only
    element_source source = {static_cast<std::uint64_t>(size) << 40};
    double sum = 0;
    double squares = 0;
    for (int trial = 0; trial < trials; trial++) {
        source.seed = trial % 32;
        for (std::size_t index = 0; index < count; index++) {
            const std::uint64_t element = source.next();
            lo[index] = minhash::low(element);
            hi[index] = minhash::high(element);
        }
        minhash::start(*left, method, num_hashes);
        minhash::start(*right, method, num_hashes);
        const auto in_left = static_cast<std::size_t>(only_left + shared);
        const auto skipped = static_cast<std::size_t>(only_left);
        minhash::absorb(*left, lo.data(), hi.data(), in_left);
        minhash::absorb(*right, lo.data() + skipped, hi.data() + skipped, count - skipped);

        const double error =
            minhash::kernels->count_equal(left->slots, right->slots, num_hashes) / static_cast<double>(num_hashes) -
            made.jaccard;
        sum += error;
        squares += error * error;
        for (std::size_t index = 0; index < std::size(bandings); index++)
            made.found[index] += any_band_equal(left->slots, right->slots, bandings[index]);
    }
    made.bias = sum / trials;
    made.bias_error = std::sqrt((squares / trials - made.bias * made.bias) / trials);
    made.ratio = squares / trials / (made.jaccard * (1 - made.jaccard) / num_hashes);
    for (double& share : made.found)
        share /= trials;
    return made;
}

struct case_of_estimates {
    minhash::method method;
    int size;
    int trials;
    double least_ratio, largest_ratio;
};

std::ostream& operator<<(std::ostream& out, const case_of_estimates& of)
{
    return out << minhash::name_of(of.method) << ", " << of.size << " elements";
}

class estimates : public testing::TestWithParam<case_of_estimates> {};

TEST_P(estimates, are_unbiased_exact_and_follow_the_curve)
{
    constexpr std::uint32_t num_hashes = 128;
    for (const double wanted : {.1, .3, .5, .65, .8, .9, .95}) {
        const measurement found = measure(GetParam().method, num_hashes, GetParam().size, wanted, GetParam().trials);
        SCOPED_TRACE("J = " + std::to_string(found.jaccard) + ", seeds 0 to 31");
        EXPECT_LT(std::abs(found.bias), 4 * found.bias_error);
        EXPECT_LE(found.ratio, GetParam().largest_ratio);
        EXPECT_GE(found.ratio, GetParam().least_ratio);
        for (std::size_t index = 0; index < std::size(bandings); index++) {
            const auto& [bands, rows] = bandings[index];
            EXPECT_NEAR(found.found[index], minhash::band_probability(found.jaccard, bands, rows), 0.025)
                << bands << " x " << rows;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(fss,
                         estimates,
                         testing::Values(case_of_estimates{method::fss, 5, 40000, 0.7, 1.08},
                                         case_of_estimates{method::fss, 20, 40000, 0.45, 0.68},
                                         case_of_estimates{method::fss, 50, 40000, 0.45, 0.68},
                                         case_of_estimates{method::fss, 100, 40000, 0.45, 0.68},
                                         case_of_estimates{method::fss, 1000, 8000, 0.75, 1.08}));

INSTANTIATE_TEST_SUITE_P(classic,
                         estimates,
                         testing::Values(case_of_estimates{method::classic, 5, 40000, 0.9, 1.1},
                                         case_of_estimates{method::classic, 20, 20000, 0.9, 1.1},
                                         case_of_estimates{method::classic, 50, 20000, 0.9, 1.1},
                                         case_of_estimates{method::classic, 100, 20000, 0.9, 1.1},
                                         case_of_estimates{method::classic, 1000, 5000, 0.9, 1.1}));

// Tests other numbers of hashes, including small ones and ones that are not powers of two.
TEST(estimate, is_good_for_any_number_of_hashes)
{
    for (const method method : {method::fss, method::classic}) {
        for (const std::uint32_t num_hashes : {100u, 200u, 512u, 1000u}) {
            for (const int size : {20, 200}) {
                const measurement found = measure(method, num_hashes, size, 0.5, 5000);
                EXPECT_LT(std::abs(found.bias), 4 * found.bias_error);
                EXPECT_LE(found.ratio, method == method::fss ? 1.08 : 1.12);
            }
        }
    }
}

// If all hash functions are one function XORed with different numbers, more slots do not help. Here the error falls
// with the square root of their number, even on a union of 19 elements.
TEST(estimate, converges)
{
    for (const method method : {method::fss, method::classic}) {
        for (const std::uint32_t num_hashes : {128u, 512u, 2048u}) {
            const measurement found = measure(method, num_hashes, 17, 14.0 / 19, 5000);
            EXPECT_NEAR(found.jaccard, 14.0 / 19, 0.03);
            EXPECT_LE(std::sqrt(found.ratio), 1.06) << num_hashes; // with XORed functions: 3.6 at 512
        }
    }
}

// Two texts share 22 of 47 shingles. Estimates scatter around 22/47, with an error of 0.05 at 100 slots and 0.016 at
// 1000.
TEST(estimate, of_texts_scatters_as_it_should)
{
    const std::string left = "Lorem Ipsum dolor sit amet";
    const std::string right = left + " is how dummy text starts";
    for (const method method : {method::fss, method::classic}) {
        double error[2] = {};
        for (const int which : {0, 1}) {
            minhash::scheme scheme = support::default_scheme;
            scheme.method = method;
            scheme.num_hashes = which == 0 ? 100 : 1000;
            scheme.shingles.fold = false;
            constexpr int seeds = 400;
            double sum = 0;
            for (scheme.seed = 0; scheme.seed < seeds; scheme.seed++) {
                const auto a = support::sign(left, scheme);
                const auto b = support::sign(right, scheme);
                const double estimate = minhash::kernels->count_equal(a.data(), b.data(), scheme.num_hashes) /
                                        static_cast<double>(scheme.num_hashes);
                sum += estimate;
                error[which] += (estimate - 22.0 / 47) * (estimate - 22.0 / 47) / seeds;
            }
            EXPECT_NEAR(sum / seeds, 22.0 / 47, 4 * std::sqrt(error[which] / seeds));
        }
        EXPECT_LT(std::sqrt(error[0]), 0.055);
        EXPECT_LT(std::sqrt(error[1]), 0.018);
        EXPECT_LT(std::sqrt(error[1]), std::sqrt(error[0]) / 2);
    }
}

// Sets of very different sizes, as in containment.
TEST(estimate, is_unbiased_for_disjoint_and_equal_sets)
{
    element_source source = {std::uint64_t{1} << 50};
    for (const method method : {method::fss, method::classic}) {
        std::uint32_t equal = 0;
        for (int trial = 0; trial < 200; trial++) {
            reference::hash_list few, many;
            for (int index = 0; index < 10; index++)
                few.push_back(source.next());
            for (int index = 0; index < 1000; index++)
                many.push_back(source.next());
            const auto a = support::sketch(method, few, 128);
            const auto b = support::sketch(method, many, 128);
            equal += minhash::kernels->count_equal(a.data(), b.data(), 128);
            EXPECT_EQ(minhash::kernels->count_equal(a.data(), a.data(), 128), 128u);
        }
        EXPECT_LE(equal, 1u); // among 25,600 slots; 32-bit words are seldom equal by chance
    }
}

} // namespace
