// Runs written: the entries of records sorted, and put into pages.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "port/atomics.h"
#include "utils/relcache.h"
}

namespace minhash::pg::lsh {

struct new_pages;

// How many pages of records one run may have, so that sorting them keeps to the memory (in kB) and
// to what the sort can number.
std::size_t pages_of_a_run(const layout& shape, int memory);

// Writes the run of the records on the pages. Its pages are reachable by nobody until the meta page
// names the run. Nothing is locked meanwhile, so it answers to cancel. `supply` is that of a build,
// and null otherwise.
run write_run(Relation index,
              const layout& shape,
              std::span<const BlockNumber> pages,
              std::uint64_t id,
              new_pages* supply);

// The leaves of one band.
struct band_leaves {
    BlockNumber first; // none: no record was alive
    BlockNumber last;
    std::uint64_t records;
};

// The same by several processes of a build: each writes the leaves of whole bands, until none of
// bands_left is left. Then one makes the run of them.
void write_bands(Relation index,
                 const layout& shape,
                 std::span<const BlockNumber> pages,
                 std::uint64_t id,
                 new_pages& supply,
                 pg_atomic_uint32& bands_left,
                 band_leaves* made);
run join_bands(Relation index,
               const layout& shape,
               std::span<const BlockNumber> pages,
               std::uint64_t id,
               new_pages& supply,
               const band_leaves* made);

} // namespace minhash::pg::lsh
