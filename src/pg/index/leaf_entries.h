// The entries of one leaf, collected in rising or falling order of their keys until no more fit, then packed.
#pragma once

#include "pg/index/format.h"

namespace minhash::pg::index {

struct leaf_entries {
    int count;
    int key_width;
    int number_width;
    std::uint64_t least_number;
    std::uint64_t most_number;

    // A page has hardly room for more.
    static constexpr int most = node_room / 2;
    std::uint64_t keys[most];
    std::uint64_t numbers[most];

    std::uint64_t least_key() const
    {
        return keys[0] < keys[count - 1] ? keys[0] : keys[count - 1];
    }
};

inline int width_of(std::uint64_t value)
{
    return value == 0 ? 1 : 64 - __builtin_clzll(value);
}

// False if there is no room for it.
inline bool add_entry(leaf_entries& leaf, std::uint64_t key, std::uint64_t number)
{
    if (leaf.count == 0) {
        leaf.key_width = leaf.number_width = 1;
        leaf.least_number = leaf.most_number = number;
    } else {
        const std::uint64_t least = number < leaf.least_number ? number : leaf.least_number;
        const std::uint64_t most = number > leaf.most_number ? number : leaf.most_number;
        const std::uint64_t first = leaf.keys[0];
        const int key_width = width_of(key < first ? first - key : key - first);
        const int number_width = width_of(most - least);
        if (leaf.count == leaf_entries::most || (leaf.count + 1) * (key_width + number_width) > node_room * 8)
            return false;
        leaf.key_width = key_width;
        leaf.number_width = number_width;
        leaf.least_number = least;
        leaf.most_number = most;
    }
    leaf.keys[leaf.count] = key;
    leaf.numbers[leaf.count++] = number;
    return true;
}

// Writes the entries, at least one, to an initialised page.
void pack_leaf(Page page, const leaf_entries& leaf);

} // namespace minhash::pg::index
