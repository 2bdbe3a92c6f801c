// The distinct elements of a row, which are the 64-bit hashes of its shingles. They are in a list, and a hash table
// finds an element's number in the list. For two texts of a million characters, the probability that two different
// shingles have the same hash is one in ten million.
//
// While a row is read, it can be looked up in another row, its leader. Rows that share much share long runs of
// elements, which need not be looked up one by one. If a repeated element were missing from the leader's list, it would
// interrupt such a run, so a leader lists it again.
#pragma once

#include "bulk/sets/text_signer.h"

#include "core/hash.h"
#include "core/probe.h"

#include <span>

namespace minhash::bulk {

// A repeated element in a list: its number, and the number of its first occurrence.
struct repeated_element {
    std::uint32_t number;
    std::uint32_t first;
};

struct distinct_elements {
    host* owner;
    growing<std::uint32_t> table; // open addressing: numbers of elements; 0: free
    std::size_t entries;          // the size of the table in use, a power of two
    growing<std::uint64_t> list;  // the elements at their numbers, from 1 on; list[0] is unused
    std::size_t listed;           // how many numbers are used
    std::size_t count;            // how many distinct elements there are

    // Whether repeated elements are listed again (not more than a limit).
    bool repeating;
    growing<repeated_element> repeats;
    std::size_t repeat_count;
    growing<std::uint32_t> places; // scratch

    // Null, or a set that stays unchanged while elements are added. Elements that the leader has are not added, but
    // marked in `marks`, by their numbers in the leader.
    const distinct_elements* leader;
    growing<std::uint8_t> marks;
    std::size_t expected; // the number in the leader that will probably come next

    // The listed elements. They are distinct, unless `repeating`.
    std::span<const std::uint64_t> elements() const { return {list.values + 1, listed}; }
};

// The parts of a set that a search needs, copied so that the compiler keeps them in registers.
struct searched_elements {
    std::uint32_t* table;
    const std::uint64_t* list;
    std::size_t mask;
    probe_secret secret;

    explicit searched_elements(const distinct_elements& set)
        : table(set.table.values), list(set.list.values), mask(set.entries - 1), secret(probing)
    {
    }

    // The table entry that has the element's number, or if there is none, the free entry that it would take.
    std::uint32_t& entry(std::uint64_t element) const
    {
        return table[probe(mask, place_of(element, secret), [this, element](std::size_t at) {
            return table[at] == 0 || list[table[at]] == element;
        })];
    }
};

// Starts an empty set for up to `most` elements, with room for a typical row. The room grows as needed.
void start_elements(distinct_elements& set, std::size_t most);

// Adds elements, given by the halves of their hashes.
void add(distinct_elements& set, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count);

// Fills the set with elements that are already distinct, and lists them in their order. A 0 among them is not an
// element, but takes a number.
void take_elements(distinct_elements& set, std::span<const std::uint64_t> elements);

// Adds elements, each given as a whole hash.
void add(distinct_elements& set, std::span<const std::uint64_t> elements);

// Starts a set, and adds all elements of a text.
void read_text(host_signer& signer, text_bytes text, distinct_elements& set);

// How many of these distinct elements are in the set. The search begins at the number `expected` in the set: start with
// 1, and pass the variable on from call to call.
std::size_t count_shared(const distinct_elements& set, std::span<const std::uint64_t> elements, std::size_t& expected);

// Writes the marks of the leader's elements as bits: that of number n is bit n - 1. A repeated element counts only at
// its first number. Returns how many elements are marked.
std::size_t take_marks(distinct_elements& set, std::uint64_t* words);

} // namespace minhash::bulk
