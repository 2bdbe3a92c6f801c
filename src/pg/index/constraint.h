// Exclusion constraints: EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9).
//
// PostgreSQL scans the index for rows that conflict with a new row, and would recheck these rows with the operator %,
// whose threshold is a setting of the session. A constraint must not depend on that setting. So in such scans the index
// itself decides, with the threshold with which it was built. It compares the signatures in the table, because a record
// has only a shortened copy.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"
}

namespace minhash::pg::index {

// Reads rows of the table. It is made when it is first needed.
struct row_reader {
    IndexInfo* info;
    EState* executor;
    IndexFetchTableData* fetch;
    TupleTableSlot* slot; // its pin keeps VACUUM from giving the TID to another row
};

// Whether a scan looks for conflicts with an exclusion constraint.
bool is_constraint_scan(IndexScanDesc scan);

// Whether a row conflicts with the keys of the scan or, if another transaction is still writing the row, may conflict.
// Returns false if the row is gone; then `dead` says whether it is dead for everybody.
bool conflicts(IndexScanDesc scan, row_reader& reader, ItemPointerData tid, double threshold, bool& dead);

void close_reader(row_reader& reader);

} // namespace minhash::pg::index
