#include "core/cardinality.h"
#include "core/sketch.h"

#include <cassert>
#include <cmath>

namespace minhash {

namespace {

// A slot as a number in (0, 1): the middle of the range that it stands for.
double unit_value(std::uint32_t slot, int bits) noexcept { return (slot + 0.5) / std::ldexp(1.0, bits); }

double estimate_classic(std::span<const std::uint32_t> slots) noexcept
{
    double sum = 0;
    for (const std::uint32_t slot : slots)
        sum -= std::log1p(-unit_value(slot, 32));
    return static_cast<double>(slots.size() - 1) / sum;
}

double estimate_fss(std::span<const std::uint32_t> slots) noexcept
{
    double hit = 0;
    double sum = 0;
    for (const std::uint32_t slot : slots)
        if (slot < later_round_code) {
            hit++;
            sum += unit_value(slot, 31);
        }
    const double count = static_cast<double>(slots.size());
    return count * hit / (sum + count - hit);
}

} // namespace

double estimate_cardinality(const signature& value) noexcept
{
    if (value.empty())
        return 0;
    assert(value.scheme.bits == bits_per_slot);
    switch (value.scheme.method) {
    case method::fss:
        return estimate_fss(value.slots);
    case method::classic:
        return estimate_classic(value.slots);
    case method::external:
        break;
    }
    assert(false);
    return 0;
}

} // namespace minhash
