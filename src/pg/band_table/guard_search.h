// The nearest other row of a row that is written.
#pragma once

#include "pg/band_table/guard.h"
#include "pg/band_table/statements.h"

namespace minhash::pg {

// Another row. The id lies in the memory that was current as it was found.
struct near_row {
    Datum id;
    double similarity; // estimated, at least the guard's threshold
};

// A row of the statement, by the hash of its id.
struct queued_row {
    std::uint64_t id;
    std::uint64_t place; // from 1
};

// The rows of one statement in their order, found by their ids: a mark must not refer to one that
// is yet to be judged, and may be marked then.
struct row_queue {
    std::span<const queued_row> rows; // in the order of the hashes
    std::uint64_t judged;             // this many have been, or are just being
};

struct guard_search {
    const guard* given;
    kept_plan* find;
    kept_plan* check; // whether the writer sees a row; null if policies hide none from him
    row_queue queue;
    identity writer; // who writes, while the guard acts as another
};

guard_search open_search(FunctionCallInfo fcinfo, const guard& given, identity writer);

// Reads all rows of the statement into the queue.
void queue_rows(guard_search& search, row_reader& reader);

// Finds the nearest of the other rows that a mark, or an error, may refer to; false without one.
bool find_nearest(const guard_search& search, const signed_row& row, near_row& nearest);

// Whether a row is as it was written: a trigger that fired before may have changed or deleted it.
// What has become of it was judged as that was written.
bool is_current(const guard& given, const signed_row& row);

} // namespace minhash::pg
