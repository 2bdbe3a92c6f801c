// Witnesses: shingles of a row that are looked for in all others, to find those that may contain
// it.
//
// A row that has n shingles and lies within another by the threshold misses at most some m of them
// there, however common they are. So of any p of its shingles the other has p - m, and of w drawn
// from these p at random a number that is distributed hypergeometrically: with the recall wanted,
// it is at least some number k, whatever the sizes of the two rows. The p are the row's rarest
// shingles, at least twice m, so that common shingles bring no rows together; and at random means
// those with the smallest hashes, as in bottom-k sketches (Cohen, Kaplan 2007) and in FracMinHash
// (Irber et al. 2022), so that of the other row only small hashes need to be looked up.
//
// Who has k of w witnesses has 4 at least of any w - k + 4 of them. So only the rarest are in the
// index, as in prefix filters (Chaudhuri, Ganti, Kaushik 2006), and the others are looked at where
// 4 have been met: for texts that halves the places that are met, or better.
#pragma once

#include "bulk/sets/distinct_elements.h"

#include "core/probe.h"

#include <algorithm>
#include <span>

namespace minhash::bulk {

// How many witnesses a row gets, and how many of them another must have that may contain it.
struct witness_plan {
    std::uint32_t count;
    std::uint32_t least;
};

// Of `pool` shingles at least `shared` are in a row that contains theirs; at least one is. Such a
// row must have the least number, but for a share of `missed`.
witness_plan plan_witnesses(std::uint64_t pool, std::uint64_t shared, double missed) noexcept;

// The fewest shingles of a set of a size, at least 1, of which the other has to have the
// threshold's share.
std::uint64_t least_contained(std::uint64_t size, double threshold) noexcept;

// The same for a row of a size, whose `pool` rarest shingles are drawn from, or some more of them.
struct size_plan {
    std::uint64_t pool;
    witness_plan witnesses;
};

size_plan plan_for_size(std::uint64_t size, double threshold, double missed) noexcept;

// How many rows have a shingle, of those that are counted: so many of all rows, at equal distances.
struct shingle_counts {
    std::uint16_t* values;
    std::size_t mask; // there are counters_for(rows), a power of two

    // Any bits of the hash but its highest, by which witnesses are drawn.
    std::uint16_t& of(std::uint64_t element) const noexcept
    {
        return values[element & mask];
    }
};

std::uint32_t counted_of(std::uint32_t rows) noexcept;
std::size_t counters_for(std::uint32_t rows) noexcept;

// Memory for choosing.
struct witness_choice {
    growing<std::uint8_t> classes;
    growing<std::uint64_t> marks;
    growing<std::uint32_t> tags;
    std::uint64_t most_mark; // of all that were chosen
};

// The witnesses of a row, the rarest first, by their tags. Shingles are changed to marks by `salt`:
// only rows of one salt meet.
std::span<const std::uint32_t> choose_witnesses(witness_choice& choice,
                                                const shingle_counts& counts,
                                                const distinct_elements& set,
                                                std::uint64_t salt,
                                                const size_plan& plan);

// What is kept of a mark. By chance in four thousand million that of another; never 0.
inline std::uint32_t tag_of(std::uint64_t mark) noexcept
{
    const auto tag = static_cast<std::uint32_t>(mark);
    return tag != 0 ? tag : 1;
}

// How many of the indexed witnesses must have been met.
constexpr std::uint32_t most_met = 4;

struct index_shape {
    std::uint32_t places; // of its rows
    std::uint64_t tags;   // of all their witnesses, fewer than 2^32
    std::uint64_t indexed;
    probe_secret secret; // of the process that made it
};

struct place_note {
    std::uint32_t first; // of the tags of the row at a place
    std::uint32_t least; // of its witnesses, that are to be found; 0: it has none
};

inline std::uint32_t met_of(const place_note& note) noexcept
{
    return std::min(note.least, most_met);
}

inline std::uint32_t indexed_of(const place_note& note, const place_note& next) noexcept
{
    return next.first - note.first - note.least + met_of(note);
}

// The places that have a witness, by buckets of its tag, in one piece of memory that is given.
struct witness_index {
    index_shape shape;
    std::size_t mask;
    place_note* notes;       // of each place, and an end
    std::uint32_t* tags;     // of each place, the rarest first
    std::uint32_t* starts;   // of each bucket in `postings`, and an end
    std::uint32_t* postings; // places, which rise
    std::uint8_t* least;     // met_of() each place
    std::uint64_t* filter;   // a bit for each tag that is indexed, and for some others
    std::size_t filter_mask; // of its words
};

std::size_t index_bytes(std::uint32_t places, std::uint64_t tags, std::uint64_t indexed) noexcept;

// In its memory, where notes, tags and `least` are to be written.
witness_index open_index(void* memory, const index_shape& shape) noexcept;

// Makes the index by them.
void make_index(host& owner, witness_index& index);

// Where the bucket and the bit of a tag are: in the lower and the upper half.
inline std::uint64_t place_in(const witness_index& index, std::uint32_t tag) noexcept
{
    return place_of(tag, index.shape.secret);
}

inline std::size_t filter_word(const witness_index& index, std::uint64_t place) noexcept
{
    return place >> 32 & index.filter_mask;
}

inline std::uint64_t filter_bit(std::uint64_t place) noexcept
{
    return std::uint64_t{1} << (place >> 58);
}

inline bool is_known(const witness_index& index, std::uint64_t place) noexcept
{
    return (index.filter[filter_word(index, place)] & filter_bit(place)) != 0;
}

inline std::span<const std::uint32_t> places_of(const witness_index& index, std::size_t bucket)
{
    return {index.postings + index.starts[bucket], index.postings + index.starts[bucket + 1]};
}

} // namespace minhash::bulk
