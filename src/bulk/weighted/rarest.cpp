#include "bulk/weighted/rarest.h"

#include "core/hash.h"
#include "core/tuning.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

namespace {

// The usual number of draws; and how many times as many shingles must be indexed otherwise before a sample is drawn.
constexpr std::uint32_t usual_draws = 24;
constexpr std::uint32_t most_draws = 512;
constexpr std::uint32_t draws_pay = 3;

// Sums of weights are rounded, so a row's slack is made larger by this share of its norm.
constexpr double rounding = 1e-9;

double random_fraction(std::uint64_t digest, std::uint64_t number)
{
    return static_cast<double>(fmix64(digest + number * 0x9E3779B97F4A7C15) >> 11) * 0x1p-53;
}

} // namespace

rare_plan
choose_rarest(rare_choice& choice, host& owner, std::span<const std::uint64_t> list, const rare_wanted& wanted)
{
    if (list.empty())
        return {};
    const std::span<const double> sums(choice.sums.values, list.size());
    const double near = wanted.threshold * wanted.norm; // a near row has at least this weight of the row's shingles
    const double slack = sums.back() - near + rounding * wanted.norm;
    if (slack < 0)
        return {};
    // How many shingles have at least this weight, the rarest first.
    const auto count_for = [sums](double weight) {
        const auto at = std::lower_bound(sums.begin(), sums.end(), weight);
        return std::min(static_cast<std::size_t>(at - sums.begin()) + 1, sums.size());
    };
    const std::size_t count = count_for(slack + more_indexed * near);
    const auto id_at = [list](std::size_t at) { return static_cast<std::uint32_t>(list[at]); };

    if (wanted.missed > 0 && count > std::size_t{draws_pay} * usual_draws) {
        const std::size_t pool = std::max<std::size_t>(count_for(2 * slack), std::min<std::size_t>(64, list.size()));
        const double chance = 1 - slack / sums[pool - 1];
        // How many of the draws a near row has, if too few pairs to matter are missed.
        const auto least_of = [&](std::uint32_t drawn) {
            return static_cast<std::uint32_t>(least_agreement(chance, static_cast<int>(drawn), wanted.missed));
        };
        std::uint32_t draws = usual_draws;
        std::uint32_t least = least_of(draws);
        for (; least < least_drawn && draws < most_draws; least = least_of(draws))
            draws *= 2;
        if (least >= least_drawn && count > std::size_t{draws_pay} * draws) {
            grow(owner, choice.ids, 0, draws);
            for (std::uint32_t i = 0; i < draws; i++) {
                const double at = random_fraction(wanted.digest, i) * sums[pool - 1];
                const auto found = std::upper_bound(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(pool), at);
                choice.ids.values[i] = id_at(std::min(static_cast<std::size_t>(found - sums.begin()), pool - 1));
            }
            return {draws, 0, least};
        }
    }
    grow(owner, choice.ids, 0, count);
    for (std::size_t i = 0; i < count; i++)
        choice.ids.values[i] = id_at(i);
    return {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(std::min(count_for(slack), count)), 0};
}

namespace {

std::size_t buckets_for(std::uint64_t ids) noexcept
{
    return std::min<std::size_t>(std::bit_ceil(ids + 1), std::size_t{1} << 30);
}

// Eight bits an id.
std::size_t filter_bits_for(std::uint64_t ids) noexcept { return std::max<std::size_t>(8 * buckets_for(ids), 64); }

} // namespace

std::size_t index_bytes(const rare_index_dimensions& dimensions) noexcept
{
    return filter_bits_for(dimensions.ids) / 8 +
           (buckets_for(dimensions.ids) * dimensions.sides + 1 + dimensions.rows + dimensions.ids) *
               sizeof(std::uint32_t);
}

index_of_rare open_index(void* memory, const rare_index_dimensions& dimensions) noexcept
{
    index_of_rare index = {};
    index.dimensions = dimensions;
    index.mask = buckets_for(dimensions.ids) - 1;
    index.filter_mask = filter_bits_for(dimensions.ids) - 1;
    index.filter = static_cast<std::uint64_t*>(memory);
    index.starts = reinterpret_cast<std::uint32_t*>(index.filter + (index.filter_mask + 1) / 64);
    index.needed = reinterpret_cast<float*>(index.starts + (index.mask + 1) * dimensions.sides + 1);
    index.postings = reinterpret_cast<std::uint32_t*>(index.needed + dimensions.rows);
    return index;
}

} // namespace minhash::bulk
