// Exclusion constraints: EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9).
//
// PostgreSQL scans the index for rows that conflict with a new one, and would check what it finds
// by the operator %, which follows a setting of the session. A constraint must not: in these scans
// the index says itself what conflicts, by the threshold that it was built with. It compares with
// the row in the table, as a record is a copy of fewer bits.
#pragma once

#include "pg/index/format.h"

#include <optional>

extern "C" {
#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"
}

namespace minhash::pg::index {

// What reads rows of the table, made when it is first needed.
struct row_reader {
    IndexInfo* info;
    EState* executor;
    IndexFetchTableData* fetch;
    TupleTableSlot* slot; // its pin keeps VACUUM from giving the TID to another row
};

// The threshold that a new index is to have, if it belongs to a constraint. An ERROR if it is given
// without one.
std::optional<double> constraint_threshold(Relation index);

// Whether a scan looks for rows that conflict.
bool is_constraint_scan(IndexScanDesc scan);

// Whether the row conflicts with the keys of the scan; false if there is no such row any more, and
// then whether it is dead for everybody. Of a row that another transaction is still writing,
// whether it may.
bool conflicts(
    IndexScanDesc scan, row_reader& reader, ItemPointerData tid, double threshold, bool& dead);

// Lets go of the last row, or of all.
void release_row(row_reader& reader);
void close_reader(row_reader& reader);

} // namespace minhash::pg::index
