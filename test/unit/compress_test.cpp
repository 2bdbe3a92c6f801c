// Signatures of fewer bits per slot (compress.h).
#include "core/compress.h"
#include "core/kernels.h"
#include "core/sketch.h"
#include "core/tuning.h"

#include <cmath>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using minhash::scheme;
using minhash::signature;
using support::slot_list;

constexpr int widths[] = {1, 2, 4, 8, 16};

struct packed_signature {
    minhash::scheme scheme;
    std::vector<std::uint8_t> bytes;

    signature view() const { return {scheme, {}, bytes}; }
};

// Compresses into memory that ends where the slots end.
packed_signature compress(const signature& value, int bits)
{
    packed_signature out = {value.scheme, {}};
    out.scheme.bits = static_cast<std::uint8_t>(bits);
    out.bytes.assign(minhash::slot_bytes(bits, value.scheme.num_hashes), 0xAA);
    minhash::compress(value, bits, out.bytes.data());
    return out;
}

signature view(const slot_list& slots)
{
    scheme scheme = support::default_scheme;
    scheme.num_hashes = static_cast<std::uint16_t>(slots.size());
    return support::view(scheme, slots);
}

slot_list random_slots(std::size_t count, support::random_source& random)
{
    slot_list slots(count);
    for (std::uint32_t& slot : slots)
        slot = static_cast<std::uint32_t>(random.next());
    return slots;
}

// A worked example from the scheme's definition.
TEST(compress, eight_bits_of_a_known_signature)
{
    const slot_list slots = {0x2ab4584d,
                             0x17f93e2c,
                             0x03f03531,
                             0x2b3b01d7,
                             0x2ebb6eee,
                             0x33ad1471,
                             0x0cbf9ddb,
                             0x2e127a32,
                             0x03088e1a,
                             0x94dd7c33,
                             0x841766ba,
                             0x1a318374,
                             0x261bfdae,
                             0x1ccba55d,
                             0x097590b6,
                             0x39660c2e};
    const std::vector<std::uint8_t> expected =
        {0x42, 0xe5, 0xed, 0xde, 0xa0, 0xab, 0x76, 0xb3, 0xb7, 0xc5, 0x41, 0x59, 0x78, 0x16, 0x86, 0xed};
    EXPECT_EQ(compress(view(slots), 8).bytes, expected);
    // A slot of four bits is the upper half of the slot of eight bits; the first slot is the lower half of the first
    // byte.
    EXPECT_EQ(compress(view(slots), 4).bytes[0], 0xe4);
    EXPECT_EQ(compress(view(slots), 16).bytes[1], 0x42);
}

TEST(compress, keeps_the_top_bits_and_spares_none)
{
    support::random_source random = {81};
    for (std::size_t count = 16; count < 80; count++) {
        const slot_list slots = random_slots(count, random);
        for (const int bits : widths) {
            const packed_signature packed = compress(view(slots), bits);
            for (std::size_t slot = 0; slot < count; slot++)
                ASSERT_EQ(minhash::slot_of(packed.view(), slot), slots[slot] * 0x9E3779B1u >> (32 - bits));
            if (const std::size_t used = count * static_cast<std::size_t>(bits) % 8; used != 0) {
                ASSERT_EQ(packed.bytes.back() >> used, 0);
            }
            for (const int fewer : widths)
                if (fewer < bits) {
                    ASSERT_EQ(compress(packed.view(), fewer).bytes, compress(view(slots), fewer).bytes);
                }
        }
    }
}

TEST(compress, every_table_counts_equal_slots_without_reading_beyond_them)
{
    const auto* const former = minhash::kernels;
    support::random_source random = {82};
    std::vector<std::size_t> counts = {4095, 4096}; // more than a vector of bytes can count
    for (std::size_t count = 16; count < 200; count++)
        counts.push_back(count);
    for (const std::size_t count : counts)
        for (const int bits : widths) {
            slot_list a = random_slots(count, random);
            slot_list b = a;
            for (std::uint32_t& slot : b)
                if (random.below(count > 4000 ? 16 : 2) == 0 || count == 4096)
                    slot = static_cast<std::uint32_t>(random.next());
            const packed_signature x = compress(view(a), bits);
            const packed_signature y = compress(view(b), bits);
            std::uint32_t equal = 0;
            for (std::size_t slot = 0; slot < count; slot++)
                equal += minhash::slot_of(x.view(), slot) == minhash::slot_of(y.view(), slot);
            const auto exact_x = support::exact_copy<std::uint8_t>(x.bytes.data(), x.bytes.size());
            const auto exact_y = support::exact_copy<std::uint8_t>(y.bytes.data(), y.bytes.size());
            for (const minhash::kernel_table* const table : minhash::runnable_kernels()) {
                minhash::kernels = table;
                ASSERT_EQ(minhash::count_equal(x.scheme, exact_x.get(), exact_y.get()), equal)
                    << table->name << ", " << bits << " bits, " << count << " slots";
            }
        }
    minhash::kernels = former;
}

TEST(compress, every_table_counts_agreements_of_many_with_one)
{
    const auto* const former = minhash::kernels;
    support::random_source random = {83};
    constexpr std::size_t copies = 5;
    std::vector<std::size_t> counts = {4095, 4096};
    for (std::size_t count = 16; count < 200; count++)
        counts.push_back(count);
    for (const std::size_t count : counts) {
        const packed_signature query = compress(view(random_slots(count, random)), 8);
        const std::size_t stride = count + 1 + random.below(9);
        std::vector<std::uint8_t> bytes((copies - 1) * stride + count);
        std::vector<std::uint16_t> expected(copies);
        for (std::size_t copy = 0; copy < copies; copy++)
            for (std::size_t slot = 0; slot < count; slot++) {
                std::uint8_t& byte = bytes[copy * stride + slot];
                byte = query.bytes[slot];
                if (random.below(copies) < copy)
                    byte = static_cast<std::uint8_t>(random.next());
                expected[copy] += byte == query.bytes[slot];
            }
        const auto exact = support::exact_copy<std::uint8_t>(bytes.data(), bytes.size());
        const auto exact_query = support::exact_copy<std::uint8_t>(query.bytes.data(), count);
        for (const minhash::kernel_table* const table : minhash::runnable_kernels()) {
            minhash::kernels = table;
            std::vector<std::uint16_t> agreements(copies);
            minhash::count_agreements(exact.get(),
                                      stride,
                                      copies,
                                      exact_query.get(),
                                      query.scheme.num_hashes,
                                      agreements.data());
            ASSERT_EQ(agreements, expected) << table->name << ", " << count << " slots";
        }
    }
    minhash::kernels = former;
}

TEST(compress, kernels_keep_the_same_bits)
{
    const auto* const former = minhash::kernels;
    support::random_source random = {84};
    for (std::size_t count = 16; count < 200; count++) {
        const support::slot_list slots = random_slots(count, random);
        const auto exact = support::exact_copy<std::uint32_t>(slots.data(), count);
        minhash::signature given = view(slots);
        given.slots = {exact.get(), count};
        for (const minhash::kernel_table* const table : minhash::runnable_kernels()) {
            minhash::kernels = table;
            for (const int bits : {4, 8}) {
                const packed_signature packed = compress(given, bits);
                for (std::size_t slot = 0; slot < count; slot++)
                    ASSERT_EQ(minhash::slot_of(packed.view(), slot), slots[slot] * 0x9E3779B1 >> (32 - bits))
                        << table->name << ", slot " << slot << " of " << count;
            }
        }
    }
    minhash::kernels = former;
}

TEST(compress, similarity_leaves_out_accidents)
{
    scheme scheme = support::default_scheme;
    EXPECT_EQ(minhash::similarity_of(scheme, 32), 0.25);
    for (const int bits : widths) {
        scheme.bits = static_cast<std::uint8_t>(bits);
        EXPECT_EQ(minhash::similarity_of(scheme, 128), 1);
        EXPECT_EQ(minhash::similarity_of(scheme, 0), 0);
    }
    scheme.bits = 1;
    EXPECT_EQ(minhash::similarity_of(scheme, 64), 0);
    EXPECT_EQ(minhash::similarity_of(scheme, 96), 0.5);
    scheme.bits = 2;
    EXPECT_EQ(minhash::similarity_of(scheme, 80), 0.5);
}

TEST(compress, least_equal_slots_reach_the_similarity_and_one_fewer_does_not)
{
    scheme scheme = support::default_scheme;
    for (const int bits : {1, 2, 4, 8, 16, 32})
        for (const int hashes : {1, 7, 128, 4096})
            for (const double similarity : {0.0, 0.001, 0.1, 1.0 / 3, 0.5, 0.7, 0.8, 0.999, 1.0}) {
                scheme.bits = static_cast<std::uint8_t>(bits);
                scheme.num_hashes = static_cast<std::uint16_t>(hashes);
                const std::uint32_t least = minhash::least_equal_slots(scheme, similarity);
                ASSERT_LE(least, scheme.num_hashes);
                EXPECT_GE(minhash::similarity_of(scheme, least), similarity);
                if (least > 0) {
                    EXPECT_LT(minhash::similarity_of(scheme, least - 1), similarity);
                }
            }
}

// Estimates must have no bias, and no more error than theory predicts. (For few elements, the method fss has less
// error.)
TEST(compress, estimates_are_as_exact_as_theory_says)
{
    constexpr int trials = 1500;
    constexpr int shared = 80;
    constexpr int either = 100;
    constexpr double jaccard = static_cast<double>(shared) / either;
    const auto sketches = std::make_unique<minhash::sketch[]>(2);
    for (const minhash::method method : {minhash::method::fss, minhash::method::classic})
        for (const int bits : widths) {
            support::random_source random = {static_cast<std::uint64_t>(83 + bits)};
            scheme scheme = support::default_scheme;
            double sum = 0;
            double squares = 0;
            for (int trial = 0; trial < trials; trial++) {
                slot_list lo = random_slots(either + minhash::padding, random);
                slot_list hi = random_slots(either + minhash::padding, random);
                packed_signature sides[2];
                for (int side = 0; side < 2; side++) {
                    minhash::start(sketches[side], method, scheme.num_hashes);
                    const int from = side == 0 ? 0 : (either - shared) / 2;
                    minhash::absorb(sketches[side], &lo[from], &hi[from], (either + shared) / 2);
                    sides[side] = compress({scheme, {sketches[side].slots, scheme.num_hashes}}, bits);
                }
                // similarity_of() does not return less than 0. Here it is far from 0, so no estimate is changed.
                const double error =
                    minhash::similarity_of(
                        sides[0].scheme,
                        minhash::count_equal(sides[0].scheme, sides[0].bytes.data(), sides[1].bytes.data())) -
                    jaccard;
                sum += error;
                squares += error * error;
            }
            const double theory = minhash::standard_error(jaccard, scheme.num_hashes, bits);
            EXPECT_LT(std::abs(sum / trials), 4 * theory / std::sqrt(trials)) << bits;
            const double ratio = squares / trials / (theory * theory);
            EXPECT_LT(ratio, 1.15) << bits; // four standard errors of a variance
            EXPECT_GT(ratio, method == minhash::method::fss ? 0.45 : 0.85) << bits;
        }
}

} // namespace
