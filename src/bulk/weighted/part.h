// The state of a search by weighted similarity: what all processes share, and what each process has during its part of
// a step.
#pragma once

#include "bulk/search/indexed_rows.h"
#include "bulk/sets/distinct_elements.h"
#include "bulk/weighted/rarest.h"

#include "core/probe.h"

#include <cmath>

namespace minhash::bulk {

step make_lists_of_units; // lists.cpp
step look_up_rare_units;  // look_up.cpp

// How many rows have a shingle. In a scoped task, the key depends on the scope as well, so that rows of different
// scopes have no shingle in common (but by chance), and a frequency counts rows of one scope.
struct frequency {
    std::uint64_t key; // 0: a free entry
    std::uint32_t rows;
    std::uint32_t number; // of the shingle, in the pass; 0: none yet
};

// Frequencies do not all fit into memory at once. So they are counted in passes, each over all rows. A pass counts the
// shingles whose keys have upper halves from `from` to from + 2^bits - 1.
struct counted_range {
    std::uint64_t from;
    int bits;
};

inline bool is_in(const counted_range& range, std::uint64_t key)
{
    return ((key >> 32) - range.from) >> range.bits == 0;
}

// What is known of a row, besides its norm and its digest, which are in arrays of their own because they are sorted and
// searched. A location is a member, and an offset in the member's store (offset_in_stores()).
struct known_row {
    std::uint64_t counted_at; // the location of the numbers of its shingles in the current pass
    std::uint64_t list_at;    // of its list
    std::uint64_t rare_at;    // of its rarest shingles (rarest.h)
    std::uint32_t list_size;  // how many shingles the list has
    std::uint32_t singles;    // how many shingles no other row has: these are not listed
    rare_plan plan;
};

// The state that all processes share.
struct shared_weights {
    double missed; // the share of pairs that may be missed
    bool crossing;
    shared_number scope_rows; // for each row, how many rows its scope has; 0: tasks without scopes

    // The current pass. While shingles are counted, `table` is a hash table of mask + 1 frequencies. Afterwards it has
    // the frequencies above 1, sorted by key, followed by an array: the listed_shingle of each number, or 0 if only one
    // row has the shingle.
    counted_range range;
    shared_number table;
    std::size_t mask;
    probe_secret secret; // the hashing secret of the process that makes the call
    std::uint64_t used;  // how many numbers are used; atomic
    std::uint32_t full;  // not 0: the table became too full; atomic
    std::size_t known;
    std::uint32_t first_id; // the id of the first of the sorted shingles
    bool last;

    // For each row.
    shared_number known_rows; // a known_row
    shared_number norms;
    shared_number digests; // of its shingles: equal sets have equal digests

    shared_number counted; // for each member, the store_note of the numbers of rows' shingles
    shared_number lists;   // the same of its lists
    shared_number earlier; // the same notes after the previous pass
    shared_number rare;

    // Rows by ascending norm. The index and the found pairs identify a row by its position in this order.
    shared_number order;
    shared_number index;
    rare_index_dimensions dimensions;
    std::uint32_t first; // the position of the first row of the current part of the index
};

// A shingle of a list: its frequency, and its id below. Lists are sorted, so the rarest shingles come first. An id is
// the rank of a shingle's key among the keys of all shingles that several rows have, in ascending order. So lists do
// not depend on how shingles were counted.
using listed_shingle = std::uint64_t;

inline std::uint32_t frequency_of(listed_shingle shingle) { return static_cast<std::uint32_t>(shingle >> 32); }

inline std::uint32_t id_of(listed_shingle shingle) { return static_cast<std::uint32_t>(shingle); }

// A weight that has been computed: the square of ln((rows + 1) / frequency).
struct known_weight {
    std::uint32_t rows;
    std::uint32_t frequency; // 0: none
    double square;
};

constexpr std::size_t kept_weights = 4096; // a power of two

// The state of a process during its part of a step.
struct weighted_part {
    row_set* rows;
    shared_weights* shared;
    std::uint32_t* scope_rows;
    known_row* known;
    double* norms;
    std::uint64_t* digests;
    std::uint32_t* order;
    known_weight* weights;
    byte_store** lists;

    growing<std::uint8_t> text;
    distinct_elements set;
    growing<std::uint64_t> keys;
};

// Call this at the beginning of a process's part of a step.
weighted_part start_part(row_set& rows, shared_weights& shared);

inline weighted_part start_part(row_set& rows)
{
    return start_part(rows, *find_shared<shared_weights>(rows, shared_of(rows).by_itself));
}

// Reads a row, and writes the keys of its shingles that belong to the current pass to self.keys. Returns how many there
// are.
std::size_t read_keys(weighted_part& self, std::uint32_t row);

// The list of a row. It is valid until the next call with the same buffer.
inline std::span<const listed_shingle>
fetch_list(const weighted_part& self, std::uint32_t row, growing<listed_shingle>& buffer)
{
    return fetch_values(self.lists, self.known[row].list_at, self.known[row].list_size, buffer, *self.rows->owner);
}

// How many rows there are in a row's scope.
inline std::uint32_t scope_rows_of(const weighted_part& self, std::uint32_t row)
{
    return self.scope_rows == nullptr ? self.rows->count : self.scope_rows[row];
}

inline double square_of_weight(std::uint32_t rows, std::uint32_t frequency) noexcept
{
    const double weight = std::log((rows + 1.0) / frequency);
    return weight * weight;
}

inline double square_of_weight(const weighted_part& self, std::uint32_t rows, std::uint32_t frequency)
{
    known_weight& known = self.weights[(frequency + rows * 31) % kept_weights];
    if (known.frequency != frequency || known.rows != rows) [[unlikely]]
        known = {rows, frequency, square_of_weight(rows, frequency)};
    return known.square;
}

// The similarity of two rows, given by their lists, if it reaches `least`.
std::optional<double> similarity_of(const weighted_part& self,
                                    std::uint32_t a,
                                    std::span<const listed_shingle> of_a,
                                    std::uint32_t b,
                                    std::span<const listed_shingle> of_b,
                                    double least);

// frequencies.cpp: counts the frequencies of the next range of shingles, and makes the range smaller until its shingles
// fit into memory.
void count_range(row_set& rows, shared_weights& shared);

inline std::size_t table_bytes(const shared_weights& shared) { return (shared.mask + 1) * sizeof(frequency); }

inline listed_shingle* by_number_of(const shared_weights& shared, frequency* table)
{
    return reinterpret_cast<listed_shingle*>(table + shared.known);
}

} // namespace minhash::bulk
