// Witnesses are a few shingles of a row that are looked for in all other rows, to find the rows that may contain it.
//
// Let row a have n shingles. If its containment in row b reaches the threshold, at most m of the n are missing in b, be
// they common or rare; m follows from n and the threshold. So b has at least p - m of any p shingles of a. Let w
// witnesses be drawn at random from these p. How many of them b has follows a hypergeometric distribution. So there is
// a k such that b has at least k of them with the wanted recall as probability, whatever the sizes of the two rows. The
// p are the rarest shingles of a, so that common shingles bring no rows together; p is at least 2 m. "At random" means
// those with the smallest hashes, as in bottom-k sketches (Cohen, Kaplan 2007) and in FracMinHash (Irber et al. 2022),
// so that only the small hashes of b need to be looked up.
//
// If a row has k of w witnesses, it has at least 4 of any w - k + 4 of them. So only the rarest w - k + 4 are indexed,
// as in prefix filters (Chaudhuri, Ganti, Kaushik 2006). The others are looked at only if 4 indexed ones have been
// found. For texts, this at least halves the number of index entries to visit.
#pragma once

#include "bulk/sets/distinct_elements.h"

#include "core/probe.h"

#include <algorithm>
#include <span>

namespace minhash::bulk {

// How many witnesses a row gets, and how many of them must be in a row that may contain it.
struct witness_plan {
    std::uint32_t count;
    std::uint32_t least;
};

// The plan for a pool of a row's shingles. Another row that contains the row has at least `shared` shingles of the
// pool; `shared` is not 0. All but a share `missed` of such other rows have the least number of witnesses that the plan
// asks for.
witness_plan plan_witnesses(std::uint64_t pool, std::uint64_t shared, double missed) noexcept;

// How many shared shingles a set of this size needs, at least, to reach the threshold. Never 0.
std::uint64_t least_contained(std::uint64_t size, double threshold) noexcept;

// The plan for rows of one size. Witnesses are drawn from at least the `pool` rarest shingles.
struct size_plan {
    std::uint64_t size;
    std::uint64_t pool;
    witness_plan witnesses;
};

size_plan plan_for_size(std::uint64_t size, double threshold, double missed) noexcept;

// How many of the counted rows have a shingle. The counted rows are evenly spaced among all rows.
struct shingle_counts {
    std::uint16_t* values;
    std::size_t mask; // one less than the number of counters: counters_for(rows), a power of two

    // The low bits of a hash choose the counter, because witnesses are chosen by the highest bits.
    std::uint16_t& of(std::uint64_t element) const noexcept { return values[element & mask]; }
};

std::uint32_t counted_of(std::uint32_t rows) noexcept;
std::size_t counters_for(std::uint32_t rows) noexcept;

// The buffers of choose_witnesses(), used again for each row.
struct witness_choice {
    growing<std::uint8_t> classes;
    growing<std::uint64_t> marks;
    growing<std::uint32_t> tags;
    std::uint64_t most_mark; // the largest mark that was chosen
};

// Chooses a row's witnesses, and returns their tags, the rarest first. Shingles are mixed with `salt` into marks, so
// that only rows with the same salt (those of one scope) meet.
std::span<const std::uint32_t> choose_witnesses(witness_choice& choice,
                                                const shingle_counts& counts,
                                                const distinct_elements& set,
                                                std::uint64_t salt,
                                                const size_plan& plan);

// The part of a mark that is kept. It is never 0, because 0 is a free entry in a table of tags. Two marks share a tag
// by chance with a probability of 2^-32.
inline std::uint32_t tag_of(std::uint64_t mark) noexcept
{
    const auto tag = static_cast<std::uint32_t>(mark);
    return tag != 0 ? tag : 1;
}

// How many indexed witnesses must be found before all witnesses are looked at.
constexpr std::uint32_t most_met = 4;

struct index_shape {
    std::uint32_t places;  // the number of rows in the index
    std::uint64_t tags;    // how many witnesses these rows have in all, less than 2^32
    std::uint64_t indexed; // how many of the witnesses are indexed
    probe_secret secret;   // the secret of the process that made the index
};

struct place_note {
    std::uint32_t first; // where the tags of the row at this place begin
    std::uint32_t least; // how many of the row's witnesses must be found; 0: it has no witnesses
};

inline std::uint32_t met_of(const place_note& note) noexcept { return std::min(note.least, most_met); }

inline std::uint32_t indexed_of(const place_note& note, const place_note& next) noexcept
{
    return next.first - note.first - note.least + met_of(note);
}

// The index: the places of rows, grouped into buckets by their witnesses' tags, in one piece of the caller's memory.
struct witness_index {
    index_shape shape;
    std::size_t mask;
    place_note* notes;       // one per place, and one that marks the end
    std::uint32_t* tags;     // the tags of each place, the rarest first
    std::uint32_t* starts;   // where each bucket starts in `postings`, and where the last one ends
    std::uint32_t* postings; // places, in ascending order within a bucket
    std::uint8_t* least;     // met_of() of each place's note
    std::uint64_t* filter;   // a bit for each indexed tag; other tags may share such a bit by chance
    std::size_t filter_mask; // one less than the number of the filter's words
};

std::size_t index_bytes(std::uint32_t places, std::uint64_t tags, std::uint64_t indexed) noexcept;

// Lays an index out in its memory. The caller writes notes, tags and `least`.
witness_index open_index(void* memory, const index_shape& shape) noexcept;

// Makes buckets, postings and filter from the notes and tags.
void make_index(host& owner, witness_index& index);

// The lower half of the result chooses the tag's bucket, and the upper half the tag's bit in the filter.
inline std::uint64_t place_in(const witness_index& index, std::uint32_t tag) noexcept
{
    return place_of(tag, index.shape.secret);
}

inline std::size_t filter_word(const witness_index& index, std::uint64_t place) noexcept
{
    return place >> 32 & index.filter_mask;
}

inline std::uint64_t filter_bit(std::uint64_t place) noexcept { return std::uint64_t{1} << (place >> 58); }

inline bool is_known(const witness_index& index, std::uint64_t place) noexcept
{
    return (index.filter[filter_word(index, place)] & filter_bit(place)) != 0;
}

} // namespace minhash::bulk
