#include "bulk/sets/placed_elements.h"

#include "core/probe.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "support.h"

namespace {

using minhash::bulk::placed_elements;
using reference::hash_list;

// A set with memory of its own, by the word, so that AddressSanitizer sees every step outside.
struct placed_set {
    std::vector<std::uint64_t> words;
    placed_elements set;

    explicit placed_set(const hash_list& elements)
        : words(minhash::bulk::most_placed_words(elements.size())),
          set(minhash::bulk::place_elements(elements, words.data()))
    {
        EXPECT_LE(placed_words(set), words.size());
    }
};

// Elements whose groups are the first 1 / 2^bits of all.
hash_list crowded(support::random_source& random, std::size_t count, int bits)
{
    hash_list found;
    while (found.size() < count) {
        const std::uint64_t element = random.next();
        if (bits == 0 || minhash::place_of(element) >> (64 - bits) == 0)
            found.push_back(element);
    }
    return found;
}

TEST(placed_elements, common_ones_are_counted)
{
    support::random_source random = {91};
    for (int round = 0; round < 2000; round++) {
        const int bits = round % 8; // with 7, all of them lie in one group or two
        const std::size_t shared = random.below(bits == 7 ? 40 : 150);
        const hash_list common = crowded(random, shared, bits);
        hash_list rows[2];
        for (hash_list& row : rows) {
            row = crowded(random, random.below(bits == 7 ? 40 : 107), bits);
            row.insert(row.end(), common.begin(), common.end());
            for (std::size_t left = row.size(); left > 1; left--)
                std::swap(row[random.below(left)], row[left - 1]);
        }
        const placed_set first(rows[0]);
        const placed_set second(rows[1]);
        ASSERT_EQ(count_common(first.set, second.set), shared);
        ASSERT_EQ(count_common(second.set, first.set), shared);
        ASSERT_EQ(count_common(first.set, first.set), rows[0].size());
    }
}

} // namespace
