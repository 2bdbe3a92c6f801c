// The distinct elements of a row, which are the 64-bit hashes of its shingles, in a list and a
// table that says where in the list each is. So two different shingles of a pair of texts of a
// million characters pass for one with a probability of one in ten million.
//
// A row can be looked up in another one, its leader, while it is read. Rows that share much share
// it in long runs, which need not be looked up element by element. An element that comes again ends
// such a run in a list of distinct elements; so a leader's list has it again, too.
#pragma once

#include "bulk/sets/text_signer.h"

#include "core/hash.h"
#include "core/probe.h"

#include <span>

namespace minhash::bulk {

// An element that is in a list for a second time or more, by its numbers.
struct repeated_element {
    std::uint32_t number;
    std::uint32_t first;
};

struct distinct_elements {
    host* owner;
    growing<std::uint32_t> table; // open addressing: numbers of elements; 0: free
    std::size_t entries;          // in use of it, a power of two
    growing<std::uint64_t> list;  // by number, from 1 on; the first is no element
    std::size_t listed;           // numbers in use
    std::size_t count;            // distinct elements

    // Whether elements are listed again when they come again, unless they are too many.
    bool repeating;
    growing<repeated_element> repeats;
    std::size_t repeat_count;
    growing<std::uint32_t> places; // scratch

    // Null, or a set that is not changed meanwhile: its elements are marked by their numbers
    // instead of being added.
    const distinct_elements* leader;
    growing<std::uint8_t> marks;
    std::size_t expected; // where the leader's list goes on

    // Distinct, unless they were to be listed again.
    std::span<const std::uint64_t> elements() const
    {
        return {list.values + 1, listed};
    }
};

// What a search needs of a set, so that the compiler can keep it in registers.
struct searched_elements {
    std::uint32_t* table;
    const std::uint64_t* list;
    std::size_t mask;
    probe_secret secret;

    explicit searched_elements(const distinct_elements& set)
        : table(set.table.values), list(set.list.values), mask(set.entries - 1), secret(probing)
    {
    }

    // The entry that has an element's number, or the free one that it would take.
    std::uint32_t& entry(std::uint64_t element) const
    {
        return table[probe(mask, place_of(element, secret), [this, element](std::size_t at) {
            return table[at] == 0 || list[table[at]] == element;
        })];
    }
};

// Starts with none, and room for a usual row of up to `most` elements: a larger one grows.
void start_elements(distinct_elements& set, std::size_t most);

// Adds elements, given by the halves of their hashes.
void add(distinct_elements& set,
         const std::uint32_t* lo,
         const std::uint32_t* hi,
         std::size_t count);

// Makes it a set of distinct elements, in the list in their order. A 0 among them is none, but
// takes a number.
void take_elements(distinct_elements& set, std::span<const std::uint64_t> elements);

// Adds elements of another set.
void add(distinct_elements& set, std::span<const std::uint64_t> elements);

// Starts a set, and adds all elements of a text.
void read_text(text_signer& signer, text_bytes text, distinct_elements& set);

// How many of some distinct elements a set has. `expected` is the number in the set that is looked
// at first, 1 to start with, and is kept for the elements that follow.
std::size_t count_shared(const distinct_elements& set,
                         std::span<const std::uint64_t> elements,
                         std::size_t& expected);

// Writes which of the leader's elements are marked as bits, that of number n at place n - 1; of one
// that is listed again the first one's. Returns how many are marked.
std::size_t take_marks(distinct_elements& set, std::uint64_t* words);

void end_elements(distinct_elements& set);

} // namespace minhash::bulk
