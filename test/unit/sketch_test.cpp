#include <gtest/gtest.h>
#include <numeric>

#include "support.h"

namespace {

using minhash::method;
using reference::hash_list;
using reference::slot_list;

constexpr method methods[] = {method::fss, method::classic};

// Passes the elements to the sketch in batches; `next_size` returns the size of each.
template <typename NextSize>
slot_list sketch_in_batches(method method, const hash_list& elements, std::uint32_t num_hashes, NextSize next_size)
{
    const auto state = std::make_unique<minhash::sketch>();
    minhash::start(*state, method, num_hashes);
    for (auto at = elements.begin(); at != elements.end();) {
        const auto left = static_cast<std::size_t>(elements.end() - at);
        const auto end = at + static_cast<std::ptrdiff_t>(std::min(left, next_size()));
        support::absorb(*state, hash_list(at, end));
        at = end;
    }
    return support::slots_of(*state);
}

TEST(sketch, equals_the_reference)
{
    support::random_source random = {31};
    for (const std::uint32_t num_hashes : {8u, 12u, 16u, 17u, 64u, 100u, 128u, 200u, 512u, 1000u, 4096u}) {
        for (const std::size_t count : {0u, 1u, 2u, 5u, 20u, 100u, 1000u, 20000u}) {
            const hash_list elements = support::random_hashes(random, count);
            for (const method method : methods) {
                // The textbook multiplies every element with every slot, so the largest cases are skipped.
                if (method == method::classic && num_hashes * count > 4'000'000)
                    continue;
                ASSERT_EQ(support::sketch(method, elements, num_hashes),
                          reference::sketch(method, elements, num_hashes))
                    << minhash::name_of(method) << ", " << num_hashes << " hashes, " << count << " elements";
            }
        }
    }
}

// Sizes around those of vectors and of unrolled loops.
TEST(sketch, equals_the_reference_for_every_small_count)
{
    support::random_source random = {32};
    for (const std::uint32_t num_hashes : {8u, 9u, 16u, 31u, 32u, 33u, 100u, 127u, 130u}) {
        for (std::size_t count = 0; count <= 140; count++) {
            const hash_list elements = support::random_hashes(random, count);
            for (const method method : methods)
                ASSERT_EQ(support::sketch(method, elements, num_hashes),
                          reference::sketch(method, elements, num_hashes))
                    << minhash::name_of(method) << ", " << num_hashes << " hashes, " << count << " elements";
        }
    }
}

TEST(sketch, equals_the_reference_for_every_number_of_hashes)
{
    support::random_source random = {33};
    const hash_list few = support::random_hashes(random, 7);
    const hash_list many = support::random_hashes(random, 150);
    for (std::uint32_t num_hashes = 16; num_hashes <= 4096; num_hashes += 1 + num_hashes / 64) {
        for (const method method : methods) {
            ASSERT_EQ(support::sketch(method, few, num_hashes), reference::sketch(method, few, num_hashes))
                << num_hashes;
            ASSERT_EQ(support::sketch(method, many, num_hashes), reference::sketch(method, many, num_hashes))
                << num_hashes;
        }
    }
}

// The halves of these hashes are at the ends of their ranges, where signed comparisons would go wrong and bins would
// overflow.
TEST(sketch, equals_the_reference_for_extreme_hashes)
{
    static const std::uint64_t half[] =
        {0, 1, 7, 8, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xDFFFFFFF, 0xE0000000, 0xFFFFFFFE};
    hash_list elements;
    for (const std::uint64_t hi : half)
        for (const std::uint64_t lo : half)
            elements.push_back(hi << 32 | lo);
    for (const std::uint32_t num_hashes : {16u, 100u, 128u, 4096u}) {
        for (const method method : methods) {
            EXPECT_EQ(support::sketch(method, elements, num_hashes), reference::sketch(method, elements, num_hashes));
            for (const std::uint64_t element : elements)
                ASSERT_EQ(support::sketch(method, {element}, num_hashes),
                          reference::sketch(method, {element}, num_hashes))
                    << std::hex << element;
        }
    }
}

TEST(sketch, batches_make_no_difference)
{
    support::random_source random = {34};
    for (const std::uint32_t num_hashes : {16u, 100u, 128u, 512u, 4096u}) {
        for (const std::size_t count : {2u, 50u, 130u, 600u, 3000u}) {
            const hash_list elements = support::random_hashes(random, count);
            for (const method method : methods) {
                if (method == method::classic && num_hashes * count > 400'000)
                    continue;
                const slot_list whole = support::sketch(method, elements, num_hashes);
                const auto check = [&](const char* how, auto next_size) {
                    ASSERT_EQ(sketch_in_batches(method, elements, num_hashes, next_size), whole)
                        << minhash::name_of(method) << ", " << num_hashes << " hashes, " << count << " elements, "
                        << how;
                };
                if (num_hashes * count < 100'000)
                    check("one by one", [] { return std::size_t{1}; });
                check("thirteen by thirteen", [] { return std::size_t{13}; });
                check("at random", [&] { return 1 + random.below(count); });
                check("halves", [&] { return (count + 1) / 2; });
            }
        }
    }
}

TEST(sketch, order_and_repetition_make_no_difference)
{
    support::random_source random = {35};
    for (const std::uint32_t num_hashes : {16u, 128u, 512u}) {
        for (const std::size_t count : {1u, 20u, 300u}) {
            hash_list elements = support::random_hashes(random, count);
            for (const method method : methods) {
                const slot_list once = support::sketch(method, elements, num_hashes);
                hash_list twice = elements;
                twice.insert(twice.end(), elements.rbegin(), elements.rend());
                EXPECT_EQ(support::sketch(method, twice, num_hashes), once);
                EXPECT_EQ(sketch_in_batches(method, twice, num_hashes, [&] { return 1 + random.below(9); }), once);
                const hash_list reversed(elements.rbegin(), elements.rend());
                EXPECT_EQ(support::sketch(method, reversed, num_hashes), once);
            }
        }
    }
}

TEST(sketch, absorbing_nothing_changes_nothing)
{
    support::random_source random = {36};
    for (const method method : methods) {
        const auto state = std::make_unique<minhash::sketch>();
        minhash::start(*state, method, 100);
        support::absorb(*state, {});
        EXPECT_TRUE(minhash::is_empty(*state));
        EXPECT_EQ(support::slots_of(*state), slot_list(100, minhash::empty_slot));

        support::absorb(*state, support::random_hashes(random, 3));
        const slot_list before = support::slots_of(*state);
        support::absorb(*state, {});
        EXPECT_EQ(support::slots_of(*state), before);
        EXPECT_FALSE(minhash::is_empty(*state));

        minhash::start(*state, method, 4096);
        EXPECT_TRUE(minhash::is_empty(*state));
    }
}

// With the classic method, an element with the halves 0 and 0xFFFFFFFF leaves all slots as they are at the start.
// Somebody can make a text with such an element, because the mix is invertible.
TEST(sketch, no_element_leaves_a_sketch_empty)
{
    const std::string text = "e.Yl*\\<|";
    minhash::scheme scheme = support::default_scheme;
    scheme.shingles = {minhash::unit::character, 8, false, false};
    scheme.seed = 3367;
    ASSERT_EQ(support::cut(text, scheme.shingles, scheme.seed), hash_list{0xFFFFFFFF00000000u});
    for (const method method : methods) {
        scheme.method = method;
        EXPECT_EQ(support::sign(text, scheme), reference::sign(text, scheme)) << minhash::name_of(method);
    }
}

TEST(sketch, merge_is_the_sketch_of_the_union)
{
    support::random_source random = {37};
    for (const std::uint32_t num_hashes : {8u, 15u, 16u, 17u, 128u, 1000u, 4096u}) {
        for (const std::size_t count : {0u, 1u, 5u, 100u, 900u}) {
            for (const method method : methods) {
                if (method == method::classic && num_hashes * count > 1'000'000)
                    continue;
                hash_list left = support::random_hashes(random, count);
                hash_list right = support::random_hashes(random, 1 + random.below(2 * count + 1));
                right.insert(right.end(), left.begin(), left.begin() + left.size() / 3);
                hash_list both = left;
                both.insert(both.end(), right.begin(), right.end());

                slot_list a = support::sketch(method, left, num_hashes);
                slot_list b = support::sketch(method, right, num_hashes);
                slot_list least(num_hashes);
                for (std::uint32_t slot = 0; slot < num_hashes; slot++)
                    least[slot] = std::min(a[slot], b[slot]);

                slot_list merged(num_hashes);
                minhash::kernels->merge(a.data(), b.data(), num_hashes, merged.data());
                EXPECT_EQ(merged, least);
                EXPECT_EQ(merged, support::sketch(method, both, num_hashes));

                slot_list into_left = a;
                minhash::kernels->merge(into_left.data(), b.data(), num_hashes, into_left.data());
                EXPECT_EQ(into_left, merged);
                slot_list into_right = b;
                minhash::kernels->merge(a.data(), into_right.data(), num_hashes, into_right.data());
                EXPECT_EQ(into_right, merged);
            }
        }
    }
}

TEST(sketch, counts_equal_slots_by_position)
{
    support::random_source random = {38};
    for (const std::uint32_t num_hashes : {1u, 15u, 16u, 17u, 100u, 128u, 4095u, 4096u}) {
        slot_list a(num_hashes);
        std::iota(a.begin(), a.end(), 0xFFFFF000u);
        slot_list b = a;
        EXPECT_EQ(minhash::kernels->count_equal(a.data(), b.data(), num_hashes), num_hashes);
        std::uint32_t equal = num_hashes;
        for (std::uint32_t& slot : b) {
            if (random.below(3) == 0) {
                slot ^= 1u << random.below(32);
                equal--;
            }
        }
        EXPECT_EQ(minhash::kernels->count_equal(a.data(), b.data(), num_hashes), equal);
        // The same values at other places must not count.
        std::rotate(a.begin(), a.begin() + 1, a.end());
        if (num_hashes > 1) {
            slot_list ascending(num_hashes);
            std::iota(ascending.begin(), ascending.end(), 0xFFFFF000u);
            EXPECT_EQ(minhash::kernels->count_equal(a.data(), ascending.data(), num_hashes), 0u);
        }
    }
}

// Between any two batches, it is enough to keep the slots of a signature under construction.
TEST(sketch, goes_on_with_slots)
{
    support::random_source random = {39};
    for (const method method : {method::fss, method::classic}) {
        for (const std::uint32_t num_hashes : {16u, 128u, 1000u}) {
            const hash_list elements = support::random_hashes(random, 6000);
            const auto state = std::make_unique<minhash::sketch>();
            std::vector<std::uint32_t> slots;
            for (std::size_t at = 0; at < elements.size();) {
                const std::size_t count = std::min(1 + random.below(at < 100 ? 10 : 2000), elements.size() - at);
                if (at == 0)
                    minhash::start(*state, method, num_hashes);
                else
                    minhash::resume(*state, method, num_hashes, slots.data());
                const auto first = elements.begin() + static_cast<std::ptrdiff_t>(at);
                at += count;
                support::absorb(*state, {first, first + static_cast<std::ptrdiff_t>(count)});
                slots = support::slots_of(*state);
                const auto end = elements.begin() + static_cast<std::ptrdiff_t>(at);
                ASSERT_EQ(slots, reference::sketch(method, {elements.begin(), end}, num_hashes));
            }
        }
    }
}

} // namespace
