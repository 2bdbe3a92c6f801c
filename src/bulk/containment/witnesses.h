// The witnesses of a row are a few of its shingles. To find the rows that may contain this row, the witnesses are
// looked for in all other rows.
//
// Let row a have n shingles. If the containment of a in row b reaches the threshold, b lacks at most m of the n
// shingles; n and the threshold determine m. The missing shingles may be common or rare. So b has at least p - m of any
// p shingles of a. Let w witnesses be drawn at random from p shingles. Some of these witnesses are also in b, and their
// number follows a hypergeometric distribution. So there is a number k such that b has at least k of the w witnesses
// with a probability of at least the wanted recall, whatever the sizes of the two rows. The p shingles are the rarest
// ones of a, so that common shingles do not bring unrelated rows together; p is greater than 3 m, or equal to n if n is
// not so large. "At random" means that the shingles with the smallest hashes are chosen, as in bottom-k sketches
// (Cohen, Kaplan 2007) and in FracMinHash (Irber et al. 2022). So only the small hashes of b need to be looked up.
//
// Which rows have some of a's witnesses? There are two ways to find out.
//
// Single witnesses. If a row has at least k of the w witnesses, and k is at least 5, then the row has at least 5 of any
// w - k + 5 witnesses (if the 24 usual ones give a smaller k, more are drawn). So only the rarest w - k + 5 witnesses
// are indexed, as in prefix filters (Chaudhuri, Ganti, Kaushik 2006).
//
// Couples. The more rows are indexed, the more of them have a shingle of b as a witness. But two shingles are seldom
// witnesses of the same row. So if there are many rows, what is indexed is couples of witnesses, joined at random: so
// many that b has at least two of them with the wanted probability. b must look up each couple of its shingles. So that
// these are not too many, the shingles of a couple must be in the same one of a few slices (slice_of()), and a row of
// few shingles, whose witnesses are a large share of them, has single witnesses, each as a couple with itself.
//
// Only if enough of what is indexed has been met, all witnesses are checked.
#pragma once

#include "bulk/sets/distinct_elements.h"

#include "core/kernels.h"
#include "core/probe.h"

#include <algorithm>
#include <limits>
#include <span>

namespace minhash::bulk {

// Of couples, this many must be met. One is not enough, because the two shingles may be of the same word.
constexpr std::uint8_t couples_met = 2;

// What the index has of a row: how many entries, couples or single witnesses, and how many witnesses in all. Another
// row must have at least `met` of the entries and `least` of the witnesses so that the two rows are compared.
struct witness_plan {
    std::uint32_t count;
    std::uint32_t least;
    std::uint32_t entries;
    std::uint8_t met;
    bool in_couples;
};

// The plan for a row whose witnesses are drawn from a pool of `pool` shingles. A second row that contains this row has
// at least `shared` shingles of the pool; `shared` is not 0. The probability that the second row has fewer witnesses or
// entries than the plan requires is at most `missed`.
witness_plan
plan_witnesses(std::uint64_t pool, std::uint64_t shared, double missed, std::uint32_t couples_pool) noexcept;

// Couples are drawn at random from a pool of which `shared` shingles are in a second row. The probability that the
// second row has both shingles of fewer than couples_met of the couples.
double chance_of_few_couples(std::uint64_t pool, std::uint64_t shared, std::uint64_t couples) noexcept;

// The minimum number of shared shingles at which the containment of a set of this size reaches the threshold. Never 0.
std::uint64_t least_contained(std::uint64_t size, double threshold) noexcept;

// The plan for rows of one size. The witnesses of a row are drawn from its rarest shingles: at least `pool` of them,
// because shingles of about the same frequency are either all included or all left out.
struct size_plan {
    std::uint64_t size;
    std::uint64_t pool;
    witness_plan witnesses;
};

size_plan plan_for_size(std::uint64_t size, double threshold, double missed, std::uint32_t couples_pool) noexcept;

// A counter of a shingle that need not be counted, and a counter of one that has not occurred yet. Each occurrence adds
// one, until there are `most_counts`. This is in the last frequency class, so a larger count would make no difference.
// It is also so small that no counter overflows even if several processes increment it at once.
constexpr std::uint16_t not_counted = 0;
constexpr std::uint16_t counted_never = 1;
constexpr std::uint16_t most_counts = std::numeric_limits<std::uint16_t>::max() / 4 * 3;

// How often each shingle occurs. Only some rows are counted, evenly spaced among the rows that are looked up.
struct shingle_counts {
    std::uint16_t* values;
    std::size_t mask; // one less than the number of counters, a power of two

    // The low bits of a hash choose the counter. The highest bits choose the witnesses, so these bits vary little among
    // witnesses.
    std::uint16_t& of(std::uint64_t element) const noexcept { return values[element & mask]; }
};

// The frequency class of each shingle, chosen by the same bits. A class has one byte, so that more of them are in the
// cache.
struct shingle_classes {
    const std::uint8_t* values;
    std::size_t mask;

    std::uint8_t of(std::uint64_t element) const noexcept { return values[element & mask]; }
};

// Replaces the counts, when all rows have been counted, by classes.
shingle_classes classify(host& owner, const shingle_counts& counts);

// How many of so many rows are counted. If there are two queries, a row is counted faster than it is looked up, but not
// much, so fewer rows are counted.
std::uint32_t counted_of(std::uint32_t rows, bool crossing) noexcept;

// How many counters to use if all shingles of so many rows are counted, or only so many shingles.
std::size_t counters_for_rows(std::uint32_t rows) noexcept;
std::size_t counters_for_shingles(std::uint64_t shingles) noexcept;

// The buffers of choose_witnesses(), reused for each row.
struct witness_choice {
    growing<std::uint8_t> classes;
    growing<std::uint64_t> marks;
    growing<std::uint32_t> tags;
    std::uint64_t most_marks[2]; // the largest marks chosen so far, for rows without couples and with them
};

// Chooses a row's witnesses, and returns their tags: first the couples, or else the rarest witness first. The hashes of
// shingles are mixed with `salt` (salt_of()) into marks. Rows of different scopes have different salts, so they have
// equal marks only by chance.
std::span<const std::uint32_t> choose_witnesses(witness_choice& choice,
                                                const shingle_classes& of_shingles,
                                                const distinct_elements& set,
                                                std::uint64_t salt,
                                                const size_plan& plan);

// The part of a mark that is kept. It is never 0, because 0 stands for a free entry in a table of tags. Two different
// marks have the same tag with a probability of 2^-32.
inline std::uint32_t tag_of(std::uint64_t mark) noexcept
{
    const auto tag = static_cast<std::uint32_t>(mark);
    return tag != 0 ? tag : 1;
}

// The tags of a couple are in the same slice.
constexpr std::uint32_t slices = 8;

inline std::uint32_t slice_of(std::uint32_t tag) noexcept { return tag >> 29; }

static_assert(slices == 1 << (32 - 29));

// The number by which a couple is found; a single witness is found by its tag. Different entries have the same key only
// by chance.
inline std::uint32_t key_of(std::uint32_t tag, std::uint32_t other) noexcept { return tag + other; }

struct index_dimensions {
    std::uint32_t rows;    // the number of rows in the index
    std::uint64_t tags;    // the total number of witnesses of these rows, less than 2^32
    std::uint64_t entries; // the total number of entries of these rows
    std::uint64_t couples; // how many of the entries are couples
    probe_secret secret;   // the hashing secret of the process that made the index
};

struct row_witnesses {
    std::uint32_t first; // where the tags of the row at this ordinal begin in `tags`
    witness_plan plan;   // no entries: the row is not in the index
};

// The index: the ordinals of rows, grouped into buckets by the keys of their entries. All arrays are in one block of
// the caller's memory.
struct witness_index {
    index_dimensions dimensions;
    std::size_t mask;
    row_witnesses* notes;     // one per ordinal
    std::uint32_t* tags;      // the tags of each ordinal, first those of its entries
    std::uint32_t* starts;    // where each bucket starts in `postings`, and where the last one ends
    std::uint32_t* postings;  // ordinals, in ascending order within a bucket
    std::uint8_t* met;        // of each ordinal's plan
    number_filter tag_filter; // the tags of couples
    number_filter key_filter; // the keys of entries
};

std::size_t index_bytes(std::uint32_t rows, std::uint64_t tags, std::uint64_t entries) noexcept;

// Sets the pointers of an index in its memory. If the index is new, the caller then writes notes, tags and `met`, and
// calls make_index().
witness_index open_index(void* memory, const index_dimensions& dimensions) noexcept;

// Makes the buckets, the postings and the filters from the notes and tags.
void make_index(host& owner, witness_index& index);

// Calls take(tag, other) for each entry of the row at an ordinal. Of single witnesses, both are the same.
template <typename Take>
void each_entry(const witness_index& index, std::uint32_t ordinal, Take&& take)
{
    const auto& [first, plan] = index.notes[ordinal];
    const std::uint32_t* tag = index.tags + first;
    const int each = plan.in_couples ? 2 : 1;
    for (std::uint32_t i = 0; i < plan.entries; i++, tag += each)
        take(*tag, tag[each - 1]);
}

// The lower half of the result chooses the bucket of a key.
inline std::uint64_t cell_of(const witness_index& index, std::uint32_t number) noexcept
{
    return first_cell(number, index.dimensions.secret);
}

} // namespace minhash::bulk
