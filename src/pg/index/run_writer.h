// Runs written: the entries of records sorted, and put into pages.
#pragma once

#include "pg/index/format.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::lsh {

// How many pages of records one run may have, so that sorting them keeps to the memory (in kB) and
// to what the sort can number.
std::size_t pages_of_a_run(const layout& shape, int memory);

// Writes the run of the records on the pages. Its pages are reachable by nobody until the meta page
// names the run. Nothing is locked meanwhile, so it answers to cancel.
run write_run(Relation index,
              const layout& shape,
              std::span<const BlockNumber> pages,
              std::uint64_t id,
              bool building);

} // namespace minhash::pg::lsh
