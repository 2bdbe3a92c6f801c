// Where the table with the documents is larger than memory, reading a page for each comparison would read it many times
// and wait each time. So rows that will be compared are marked first, and then their documents are read once, in the
// order of their places, and kept.
#pragma once

#include "bulk/rows/steps.h"

namespace minhash::bulk {

// To be called before documents are compared. Does nothing where it is not worth it.
void bring_documents(row_set& rows);

// One process's part of each of its steps.
void mark_units(row_set& rows);
void bring_units(row_set& rows);

} // namespace minhash::bulk
