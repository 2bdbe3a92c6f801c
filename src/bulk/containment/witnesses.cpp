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

// Of single witnesses, this many must be met, unless the plan requires fewer witnesses in all.
constexpr std::uint32_t most_met = 5;

// More couples would be too many to look up.
constexpr std::uint64_t most_couples = 1024;

// Witnesses are drawn from a pool of shingles. The size of the pool is three times the number of shingles that may be
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

// The smallest number of couples of which enough are shared, but for a probability of `missed`. 0: not even as many as
// the pool has, or as are allowed.
std::uint32_t least_couples(std::uint64_t pool, std::uint64_t shared, double missed) noexcept
{
    // A shingle that is not shared spoils at most one couple. If there are couples_met more couples than such shingles,
    // at least couples_met couples are shared for certain.
    const std::uint64_t certain = pool - shared + couples_met;
    const std::uint64_t most = std::min({pool / 2, certain, most_couples});
    if (missed <= 0) // (A probability may be too small for a double.)
        return most == certain ? static_cast<std::uint32_t>(most) : 0;
    if (most == 0 || chance_of_few_couples(pool, shared, most) > missed)
        return 0;
    // Begin with what would be right if the couples were independent of each other.
    const double share = static_cast<double>(shared) / static_cast<double>(pool);
    const double guess = std::log(missed) / std::log1p(-share * share);
    auto couples = static_cast<std::uint32_t>(std::clamp(guess, 1.0, static_cast<double>(most)));
    while (couples < most && chance_of_few_couples(pool, shared, couples) > missed)
        couples++;
    while (couples > 1 && chance_of_few_couples(pool, shared, couples - 1) <= missed)
        couples--;
    return couples;
}

// The number of witnesses, beginning with `least`, and how many of them must be found.
witness_plan
plan_single_witnesses(std::uint64_t pool, std::uint64_t shared, double missed, std::uint32_t least) noexcept
{
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    const auto all = static_cast<std::uint32_t>(std::min(pool, most));
    std::uint32_t count = std::min(least, all);
    for (;;) {
        const std::uint32_t drawn = least_drawn(pool, shared, count, missed);
        if (drawn >= most_met || count == all) {
            const std::uint32_t wanted = std::max<std::uint32_t>(drawn, 1);
            const std::uint32_t met = std::min(wanted, most_met);
            return {count, wanted, count - wanted + met, static_cast<std::uint8_t>(met), false};
        }
        count = count < all / 2 ? count * 2 : all;
    }
}

} // namespace

// There are 2 g draws, of which x are not shared with a hypergeometric probability. If j of the g couples are shared,
// then x - g + j couples have two such draws, and the others have one, the first or the second.
double chance_of_few_couples(std::uint64_t pool, std::uint64_t shared, std::uint64_t couples) noexcept
{
    assert(shared <= pool && 2 * couples <= pool);
    const auto all = static_cast<double>(pool);
    const auto good = static_cast<double>(shared);
    const auto g = static_cast<double>(couples);
    constexpr double largest = 1e200;
    double few = 0;
    for (std::uint32_t number = 0; number < couples_met && number <= couples; number++) {
        const double j = number;
        double x = std::max(g - j, 2 * g - good);
        if (x > all - good || x > 2 * (g - j))
            continue;
        const double ways =
            log_choose(g, j) + log_choose(g - j, x - g + j) + (2 * (g - j) - x) * std::log(2.0) - log_choose(2 * g, x);
        double first = log_choose(all - good, x) + log_choose(good, 2 * g - x) - log_choose(all, 2 * g) + ways;
        double sum = 0; // over the first one
        for (double chance = 1; chance > 0; x++) {
            sum += chance;
            if (sum > largest) { // where few shingles are shared, the first one is extremely small
                first += std::log(sum);
                chance /= sum;
                sum = 1;
            }
            chance *=
                std::max(0.0, all - good - x) * (2 * (g - j) - x) / (2 * (good - 2 * g + x + 1) * (x + 1 - g + j));
        }
        few += std::exp(first + std::log(sum));
    }
    return few;
}

witness_plan
plan_witnesses(std::uint64_t pool, std::uint64_t shared, double missed, std::uint32_t couples_pool) noexcept
{
    assert(shared >= 1 && shared <= pool);
    // With couples, a row can be missed for two reasons, so each may miss half as many. In each slice, one witness can
    // be left without a partner. So with one more witness for each slice, the wanted number of couples can be joined.
    const std::uint32_t couples = couples_pool > 0 ? least_couples(pool, shared, missed / 2) : 0;
    const std::uint32_t drawn = 2 * couples + slices;
    if (couples > 0 && drawn <= pool) {
        witness_plan plan = plan_single_witnesses(pool, shared, missed / 2, std::max(drawn, usual_witnesses));
        plan.entries = couples;
        plan.met = couples_met;
        plan.in_couples = true;
        if (std::uint64_t{plan.count} * couples_pool <= pool)
            return plan;
    }
    return plan_single_witnesses(pool, shared, missed, usual_witnesses);
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

size_plan plan_for_size(std::uint64_t size, double threshold, double missed, std::uint32_t couples_pool) noexcept
{
    const std::uint64_t most_missing = size - least_contained(size, threshold);
    const std::uint64_t pool = std::min<std::uint64_t>(size, 3 * most_missing + least_pool);
    return {size, pool, plan_witnesses(pool, pool - most_missing, missed, couples_pool)};
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

shingle_classes classify(host& owner, const shingle_counts& counts)
{
    // A class is written where the count has already been read.
    auto* const classes = reinterpret_cast<std::uint8_t*>(counts.values);
    each_part(owner, counts.mask + 1, [&](std::size_t from, std::size_t end) {
        for (std::size_t i = from; i < end; i++)
            classes[i] = static_cast<std::uint8_t>(class_of(std::min(counts.values[i], most_counts)));
    });
    return {classes, counts.mask};
}

// Joins tags of the same slice to couples, until there are `couples` of them, and moves these to the front.
void join_couples(std::span<std::uint32_t> tags, std::size_t couples) noexcept
{
    std::size_t alone[slices];   // where the tag is that has no other one yet
    std::uint32_t has_alone = 0; // a bit for each slice
    std::size_t joined = 0;      // the tags before this one are couples
    for (std::size_t i = 0; i < tags.size() && joined < 2 * couples; i++) {
        const std::uint32_t slice = slice_of(tags[i]);
        has_alone ^= 1u << slice;
        if ((has_alone >> slice & 1) != 0) {
            alone[slice] = i;
            continue;
        }
        // The two tags at the front are swapped with the couple.
        for (const std::size_t at : {alone[slice], i}) {
            std::swap(tags[joined], tags[at]);
            const std::uint32_t moved = slice_of(tags[at]);
            if ((has_alone >> moved & 1) != 0 && alone[moved] == joined)
                alone[moved] = at;
            joined++;
        }
    }
    assert(joined == 2 * couples);
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
    each_part(owner, elements.size(), [&](std::size_t from, std::size_t end) {
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
    each_part(owner, elements.size(), [&](std::size_t from, std::size_t end) {
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
    std::uint64_t& most_mark = choice.most_marks[plan.witnesses.in_couples];
    most_mark = std::max(most_mark, limit);
    grow(owner, choice.tags, 0, count);
    const std::span tags(choice.tags.values, count);
    if (plan.witnesses.in_couples) {
        std::sort(marks, marks + count); // so that chance joins them, not the order in the text
        for (std::size_t i = 0; i < count; i++)
            tags[i] = tag_of(marks[i]);
        join_couples(tags, plan.witnesses.entries);
        return tags;
    }
    // Sort the tags by the classes of their shingles, the rarest first. For this, each mark becomes a class and a tag.
    for (std::size_t i = 0; i < count; i++)
        marks[i] = std::uint64_t{of_shingles.of(marks[i] ^ salt)} << 32 | tag_of(marks[i]);
    std::sort(marks, marks + count);
    for (std::size_t i = 0; i < count; i++)
        tags[i] = static_cast<std::uint32_t>(marks[i]);
    return tags;
}

std::size_t buckets_for(std::uint64_t entries) noexcept { return std::bit_ceil(entries / 2 + 1); }

// The binary logarithm of the number of a filter's words. Unless the limit makes a filter smaller, it has at least four
// bits for each entry. A larger filter would not stay in the cache.
int filter_bits(std::uint64_t entries) noexcept
{
    constexpr int least = 10;
    constexpr int most = 24;
    return std::clamp(static_cast<int>(std::bit_width(entries / 8)), least, most);
}

std::size_t filter_words(std::uint64_t entries) noexcept { return std::size_t{1} << filter_bits(entries); }

std::size_t index_bytes(std::uint32_t rows, std::uint64_t tags, std::uint64_t entries) noexcept
{
    const std::uint64_t words = 2 * filter_words(entries) + tags + buckets_for(entries) + 1 + entries;
    return words * sizeof(std::uint32_t) + rows * (sizeof(row_witnesses) + 1);
}

witness_index open_index(void* memory, const index_dimensions& dimensions) noexcept
{
    witness_index index = {};
    index.dimensions = dimensions;
    index.mask = buckets_for(dimensions.entries) - 1;
    const std::size_t words = filter_words(dimensions.entries);
    const auto factor = static_cast<std::uint32_t>(dimensions.secret.factor);
    const int shift = 32 - filter_bits(dimensions.entries);
    index.tag_filter = {static_cast<std::uint32_t*>(memory), factor, shift};
    index.key_filter = {index.tag_filter.words + words, factor, shift};
    index.notes = reinterpret_cast<row_witnesses*>(index.key_filter.words + words);
    index.tags = reinterpret_cast<std::uint32_t*>(index.notes + dimensions.rows);
    index.starts = index.tags + dimensions.tags;
    index.postings = index.starts + index.mask + 2;
    index.met = reinterpret_cast<std::uint8_t*>(index.postings + dimensions.entries);
    return index;
}

void make_index(host& owner, witness_index& index)
{
    const auto each_key = [&](auto&& take) {
        for (std::uint32_t ordinal = index.dimensions.rows; ordinal-- > 0;) {
            pause(owner);
            const row_witnesses& note = index.notes[ordinal];
            each_entry(index, ordinal, [&](std::uint32_t tag, std::uint32_t other) {
                take(ordinal, note.plan.in_couples ? key_of(tag, other) : tag);
            });
        }
    };
    clear(owner, index.starts, index.mask + 2);
    clear(owner, index.tag_filter.words, 2 * filter_words(index.dimensions.entries)); // both filters
    each_key([&index](std::uint32_t, std::uint32_t key) {
        index.starts[cell_of(index, key) & index.mask]++;
        index.key_filter.add(key);
    });
    for (std::uint32_t ordinal = 0; ordinal < index.dimensions.rows; ordinal++) {
        pause(owner);
        if (!index.notes[ordinal].plan.in_couples)
            continue;
        each_entry(index, ordinal, [&index](std::uint32_t tag, std::uint32_t other) {
            index.tag_filter.add(tag);
            index.tag_filter.add(other);
        });
    }
    // Turn each count into the end of its bucket in `postings`. Then the buckets are filled, from the last row to the
    // first. This moves each end down to the start of its bucket.
    std::uint32_t end = 0;
    for (std::size_t i = 0; i <= index.mask + 1; i++) {
        if (i % 65536 == 0)
            pause(owner);
        end += index.starts[i];
        index.starts[i] = end;
    }
    assert(end == index.dimensions.entries);
    each_key([&index](std::uint32_t ordinal, std::uint32_t key) {
        index.postings[--index.starts[cell_of(index, key) & index.mask]] = ordinal;
    });
}

} // namespace minhash::bulk
