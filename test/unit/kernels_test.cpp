// Every table of kernels must return what the baseline returns. The other tests run once for each table, and compare
// the table in use with the reference.
#include "core/kernels.h"

#include <gtest/gtest.h>

#include "support.h"
#include "texts.h"

namespace {

using minhash::kernel_table;

// Holds the kernels in use, and restores them at the end.
struct kernels_guard {
    const kernel_table* const before = minhash::kernels;

    ~kernels_guard() { minhash::kernels = before; }
};

TEST(kernels, the_slowest_come_first_and_have_names)
{
    const auto runnable = minhash::runnable_kernels();
    ASSERT_FALSE(runnable.empty());
    EXPECT_STREQ(runnable.front()->name, "baseline");
    EXPECT_EQ(minhash::find_kernels("auto"), runnable.back());
    EXPECT_EQ(minhash::find_kernels("no such kernels"), nullptr);
    for (const kernel_table* const table : runnable)
        EXPECT_EQ(minhash::find_kernels(table->name), table);
}

// Characters that folding changes, or that separate words, stand among others that vector code copies unchanged, each
// at several distances from the start of a vector.
TEST(kernels, every_code_point_is_folded_as_the_reference_says)
{
    const minhash::shingling ways[] = {{minhash::unit::character, 5, true, false},
                                       {minhash::unit::word, 5, true, false},
                                       {minhash::unit::word, 5, false, false}};
    for (unsigned long first = 0x20; first <= 0x10FFFF; first += 0x400) {
        std::string text;
        for (unsigned long code = first; code < first + 0x400 && code <= 0x10FFFF; code++) {
            if (code >= 0xD800 && code <= 0xDFFF)
                continue;
            text += reference::encode(code);
            text += code % 7 == 0 ? "ab" : code % 3 == 0 ? "\xE4\xB8\x80" : "";
        }
        for (const minhash::shingling& how : ways)
            ASSERT_EQ(support::fold(text, how), reference::fold(text, how))
                << "from U+" << std::hex << first << ", " << texts::describe(how);
    }
}

TEST(kernels, long_texts_of_all_kinds_get_equal_signatures)
{
    if (minhash::kernels != minhash::runnable_kernels().back())
        GTEST_SKIP() << "compares all tables in one go";
    const kernels_guard guard;
    support::random_source random = {11};
    for (const texts::kind& kind : texts::kinds) {
        const std::string text = texts::make(kind, 100000, random);
        for (const minhash::shingling& how : texts::shinglings({5, 9})) {
            minhash::scheme scheme = support::default_scheme;
            scheme.shingles = how;
            scheme.num_hashes = how.size == 9 ? 1500 : 128;
            minhash::kernels = minhash::runnable_kernels().front();
            const auto expected = support::sign(text, scheme);
            for (const kernel_table* const table : minhash::runnable_kernels().subspan(1)) {
                minhash::kernels = table;
                ASSERT_EQ(support::sign(text, scheme), expected)
                    << table->name << ", " << kind.name << ", " << texts::describe(how);
            }
        }
    }
}

TEST(kernels, integers_are_hashed_as_the_reference_says)
{
    const kernels_guard guard;
    support::random_source random = {12};
    for (std::size_t count = 0; count < 200; count++) {
        std::vector<std::int64_t> values(count + minhash::padding, 0x5A5A5A5A5A5A5A5A);
        for (std::size_t index = 0; index < count; index++)
            values[index] = static_cast<std::int64_t>(random.next() >> random.below(64));
        const auto exact = support::exact_copy<std::int64_t>(values.data(), values.size());
        const auto seed = static_cast<std::int64_t>(random.next());
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            const std::size_t room = count + minhash::padding;
            const std::unique_ptr<std::uint32_t[]> lo(new std::uint32_t[room]);
            const std::unique_ptr<std::uint32_t[]> hi(new std::uint32_t[room]);
            table->hash_integers(exact.get(), count, seed, lo.get(), hi.get());
            for (std::size_t index = 0; index < count; index++)
                ASSERT_EQ(minhash::join(lo[index], hi[index]), reference::hash_integer(values[index], seed))
                    << table->name << ", " << index << " of " << count;
        }
    }
}

TEST(kernels, occurrences_are_hashed_as_the_scheme_says)
{
    const kernels_guard guard;
    support::random_source random = {13};
    for (std::size_t count = 0; count < 200; count++) {
        const std::size_t room = count + minhash::padding;
        support::slot_list lo(room), hi(room), occurrences(room);
        for (std::size_t index = 0; index < count; index++) {
            minhash::split(random.next(), lo[index], hi[index]);
            occurrences[index] = static_cast<std::uint32_t>(random.next() >> random.below(64));
        }
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            const auto new_lo = support::exact_copy<std::uint32_t>(lo.data(), room);
            const auto new_hi = support::exact_copy<std::uint32_t>(hi.data(), room);
            table->hash_occurrences(new_lo.get(), new_hi.get(), occurrences.data(), count);
            for (std::size_t index = 0; index < count; index++)
                ASSERT_EQ(minhash::join(new_lo[index], new_hi[index]),
                          minhash::hash_occurrence(minhash::join(lo[index], hi[index]), occurrences[index]))
                    << table->name << ", " << index << " of " << count;
        }
    }
}

TEST(kernels, halves_are_joined_to_elements_other_than_zero)
{
    support::random_source random = {14};
    for (std::size_t count = 0; count < 200; count++) {
        const std::size_t room = count + minhash::padding;
        support::slot_list lo(room), hi(room);
        for (std::size_t index = 0; index < count; index++)
            minhash::split(random.below(4) == 0 ? 0 : random.next() << random.below(64), lo[index], hi[index]);
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            const std::unique_ptr<std::uint64_t[]> elements(new std::uint64_t[count]);
            table->join_halves(lo.data(), hi.data(), count, elements.get());
            for (std::size_t index = 0; index < count; index++) {
                const std::uint64_t joined = minhash::join(lo[index], hi[index]);
                ASSERT_EQ(elements[index], joined == 0 ? 1 : joined) << table->name << ", " << index << " of " << count;
            }
        }
    }
}

TEST(kernels, elements_with_small_upper_halves_are_kept)
{
    support::random_source random = {17};
    for (std::size_t count = 0; count < 200; count++) {
        const std::size_t room = count + minhash::padding;
        support::slot_list lo(room), hi(room);
        const std::uint64_t flip = random.below(2) == 0 ? 0 : random.next();
        const auto most = static_cast<std::uint32_t>(random.next() << random.below(33) >> 32);
        std::vector<std::uint32_t> expected;
        for (std::size_t index = 0; index < count; index++) {
            const std::uint64_t given[] = {0, flip, flip ^ std::uint64_t{most} << 32, random.next()};
            minhash::split(given[random.below(4)], lo[index], hi[index]);
            const std::uint64_t mixed = minhash::element_of(lo[index], hi[index]) ^ flip;
            if (mixed >> 32 <= most)
                expected.push_back(std::max(minhash::low(mixed), 1u));
        }
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            support::slot_list kept(room);
            kept.resize(table->keep_small(lo.data(), hi.data(), count, flip, most, kept.data()));
            ASSERT_EQ(kept, expected) << table->name << ", " << count;
        }
    }
}

TEST(kernels, a_filter_keeps_its_numbers_and_few_others)
{
    support::random_source random = {18};
    for (const int bits : {1, 3, 10, 20}) {
        std::vector<std::uint32_t> words(std::size_t{1} << bits);
        const minhash::number_filter filter = {words.data(), static_cast<std::uint32_t>(random.next()) | 1, 32 - bits};
        support::slot_list numbers(1000);
        for (std::uint32_t& number : numbers)
            filter.add(number = static_cast<std::uint32_t>(random.next()));
        const auto exact = support::exact_copy<std::uint32_t>(numbers.data(), numbers.size());
        support::slot_list others(1000);
        for (std::uint32_t& number : others)
            number = static_cast<std::uint32_t>(random.next());
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            support::slot_list kept(1000);
            ASSERT_EQ(table->keep_known(filter, exact.get(), 1000, kept.data()), 1000u) << table->name;
            EXPECT_EQ(kept, numbers) << table->name;
            const std::size_t by_chance = table->keep_known(filter, others.data(), 1000, kept.data());
            EXPECT_LE(by_chance, bits == 20 ? 5u : 1000u) << table->name;
        }
    }
}

TEST(kernels, marks_are_packed_to_bits_and_counted)
{
    support::random_source random = {16};
    for (std::size_t words = 0; words < 40; words++) {
        std::vector<std::uint8_t> marks(words * 64);
        std::vector<std::uint64_t> expected(words);
        std::size_t set = 0;
        for (std::size_t place = 0; place < marks.size(); place++)
            if (random.below(words % 7 + 2) == 0) {
                marks[place] = 255;
                expected[place / 64] |= std::uint64_t{1} << place % 64;
                set++;
            }
        const auto exact = support::exact_copy<std::uint8_t>(marks.data(), marks.size());
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            const std::unique_ptr<std::uint64_t[]> bits(new std::uint64_t[words]);
            EXPECT_EQ(table->pack_marks(exact.get(), words, bits.get()), set) << table->name;
            EXPECT_EQ(std::vector<std::uint64_t>(bits.get(), bits.get() + words), expected) << table->name;
        }
    }
}

TEST(kernels, slots_are_compared_and_merged_without_reading_beyond_them)
{
    const kernels_guard guard;
    support::random_source random = {5};
    for (std::uint32_t count = 8; count < 300; count++) {
        support::slot_list a(count), b(count), least(count);
        std::uint32_t equal = 0;
        for (std::uint32_t slot = 0; slot < count; slot++) {
            a[slot] = static_cast<std::uint32_t>(random.below(3)) * 0x7FFFFFFF;
            b[slot] = static_cast<std::uint32_t>(random.below(3)) * 0x7FFFFFFF;
            equal += a[slot] == b[slot];
            least[slot] = std::min(a[slot], b[slot]);
        }
        const auto exact_a = support::exact_copy<std::uint32_t>(a.data(), count);
        const auto exact_b = support::exact_copy<std::uint32_t>(b.data(), count);
        for (const kernel_table* const table : minhash::runnable_kernels()) {
            minhash::kernels = table;
            EXPECT_EQ(minhash::kernels->count_equal(exact_a.get(), exact_b.get(), count), equal);
            const auto merged = support::exact_copy<std::uint32_t>(b.data(), count);
            minhash::kernels->merge(exact_a.get(), merged.get(), count, merged.get());
            EXPECT_EQ(support::slot_list(merged.get(), merged.get() + count), least);
        }
    }
}

} // namespace
