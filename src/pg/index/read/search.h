// Finds records for a query, either among the records that share the first slots of a band with the query, or among all
// records.
#pragma once

#include "pg/growing.h"
#include "pg/index/format/format.h"
#include "pg/index/read/found.h"
#include "pg/index/read/plan.h"

#include <optional>

namespace minhash::pg::index {

// What searches did, for EXPLAIN.
struct search_work {
    scan_plan plan;         // the plan of the last search
    bool of_scope;          // whether the last search compared all records of the scope
    std::uint64_t compared; // records compared with the query
    std::uint64_t found;
};

// The entries of one run that are still to be read for one band. Their keys begin with the query's first slots of this
// band.
struct entry_range {
    std::uint32_t run;     // the run's position in the meta page
    std::uint64_t key;     // the least key of the range
    BlockNumber block;     // the leaf with the next entry
    std::optional<int> at; // the entry's position on that leaf; empty: not known yet
};

struct search {
    Relation index;
    search_work work;
    index::layout layout;
    index::meta meta;   // the meta page as read at the start of the search
    BlockNumber blocks; // how many blocks the index had at that time

    const std::uint8_t* filter_record; // a record with the signature of %, or null
    const std::uint8_t* ordered_by; // a record with the signature of ORDER BY, or null; filter_record if they are equal
    int least_equal;                // the minimum number of slots in which rows must agree with filter_record
    bool in_order;                  // rows are ranked by distance; otherwise all rows rank as equally near,
    bool nulls_last;                // except that, if this is set, rows whose signature is NULL rank last
    bool by_scope;                  // only records whose scope has the hash `scope` are found
    std::uint32_t scope;
    bool skip_killed; // skip records marked as killed
    found_rows found;

    // For searches by bands.
    growing<std::uint64_t> keys;
    std::uint64_t span; // prefix_span() of the depth searched
    growing<entry_range> ranges;
    bool has_ranges; // false: find_ranges() must be called first
    growing<std::uint64_t> numbers;
    std::uint64_t candidates;  // the number of candidates of all batches, since the search began
    bool counts;               // whether to count in `counted`
    std::uint64_t counted;     // the number of live records, if by_scope of the scope, compared since the search began
    BufferAccessStrategy ring; // for leaves, if many are read; or null
    bool of_scope;             // the ranges are of the entries under the scope alone
};

// In place of a number of slots that differ, the rank of a row whose signature is NULL has this number in an order by
// distance.
inline int null_rank(const layout& layout) { return layout.scheme.num_hashes + 1; }

void begin_bands(search& self, const scan_plan& plan);

enum class batch_end {
    more,     // entries are left
    ended,    // no entries are left
    too_much, // comparing all records is cheaper than comparing the candidates
};

// Reads up to `entries` more entries of each range, and compares their records, unless the candidates have become too
// many. The first call also compares the records of the tail. `size` has the costs; null: no number is too much.
batch_end find_some(search& self, std::size_t entries, const index_size* size);

// Steps of searches. Those that return a bool return false if a run's pages are gone; then the search starts again.

// How many entries of a range to read, if all are wanted.
constexpr std::size_t all_of_range = std::size_t{1} << 40;

// Compares the records whose numbers were read. They must be sorted.
bool consider_numbers(search& self);

// Compares the records that have no entries: those of the tail and, in a search of a scope, those of bare pages.
bool consider_unlisted(search& self);

// Starts a search again from the current meta page, after the search met pages that have been replaced. An ERROR if the
// meta page has not changed, because then the pages were not replaced but are missing. Rows that have been found stay
// found, because duplicates of them do no harm.
void start_again(search& self);

// Compares all records; if by_scope, at least those of the scope. If it is cheaper, reads only these, by their entries.
void find_in_all(search& self, const index_size& size);

// Compares at least `most` live records, if by_scope of the scope, or all that there are. Rows that have been found
// before stay found. `counts` must be set.
void find_more(search& self, std::uint64_t most);

} // namespace minhash::pg::index
