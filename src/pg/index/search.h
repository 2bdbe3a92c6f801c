// Records found for a query: those that agree with it in the first slots of a band, or all.
#pragma once

#include "pg/growing.h"
#include "pg/index/format.h"
#include "pg/index/found.h"
#include "pg/index/plan.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

// What searches did, for EXPLAIN.
struct search_work {
    scan_plan plan;         // of the last one
    std::uint64_t compared; // records with the query
    std::uint64_t found;
};

// Entries of a run that begin with the slots of a band and have not been read.
struct entry_range {
    std::uint32_t run;     // its place in the meta page
    std::uint64_t key;     // the least
    BlockNumber block;     // of the next entry
    std::optional<int> at; // on that leaf, once it was looked for
};

struct search {
    Relation index;
    search_work work;
    layout shape;
    meta now;           // as read at the start of the search
    BlockNumber blocks; // that the index had then

    const std::uint8_t* narrowed_by; // the copy of the signature that % compares with, if it does
    const std::uint8_t* ordered_by;  // of that which distances are measured from, or the same
    int least_equal;                 // with narrowed_by
    bool in_order;                   // ranks are by distance, else all are the same
    bool by_scope;                   // only records of the scope are found
    std::uint32_t scope;
    bool skip_killed; // records that were seen to be of dead rows
    found_rows found;

    // By bands.
    growing<std::uint64_t> keys;
    std::uint64_t span; // of keys that begin alike
    growing<entry_range> ranges;
    bool has_ranges; // else they are to be looked for
    growing<std::uint64_t> numbers;
    std::uint64_t entries; // read since the search began
};

// The record's number.
inline std::uint64_t number_of(const layout& shape, BlockNumber block, int place)
{
    return std::uint64_t{block} << shape.place_bits | static_cast<std::uint64_t>(place);
}

// Begins a search by bands.
void begin_bands(search& state, const scan_plan& plan);

// Reads about so many entries of each range on, and compares their records; with the first ones the
// tail. Whether entries are left.
bool find_some(search& state, std::size_t entries);

// Compares all records.
void find_in_all(search& state);

} // namespace minhash::pg::index
