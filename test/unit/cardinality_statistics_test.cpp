// Tests how good estimated sizes of sets are: they must have no bias beyond noise, and be as exact as theory says.
// Seeds are fixed. Run without sanitizers.
#include "core/cardinality.h"
#include "core/sketch.h"

#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "support.h"

namespace {

using minhash::method;

struct measurement {
    double bias;  // relative to the size
    double error; // root mean square, relative to the size
};

measurement measure(method method, std::uint16_t num_hashes, std::size_t size, int trials)
{
    const auto sketch = std::make_unique<minhash::sketch>();
    std::vector<std::uint32_t> lo(size + minhash::padding), hi(size + minhash::padding);
    std::uint64_t counter = std::uint64_t{size} << 32;
    double sum = 0;
    double squares = 0;
    for (int trial = 0; trial < trials; trial++) {
        for (std::size_t i = 0; i < size; i++) {
            counter++;
            const std::uint64_t element =
                minhash::hash_bytes(reinterpret_cast<const std::uint8_t*>(&counter), 8, trial % 32);
            lo[i] = minhash::low(element);
            hi[i] = minhash::high(element);
        }
        minhash::start(*sketch, method, num_hashes);
        minhash::absorb(*sketch, lo.data(), hi.data(), size);
        minhash::signature value = {};
        value.scheme.method = method;
        value.scheme.num_hashes = num_hashes;
        value.scheme.bits = minhash::bits_per_slot;
        value.slots = {sketch->slots, num_hashes};
        const double error = minhash::estimate_cardinality(value) / static_cast<double>(size) - 1;
        sum += error;
        squares += error * error;
    }
    return {sum / trials, std::sqrt(squares / trials)};
}

TEST(cardinality_statistics, fss_is_as_exact_as_measured_in_its_paper_figures)
{
    struct {
        std::size_t size;
        double error; // the error at 128 hashes
    } const cases[] = {{1, 0.06}, {3, 0.06}, {20, 0.07}, {100, 0.07}, {1000, 0.09}, {20000, 0.095}};

    for (const auto& [size, error] : cases) {
        const measurement made = measure(method::fss, 128, size, size > 1000 ? 500 : 2000);
        EXPECT_LT(made.error, error) << size;
        EXPECT_LT(std::abs(made.bias), 0.02) << size;
    }
}

TEST(cardinality_statistics, classic_is_as_exact_as_theory_says)
{
    for (const std::size_t size : {20, 100, 1000, 20000}) {
        const measurement made = measure(method::classic, 128, size, size > 1000 ? 500 : 2000);
        EXPECT_LT(made.error, 1.1 / std::sqrt(128)) << size;
        EXPECT_LT(std::abs(made.bias), 0.015) << size;
    }
}

// (k - 1) / sum has no bias, and k / sum has a bias of 1 / (k - 1): 0.067 at the fewest hashes.
TEST(cardinality_statistics, classic_is_without_bias_for_few_hashes)
{
    EXPECT_LT(std::abs(measure(method::classic, minhash::min_num_hashes, 100, 4000).bias), 0.02);
}

TEST(cardinality_statistics, more_hashes_make_it_more_exact)
{
    EXPECT_LT(measure(method::fss, 1024, 1000, 1000).error, 0.035);
}

TEST(cardinality_statistics, the_empty_set_has_no_elements) { EXPECT_EQ(minhash::estimate_cardinality({}), 0); }

} // namespace
