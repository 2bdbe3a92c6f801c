// Reads entries of runs: the numbers of the records whose keys begin with the slots that a search asks for.
#pragma once

#include "pg/index/read/search.h"

namespace minhash::pg::index {

// Sets the search's keys, as the plan says.
void set_keys(search& self, const scan_plan& plan);

// Finds where the entries with the search's keys begin in each run. Returns false if a run's pages are gone.
bool find_ranges(search& self);

// Reads up to `most` more entries of each range into `numbers`, or fewer if memory is short. A few ranges are read at a
// time, so that their leaves are prefetched together. Ranges without further entries are removed. Returns false if a
// run's pages are gone.
bool read_ranges(search& self, std::size_t most);

} // namespace minhash::pg::index
