// Documents that are compared, where what can be read again is larger than memory: a page read for
// each comparison would be read many times, and waited for. So rows that will be compared are
// marked first, and then their documents are read once, in the order of their places, and kept.
#pragma once

#include "bulk/rows/steps.h"

namespace minhash::bulk {

// To be called before documents are compared. Nothing is done where it is not worth it.
void bring_documents(row_set& rows);

// The parts of a process in that.
void mark_units(row_set& rows);
void bring_units(row_set& rows);

} // namespace minhash::bulk
