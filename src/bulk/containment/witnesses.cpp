#include "bulk/containment/witnesses.h"

#include "core/overlap.h"
#include "core/tuning.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace minhash::bulk {

namespace {

// The usual number of witnesses of a row. With fewer witnesses, more pairs of rows would be compared that turn out not
// to be contained in each other. With more witnesses, the index would be larger.
constexpr std::uint32_t usual_witnesses = 24;

// Witnesses are drawn from a pool of shingles. The size of the pool is twice the number of shingles that may be
// missing, plus this constant, so that the pool is large enough even at thresholds near 1.
constexpr std::uint64_t least_pool = usual_witnesses;

// The maximum number of rows whose shingles are counted, and the number of counters for each such row. A counter has 16
// bits. Different shingles may share a counter.
constexpr std::uint32_t most_counted = 32 * 1024;
constexpr std::uint32_t most_counted_crossing = 4 * 1024;
constexpr std::size_t counters_for_each = 64;

// Frequencies are divided into classes, four from each power of two to the next. (These are the exponent and two bits
// of the fraction of a floating-point number. Unlike the width of an integer, they are computed without a branch.)
constexpr std::size_t class_of(std::uint16_t frequency) noexcept
{
    constexpr int fraction_bits = 23 - 2;
    constexpr std::uint32_t class_of_one = std::bit_cast<std::uint32_t>(1.0F) >> fraction_bits;
    return (std::bit_cast<std::uint32_t>(static_cast<float>(frequency + (frequency == 0))) >> fraction_bits) -
           class_of_one;
}

constexpr std::size_t frequency_classes = class_of(most_counts) + 1;
static_assert(frequency_classes <= std::numeric_limits<std::uint8_t>::max());

// The largest k for which P(fewer than k of the `drawn` shingles are shared) is at most `missed`.
std::uint32_t least_drawn(std::uint64_t pool, std::uint64_t shared, std::uint32_t drawn, double missed) noexcept
{
    const double others = static_cast<double>(pool - shared);
    const double all = static_cast<double>(pool);
    const double good = static_cast<double>(shared);
    const double count = drawn;
    double number = std::max(0.0, count - others);
    double chance = std::exp(log_choose(good, number) + log_choose(others, count - number) - log_choose(all, count));
    // Among `count` drawn shingles, at least `number` are always shared. (`chance` is 0 if it is too small for a
    // double.)
    if (missed <= 0 || chance <= 0)
        return static_cast<std::uint32_t>(number);
    double below = chance;
    while (below <= missed && number < count) {
        chance *= (good - number) * (count - number) / ((number + 1) * (others - count + number + 1));
        number++;
        below += chance;
    }
    return static_cast<std::uint32_t>(number);
}

} // namespace

witness_plan plan_witnesses(std::uint64_t pool, std::uint64_t shared, double missed) noexcept
{
    assert(shared >= 1 && shared <= pool);
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    const auto all = static_cast<std::uint32_t>(std::min(pool, most));
    std::uint32_t count = std::min(usual_witnesses, all);
    for (;;) {
        const std::uint32_t least = least_drawn(pool, shared, count, missed);
        if (least >= most_met || count == all)
            return {count, std::max<std::uint32_t>(least, 1)};
        count = count < all / 2 ? count * 2 : all;
    }
}

std::uint64_t least_contained(std::uint64_t size, double threshold) noexcept
{
    assert(size >= 1 && threshold >= 0 && threshold <= 1);
    auto least = static_cast<std::uint64_t>(std::floor(threshold * static_cast<double>(size)));
    // The division in containment() also rounds, so move `least` to the exact boundary, which is a step or two away.
    while (least > 0 && containment({size, 0, least - 1}) >= threshold)
        least--;
    while (containment({size, 0, least}) < threshold)
        least++;
    return std::max<std::uint64_t>(least, 1);
}

size_plan plan_for_size(std::uint64_t size, double threshold, double missed) noexcept
{
    const std::uint64_t most_missing = size - least_contained(size, threshold);
    const std::uint64_t pool = std::min<std::uint64_t>(size, 2 * most_missing + least_pool);
    return {size, pool, plan_witnesses(pool, pool - most_missing, missed)};
}

std::size_t counters_for_rows(std::uint32_t rows) noexcept
{
    return std::bit_ceil(counters_for_each * std::min(rows, most_counted));
}

std::size_t counters_for_shingles(std::uint64_t shingles) noexcept
{
    constexpr std::uint64_t for_each_shingle = 4;
    constexpr std::uint64_t most = counters_for_each * most_counted / for_each_shingle;
    return std::bit_ceil(std::min(shingles, most) * for_each_shingle);
}

std::uint32_t counted_of(std::uint32_t rows, bool crossing) noexcept
{
    return std::min(rows, crossing ? most_counted_crossing : most_counted);
}

// Calls take(from, end) for parts of the numbers below `count`, with a pause before each part.
template <typename Take>
void each_piece(host& owner, std::size_t count, Take&& take)
{
    constexpr std::size_t at_once = 4096;
    for (std::size_t from = 0; from < count; from += at_once) {
        pause(owner);
        take(from, std::min(count, from + at_once));
    }
}

shingle_classes classify(host& owner, const shingle_counts& counts)
{
    // A class is written where the count has already been read.
    auto* const classes = reinterpret_cast<std::uint8_t*>(counts.values);
    each_piece(owner, counts.mask + 1, [&](std::size_t from, std::size_t end) {
        for (std::size_t i = from; i < end; i++)
            classes[i] = static_cast<std::uint8_t>(class_of(std::min(counts.values[i], most_counts)));
    });
    return {classes, counts.mask};
}

std::span<const std::uint32_t> choose_witnesses(witness_choice& choice,
                                                const shingle_classes& of_shingles,
                                                const distinct_elements& set,
                                                std::uint64_t salt,
                                                const size_plan& plan)
{
    host& owner = *set.owner;
    assert(set.count > 0 && set.listed == set.count && plan.pool <= set.count);
    const std::span<const std::uint64_t> elements = set.elements();
    grow(owner, choice.classes, 0, elements.size());
    std::uint8_t* const classes = choice.classes.values;
    std::uint64_t of_class[frequency_classes] = {};
    each_piece(owner, elements.size(), [&](std::size_t from, std::size_t end) {
        // Most classes have to be fetched from memory. No turn of this loop depends on an earlier one, so the processor
        // fetches many at a time.
        for (std::size_t i = from; i < end; i++)
            classes[i] = of_shingles.of(elements[i]);
        for (std::size_t i = from; i < end; i++)
            of_class[classes[i]]++;
    });
    std::size_t most_frequent = 0;
    std::uint64_t pool = of_class[0];
    while (pool < plan.pool)
        pool += of_class[++most_frequent];

    // Collect marks until there are twice as many as wanted, keep the smaller half, and repeat.
    const std::size_t count = plan.witnesses.count;
    grow(owner, choice.marks, 0, 2 * count);
    std::uint64_t* const marks = choice.marks.values;
    std::size_t kept = 0;
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    const auto keep_smallest = [&] {
        std::nth_element(marks, marks + (count - 1), marks + kept);
        kept = count;
        limit = marks[count - 1];
    };
    each_piece(owner, elements.size(), [&](std::size_t from, std::size_t end) {
        for (std::size_t i = from; i < end; i++) {
            const std::uint64_t mark = elements[i] ^ salt;
            marks[kept] = mark;
            kept += static_cast<std::size_t>(mark <= limit) & static_cast<std::size_t>(classes[i] <= most_frequent);
            if (kept == 2 * count)
                keep_smallest();
        }
    });
    assert(kept >= count);
    keep_smallest();
    choice.most_mark = std::max(choice.most_mark, limit);
    // Sort the tags by the classes of their shingles, the rarest first. For this, each mark becomes a class and a tag.
    grow(owner, choice.tags, 0, count);
    for (std::size_t i = 0; i < count; i++)
        marks[i] = std::uint64_t{of_shingles.of(marks[i] ^ salt)} << 32 | tag_of(marks[i]);
    std::sort(marks, marks + count);
    for (std::size_t i = 0; i < count; i++)
        choice.tags.values[i] = static_cast<std::uint32_t>(marks[i]);
    return {choice.tags.values, count};
}

std::size_t buckets_for(std::uint64_t indexed) noexcept { return std::bit_ceil(indexed / 2 + 1); }

// The binary logarithm of the number of the filter's words. Unless the limit makes the filter smaller, it has at least
// four bits for each indexed witness. Most tags are witnesses of several rows. A larger filter would not stay in the
// cache.
int filter_bits(std::uint64_t indexed) noexcept
{
    constexpr int least = 10;
    constexpr int most = 24;
    return std::clamp(static_cast<int>(std::bit_width(indexed / 8)), least, most);
}

std::size_t filter_words(std::uint64_t indexed) noexcept { return std::size_t{1} << filter_bits(indexed); }

std::size_t index_bytes(std::uint32_t rows, std::uint64_t tags, std::uint64_t indexed) noexcept
{
    const std::uint64_t words = 2 * (rows + std::uint64_t{1}) + tags + indexed;
    return (filter_words(indexed) + words + buckets_for(indexed) + 1) * sizeof(std::uint32_t) + rows;
}

witness_index open_index(void* memory, const index_dimensions& dimensions) noexcept
{
    witness_index index = {};
    index.dimensions = dimensions;
    index.mask = buckets_for(dimensions.indexed) - 1;
    index.filter = {static_cast<std::uint32_t*>(memory),
                    static_cast<std::uint32_t>(dimensions.secret.factor),
                    32 - filter_bits(dimensions.indexed)};
    index.notes = reinterpret_cast<row_witnesses*>(index.filter.words + filter_words(dimensions.indexed));
    index.tags = reinterpret_cast<std::uint32_t*>(index.notes + dimensions.rows + 1);
    index.starts = index.tags + dimensions.tags;
    index.postings = index.starts + index.mask + 2;
    index.least = reinterpret_cast<std::uint8_t*>(index.postings + dimensions.indexed);
    return index;
}

void make_index(host& owner, witness_index& index)
{
    const auto each_indexed = [&](auto&& take) {
        for (std::uint32_t ordinal = index.dimensions.rows; ordinal-- > 0;) {
            pause(owner);
            const row_witnesses& note = index.notes[ordinal];
            const std::uint32_t last = note.first + indexed_of(note, (&note)[1]);
            for (std::uint32_t at = note.first; at < last; at++)
                take(ordinal, index.tags[at]);
        }
    };
    clear(owner, index.starts, index.mask + 2);
    clear(owner, index.filter.words, filter_words(index.dimensions.indexed));
    each_indexed([&index](std::uint32_t, std::uint32_t tag) {
        index.starts[cell_of(index, tag) & index.mask]++;
        index.filter.add(tag);
    });
    // Turn each count into the end of its bucket in `postings`. Then the buckets are filled, from the last row to the
    // first. This moves each end down to the start of its bucket.
    std::uint32_t end = 0;
    for (std::size_t i = 0; i <= index.mask + 1; i++) {
        if (i % 65536 == 0)
            pause(owner);
        end += index.starts[i];
        index.starts[i] = end;
    }
    assert(end == index.dimensions.indexed);
    each_indexed([&index](std::uint32_t ordinal, std::uint32_t tag) {
        index.postings[--index.starts[cell_of(index, tag) & index.mask]] = ordinal;
    });
}

} // namespace minhash::bulk
