// Sorting by counting: for whoever sorts so many numbers that comparing them would take several times as long.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace minhash {

// For counting sorts. Turns the number of values in each group into the position of the group's first value, and
// returns the number of all values. Whoever then puts a value of group i at position counts[i]++ turns it into the
// position after the group's last value.
template <typename Count>
Count sum_counts(std::span<Count> counts)
{
    Count total = 0;
    for (Count& count : counts)
        total += std::exchange(count, total);
    return total;
}

// Sorts values by radix, one byte after the other. The bytes below `first_byte` must be in order already: of values
// that differ only in them, the lower one comes first. Bytes that are the same in all values are left out. Calls
// pause() before each pass. `other` is as long as `values`; returns the array that holds the result.
template <int first_byte, typename Pause>
std::uint64_t* radix_sort(std::uint64_t* values, std::uint64_t* other, std::size_t count, Pause pause)
{
    constexpr std::size_t few_values = 64; // are sorted by comparison, because a radix sort has a fixed cost
    if (count <= few_values) {
        std::sort(values, values + count);
        return values;
    }
    constexpr int passes = static_cast<int>(sizeof(std::uint64_t)) - first_byte;
    const auto digit = [](std::uint64_t value, int pass) { return value >> 8 * (first_byte + pass) & 255; };
    std::array<std::uint32_t, 256> starts[passes] = {};
    for (std::size_t at = 0; at < count; at++)
        for (int pass = 0; pass < passes; pass++)
            starts[pass][digit(values[at], pass)]++;
    for (int pass = 0; pass < passes; pass++) {
        pause();
        if (starts[pass][digit(values[0], pass)] == count)
            continue;
        sum_counts<std::uint32_t>(starts[pass]);
        for (std::size_t at = 0; at < count; at++)
            other[starts[pass][digit(values[at], pass)]++] = values[at];
        std::swap(values, other);
    }
    return values;
}

} // namespace minhash
