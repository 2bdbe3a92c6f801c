// The width of signatures in tables that have never been analysed.
#pragma once

namespace minhash::pg {

// From now on the planner takes a column of signatures for as wide as they are. Without this, PostgreSQL takes each
// value for 32 bytes wide, as of any type, and so expects nine times too many rows in a table without statistics.
void tell_widths();

} // namespace minhash::pg
