// What the exact similarities of two sets or bags are computed from.
#pragma once

#include <cassert>
#include <cstdint>

namespace minhash {

// Sizes of the two and of their intersection. A bag's intersection takes the smaller of two counts;
// the size of the union is first + second - shared.
struct overlap {
    std::uint64_t first;
    std::uint64_t second;
    std::uint64_t shared;
};

// The size of the intersection over that of the union, or over that of the first: 0 where there is
// nothing to share.
constexpr double jaccard(const overlap& sizes) noexcept
{
    assert(sizes.shared <= sizes.first && sizes.shared <= sizes.second);
    const std::uint64_t either = sizes.first + sizes.second - sizes.shared;
    return either == 0 ? 0 : static_cast<double>(sizes.shared) / static_cast<double>(either);
}

constexpr double containment(const overlap& sizes) noexcept
{
    assert(sizes.shared <= sizes.first);
    return sizes.first == 0 ? 0
                            : static_cast<double>(sizes.shared) / static_cast<double>(sizes.first);
}

} // namespace minhash
