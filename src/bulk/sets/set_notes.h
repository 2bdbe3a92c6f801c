// What is noted of each row's set of shingles as rows come, where they are searched by containment:
// its size, a digest by which equal sets are found, and how frequent shingles are.
#pragma once

#include "bulk/memory/store.h"
#include "bulk/sets/exact_sets.h"

namespace minhash::bulk {

struct set_notes {
    memory_budget* budget;
    std::uint32_t count;            // of rows
    growing<std::uint32_t> sizes;   // distinct shingles of each row
    growing<std::uint64_t> digests; // equal for equal sets
    std::uint16_t* rows_having;     // of the first rows, by a part of the shingle's hash
    distinct_elements set;          // of the row noted last
};

set_notes* make_notes(memory_budget& budget);

// Notes the next row. False if it is the empty set, which is not noted.
bool note_set(set_notes& notes, text_signer& signer, text_bytes text);

// How frequent a shingle is: 0, and one more for each doubling. Of rare ones this may say too much.
int frequency_class(const set_notes& notes, std::uint64_t element) noexcept;

constexpr int frequency_classes = 17;

} // namespace minhash::bulk
