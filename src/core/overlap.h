// The numbers from which the exact similarities of two sets or bags are computed.
#pragma once

#include <cassert>
#include <cstdint>

namespace minhash {

// The sizes of two sets or bags and of their intersection. In the intersection of two bags, each element has the
// smaller of its two counts. The size of the union is first + second - shared.
struct overlap {
    std::uint64_t first;
    std::uint64_t second;
    std::uint64_t shared;
};

// jaccard() divides the size of the intersection by the size of the union, and containment() divides it by the size of
// the first set. Both are 0 if the divisor is 0.
constexpr double jaccard(const overlap& sizes) noexcept
{
    assert(sizes.shared <= sizes.first && sizes.shared <= sizes.second);
    const std::uint64_t either = sizes.first + sizes.second - sizes.shared;
    return either == 0 ? 0 : static_cast<double>(sizes.shared) / static_cast<double>(either);
}

constexpr double containment(const overlap& sizes) noexcept
{
    assert(sizes.shared <= sizes.first);
    return sizes.first == 0 ? 0 : static_cast<double>(sizes.shared) / static_cast<double>(sizes.first);
}

} // namespace minhash
