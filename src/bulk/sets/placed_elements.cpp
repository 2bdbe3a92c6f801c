#include "bulk/sets/placed_elements.h"

#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

// Entries of 0 are free. They lie in memory of words, of which they have the alignment.
constexpr std::size_t group_size = 4;
typedef std::uint32_t group __attribute__((vector_size(16), aligned(8), may_alias));
constexpr std::size_t group_words = sizeof(group) / sizeof(std::uint64_t);

// One to two elements a group in the mean.
std::size_t groups_for(std::size_t elements) noexcept
{
    return std::bit_ceil(std::max<std::size_t>(elements, 8)) / 2;
}

std::size_t group_of(std::uint64_t place, std::size_t groups) noexcept
{
    return place >> (64 - std::bit_width(groups - 1));
}

std::uint32_t entry_of(std::uint64_t place) noexcept
{
    const auto entry = static_cast<std::uint32_t>(place);
    return entry == 0 ? 1 : entry;
}

const group* groups_of(const placed_elements& set) noexcept
{
    return reinterpret_cast<const group*>(set.words);
}

std::span<const std::uint64_t> surplus_of(const placed_elements& set) noexcept
{
    return {set.words + set.groups * group_words, set.surplus};
}

bool has_entry(const placed_elements& set, std::uint64_t place) noexcept
{
    const group& entries = groups_of(set)[group_of(place, set.groups)];
    for (std::size_t lane = 0; lane < group_size; lane++)
        if (entries[lane] == entry_of(place))
            return true;
    return false;
}

// How many entries of a set are in the groups of another one, which has fewer.
std::size_t count_in_fewer_groups(const placed_elements& a, const placed_elements& b) noexcept
{
    const group* const first = groups_of(a);
    const group* const second = groups_of(b);
    const int shift = std::bit_width(a.groups) - std::bit_width(b.groups);
    group equal = {};
    for (std::size_t at = 0; at < a.groups; at++) {
        const group entries = first[at];
        const group others = second[at >> shift];
        const auto same = (entries == others[0]) | (entries == others[1]) | (entries == others[2]) |
                          (entries == others[3]);
        equal -= static_cast<group>(same & (entries != 0));
    }
    return equal[0] + equal[1] + equal[2] + equal[3];
}

} // namespace

std::size_t most_placed_words(std::size_t elements) noexcept
{
    return groups_for(elements) * group_words + elements;
}

placed_elements place_elements(std::span<const std::uint64_t> elements,
                               std::uint64_t* words) noexcept
{
    assert(elements.size() <= most_placed_elements);
    const std::size_t groups = groups_for(elements.size());
    std::fill_n(words, groups * group_words, 0);
    group* const entries = reinterpret_cast<group*>(words);
    std::uint64_t* const surplus = words + groups * group_words;
    std::uint32_t left = 0;
    std::uint8_t used[most_placed_elements / 2] = {};
    const probe_secret secret = probing;
    for (const std::uint64_t element : elements) {
        const std::uint64_t place = place_of(element, secret);
        const std::size_t at = group_of(place, groups);
        if (used[at] < group_size)
            entries[at][used[at]++] = entry_of(place);
        else
            surplus[left++] = place;
    }
    return {words, static_cast<std::uint32_t>(groups), left};
}

std::size_t placed_words(const placed_elements& set) noexcept
{
    return set.groups * group_words + set.surplus;
}

std::size_t count_common(const placed_elements& a, const placed_elements& b) noexcept
{
    if (a.groups < b.groups)
        return count_common(b, a);
    std::size_t common =
        a.groups == b.groups
            ? kernels->count_common_entries(reinterpret_cast<const std::uint32_t*>(a.words),
                                            reinterpret_cast<const std::uint32_t*>(b.words),
                                            a.groups)
            : count_in_fewer_groups(a, b);
    const std::span<const std::uint64_t> rest = surplus_of(b);
    for (const std::uint64_t place : surplus_of(a))
        common += has_entry(b, place) || std::find(rest.begin(), rest.end(), place) != rest.end();
    for (const std::uint64_t place : rest)
        common += has_entry(a, place);
    return common;
}

} // namespace minhash::bulk
