#include "pg/index/format/pages.h"
#include "pg/index/read/ranges.h"
#include "pg/index/read/score.h"

#include "core/tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

extern "C" {
#include "miscadmin.h"
}

namespace minhash::pg::index {

namespace {

// In an index with fewer pages of records than this, comparing all records takes about a millisecond.
constexpr double least_pages = 1024;

// Reading this many entries takes about as long as comparing one record.
constexpr double entries_a_record = 2.5;

// About how many entries a leaf has.
constexpr double entries_a_leaf = 1200;

// One record of this many is compared, at most. Fetching a record takes as long as comparing a hundred neighbours.
constexpr double records_a_candidate = 200;

// The scores of the records on some of the index's blocks. The position of a record is its number, less `first`.
struct scores {
    static constexpr std::size_t group = 64; // scores are looked at in groups, which the compiler makes vectors of
    std::uint8_t* at;
    std::uint64_t first;
    std::size_t count; // a multiple of `group`
    std::uint64_t most_entries;
    std::uint64_t entries; // how many have been read

    bool too_much() const { return entries > most_entries; }
};

// How many blocks' scores fit into the memory that PostgreSQL allows a hash table.
std::uint64_t blocks_at_once(const layout& layout)
{
    return std::max<std::uint64_t>(scores::group, get_hash_memory_limit() >> layout.ordinal_bits);
}

// Counts a slot for each record whose number has been read.
void count_numbers(const search& self, scores& all)
{
    const std::span<const std::uint64_t> numbers = self.numbers;
    std::uint8_t* const at = all.at; // a copy, which no store into scores can change
    const std::uint64_t first = all.first;
    const std::uint64_t count = all.count;
    const std::uint64_t end = std::uint64_t{self.blocks} << self.layout.ordinal_bits;
    for (const std::uint64_t number : numbers) {
        const std::uint64_t ordinal = number - first; // wraps around if the number is less
        if (ordinal < count)
            at[ordinal] =
                static_cast<std::uint8_t>(at[ordinal] + (at[ordinal] < std::numeric_limits<std::uint8_t>::max()));
        else if (number >= end)
            fail_damaged(self.index, meta_block, "An entry has no possible record.");
    }
    all.entries += self.numbers.count;
}

// Computes the scores. Stops early if there are too many entries. Returns false if a run's pages are gone.
bool count_slots(search& self, scores& all)
{
    for (int depth = 1; depth <= self.layout.banding.rows; depth++) {
        set_keys(self, {depth, self.layout.banding.bands, false});
        if (!find_ranges(self))
            return false;
        while (self.ranges.count > 0 && !all.too_much()) {
            self.numbers.count = 0;
            if (!read_ranges(self, all_of_range))
                return false;
            count_numbers(self, all);
        }
    }
    return true;
}

std::size_t count_from(const scores& all, std::uint8_t least)
{
    std::size_t count = 0;
    for (const std::uint8_t* group = all.at; group < all.at + all.count; group += scores::group) {
        std::uint8_t here = 0;
        for (std::size_t at = 0; at < scores::group; at++)
            here += group[at] >= least;
        count += here;
    }
    return count;
}

// The least score that no more than `most` records reach; 0 if there is none.
std::uint8_t least_score(const scores& all, double most)
{
    constexpr std::uint8_t greatest = 64;
    for (std::uint8_t score = 1; score <= greatest; score++) {
        CHECK_FOR_INTERRUPTS();
        if (static_cast<double>(count_from(all, score)) <= most)
            return score;
    }
    return 0;
}

// Sets self.numbers to the numbers of the records with at least this score.
void collect(search& self, const scores& all, std::uint8_t least)
{
    self.numbers.count = 0;
    for (const std::uint8_t* group = all.at; group < all.at + all.count; group += scores::group) {
        std::uint8_t highest = 0;
        for (std::size_t at = 0; at < scores::group; at++)
            highest = std::max(highest, group[at]);
        for (std::size_t at = 0; highest >= least && at < scores::group; at++)
            if (group[at] >= least)
                self.numbers.add(all.first + static_cast<std::uint64_t>(group - all.at) + at);
    }
}

// The probability that `drawn` of `slots` slots, of which `equal` are equal, include exactly `count` equal ones.
double probability_of(int slots, int equal, int drawn, int count)
{
    if (count > equal || drawn - count > slots - equal)
        return 0;
    return std::exp(log_choose(equal, count) + log_choose(slots - equal, drawn - count) - log_choose(slots, drawn));
}

// The least probability that a record which agrees with the query in `equal` slots reaches a score. Each band ends with
// a slot that differs, unless the record agrees in all of it, as it does in at most (score - 1) / rows bands if it does
// not reach the score. So such a record agrees in fewer than `score` of the first bands + score - 1 slots (fewer by the
// bands that agree) that are looked at.
double probability_to_reach(const layout& layout, int score, int equal)
{
    const int slots = layout.scheme.num_hashes;
    const int drawn = std::min(slots, layout.banding.bands - (score - 1) / layout.banding.rows + score - 1);
    double missed = 0;
    for (int count = 0; count < score; count++)
        missed += probability_of(slots, equal, drawn, count);
    return 1 - missed;
}

// The least number of equal slots with which a record reaches a score with the recall of lookups.
int complete_from(const layout& layout, int score)
{
    int equal = 0;
    while (equal <= layout.scheme.num_hashes && probability_to_reach(layout, score, equal) < recall_of_lookups)
        equal++;
    return equal;
}

// Compares the records of the highest scores among those of some blocks. Returns the least of these scores; 0 if too
// many records have high ones; nothing if a run's pages are gone.
std::optional<int> try_blocks(search& self, scores& all, double most)
{
    std::fill_n(all.at, all.count, 0);
    if (!count_slots(self, all))
        return std::nullopt;
    const std::uint8_t least = all.too_much() ? 0 : least_score(all, most);
    if (least == 0)
        return 0;
    collect(self, all, least);
    if (!consider_numbers(self))
        return std::nullopt;
    return least;
}

double expected_entries(const search& self, const index_size& size)
{
    return self.layout.banding.bands * expected_candidates({1, 1, false}, size.records);
}

std::optional<int> try_all(search& self, const index_size& size)
{
    if (!consider_unlisted(self))
        return std::nullopt;
    const std::uint64_t blocks = std::min<std::uint64_t>(self.blocks, blocks_at_once(self.layout));
    const double most = size.records / records_a_candidate * static_cast<double>(blocks) / self.blocks;
    scores all = {};
    all.count = TYPEALIGN(scores::group, blocks << self.layout.ordinal_bits);
    all.at = static_cast<std::uint8_t*>(palloc_extended(all.count, MCXT_ALLOC_HUGE));
    all.most_entries = static_cast<std::uint64_t>(entries_a_record * size.records);
    self.ring = ring_for(self.index, static_cast<std::uint64_t>(expected_entries(self, size) / entries_a_leaf));
    std::optional<int> highest = 1;
    for (; highest.value_or(0) > 0 && all.first >> self.layout.ordinal_bits < self.blocks; all.first += all.count) {
        const std::optional<int> score = try_blocks(self, all, most);
        highest = score.value_or(0) > 0 ? std::max(highest, score) : score;
    }
    if (self.ring != nullptr)
        FreeAccessStrategy(self.ring);
    self.ring = nullptr;
    pfree(all.at);
    return highest;
}

} // namespace

bool pays_to_score(const search& self, const index_size& size)
{
    const double blocks = RelationGetNumberOfBlocks(self.index);
    const double parts = std::ceil(blocks / static_cast<double>(blocks_at_once(self.layout)));
    return size.record_pages >= least_pages && parts * expected_entries(self, size) <= entries_a_record * size.records;
}

int find_by_score(search& self, const index_size& size)
{
    begin_bands(self, {1, self.layout.banding.bands, true});
    std::optional<int> score;
    while (!(score = try_all(self, size)).has_value())
        start_again(self);
    return *score == 0 ? self.layout.scheme.num_hashes + 1 : complete_from(self.layout, *score);
}

} // namespace minhash::pg::index
