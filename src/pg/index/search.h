// Records found for a query: those that agree with it in the first slots of a band, or the best of
// all.
#pragma once

#include "pg/growing.h"
#include "pg/index/format.h"

#include <algorithm>

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::lsh {

struct candidate {
    ItemPointerData tid;
    std::uint16_t equal; // slots of the copies that agree: at least as many as of the signatures
};

// What searches did, for EXPLAIN.
struct search_work {
    int depth; // of the last one, as in scan_plan
    int bands;
    std::uint64_t compared; // records with the query
    std::uint64_t found;
};

struct search {
    Relation index;
    search_work work;
    layout shape;
    meta now;           // as read at the start of the last search
    BlockNumber blocks; // that the index had then

    const std::uint8_t* narrowed_by; // the copy of the signature that % compares with, if it does
    const std::uint8_t* ordered_by;  // of that which distances are measured from, or the same
    int least_equal;                 // with narrowed_by
    bool by_scope;                   // only records of the scope are found
    std::uint32_t scope;

    growing<std::uint64_t> given; // TIDs not to be found again, sorted
    growing<candidate> found;
    int floor; // records that agree less with ordered_by were left out

    growing<std::uint64_t> numbers;
    std::uint32_t* found_with; // how many were found, by agreement
};

// Sorts what may grow with a table, so that it answers to cancel.
template <typename Value, typename Less>
void sort_answering(growing<Value>& values, Less less)
{
    constexpr std::size_t at_once = 32768;
    if (values.count <= at_once) {
        std::sort(values.at, values.at + values.count, less);
        return;
    }
    const auto compare = [](const void* left, const void* right, void* argument) {
        const Less& before = *static_cast<const Less*>(argument);
        const Value& a = *static_cast<const Value*>(left);
        const Value& b = *static_cast<const Value*>(right);
        return before(a, b) ? -1 : static_cast<int>(before(b, a));
    };
    qsort_interruptible(values.at, values.count, sizeof(Value), compare, &less);
}

// The TID of a record as a number.
std::uint64_t number_of(const ItemPointerData& tid);

// Finds the records that agree in `depth` slots of one of the first bands.
void find_by_prefix(search& state, int depth, int bands);

// Compares all records. Keeps about the `wanted` best, 0: all; see floor.
void find_in_all(search& state, std::size_t wanted);

} // namespace minhash::pg::lsh
