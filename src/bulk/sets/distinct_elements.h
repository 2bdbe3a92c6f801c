// The distinct elements of a row. An element is the 64-bit hash of a shingle. The elements are numbered in a list, and
// a hash table finds an element's number. For two texts of a million characters, the probability that two different
// shingles have the same hash is one in ten million.
//
// While a row is read, its elements can be looked up in another row, its base. Rows that share many elements share
// long runs of them, which need not be looked up one by one. To keep these runs long, the list of a base has repeated
// elements again: without them, each repetition would end a run.
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
    growing<std::uint64_t> list;  // list[n] is the element with number n; list[0] is unused
    std::size_t listed;           // how many numbers are used: the highest number
    std::size_t count;            // how many distinct elements there are

    // Whether repeated elements are listed again (up to a limit).
    bool repeating;
    growing<repeated_element> repeats;
    std::size_t repeat_count;
    growing<std::uint32_t> cells; // scratch

    // Null, or a set that stays unchanged while elements are added to this one. If the base has an element, the
    // element is not added, but marked in `marks`. This array is indexed by the numbers of the base's elements.
    const distinct_elements* base;
    growing<std::uint8_t> marks;
    std::size_t expected; // the number of the base's element that will probably come next

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

    // The table entry that has the element's number. If the element is not in the set, the free entry where its number
    // would go.
    std::uint32_t& entry(std::uint64_t element) const
    {
        return table[probe(mask, first_cell(element, secret), [this, element](std::size_t at) {
            return table[at] == 0 || list[table[at]] == element;
        })];
    }
};

// Starts an empty set for up to `most` elements, with room for a typical row. The room grows as needed.
void start_elements(distinct_elements& set, std::size_t most);

// Adds elements, given as the lower and upper halves of their hashes.
void add(distinct_elements& set, const std::uint32_t* lo, const std::uint32_t* hi, std::size_t count);

// Replaces the contents of the set with elements that are already distinct. Their order gives their numbers. A 0 among
// them is not an element, but uses up a number.
void take_elements(distinct_elements& set, std::span<const std::uint64_t> elements);

// Adds elements, each given as a whole hash.
void add(distinct_elements& set, std::span<const std::uint64_t> elements);

// Starts a set, and adds all elements of a text.
void read_text(host_signer& signer, text_bytes text, distinct_elements& set);

// How many elements at the start of two arrays of `count` elements are equal, up to the first difference.
std::size_t count_equal_front(const std::uint64_t* a, const std::uint64_t* b, std::size_t count) noexcept;

// Counts how many of `elements`, which are distinct, are in the set. `expected` is the number that the first of
// `elements` probably has in the set. Set this variable to 1 before the first call, and pass it on from call to call.
std::size_t count_shared(const distinct_elements& set, std::span<const std::uint64_t> elements, std::size_t& expected);

// Writes the marks of the base's elements as bits. Bit n - 1 is the mark of the element with number n. A repeated
// element is marked only at its first number. Returns how many elements are marked.
std::size_t take_marks(distinct_elements& set, std::uint64_t* words);

} // namespace minhash::bulk
