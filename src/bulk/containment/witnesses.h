// Witnesses: shingles of a row that are looked for in all others, to find those that may contain
// it.
//
// A row that has n shingles and lies within another by the threshold misses at most some m of them
// there, however common they are. So of any p of its shingles the other has p - m, and of w taken
// from these p at random a number that is distributed hypergeometrically: with the recall wanted,
// it is at least some number k, whatever the sizes of the two rows. The p are the row's rarest
// shingles, at least twice m, so that common shingles bring no rows together; and at random means
// those with the smallest hashes, as in bottom-k sketches (Cohen, Kaplan 2007) and in FracMinHash
// (Irber et al. 2022), so that of the other row only small hashes need to be looked up.
#pragma once

#include "bulk/sets/set_notes.h"

#include "core/probe.h"

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

// Witnesses of several rows, numbered by places, which rise; then an index of them.
struct witness_index {
    host* owner;
    std::size_t room;             // bytes that all of them may take
    growing<std::uint64_t> marks; // witnesses of all rows
    std::size_t mark_count;
    growing<std::uint64_t> ends; // of each place, in `marks`
    growing<std::uint8_t> least; // of each place, at most 255; 0: it has no witnesses
    std::uint32_t places;
    std::uint64_t most_mark;       // none is larger
    growing<std::uint8_t> classes; // of the shingles of the row that is added

    // A hash table of the witnesses, each with the places that have it.
    struct entry {
        std::uint32_t tag;   // 0: free
        std::uint32_t start; // in `postings`; the next entry's is the end
    };

    entry* entries;
    std::size_t mask;
    std::uint32_t* postings;
};

// Starts an index of no rows.
void start_index(witness_index& index, host& owner, std::size_t room);

// Adds a row with the next place, by its shingles, which are not none. They are changed by `salt`
// first: only rows of one salt meet.
void add_row(witness_index& index,
             const set_notes& notes,
             const distinct_elements& set,
             std::uint64_t salt,
             double threshold,
             double missed);

// Leaves out the next place.
void skip_place(witness_index& index);

// Whether another row, of a usual size, is too much.
bool is_full(const witness_index& index) noexcept;

// Makes the index of the rows that were added.
void make_index(witness_index& index);

void end_index(witness_index& index);

// Where the search for a witness begins.
inline std::size_t place_of_mark(const witness_index& index, std::uint64_t mark) noexcept
{
    return place_of(mark) & index.mask;
}

inline std::uint32_t tag_of(std::uint64_t mark) noexcept
{
    const auto tag = static_cast<std::uint32_t>(mark);
    return tag != 0 ? tag : 1;
}

// The places that have a witness, or none. By chance in four thousand million, those of another.
inline std::span<const std::uint32_t> places_having(const witness_index& index, std::uint64_t mark)
{
    const std::uint32_t tag = tag_of(mark);
    const std::size_t at = probe(index.mask, place_of_mark(index, mark), [&](std::size_t place) {
        return index.entries[place].tag == tag || index.entries[place].tag == 0;
    });
    const witness_index::entry& found = index.entries[at];
    return {index.postings + found.start, (&found)[1].start - found.start};
}

} // namespace minhash::bulk
