// Exclusion constraints: EXCLUDE USING lsh (sig WITH %) WITH (threshold = 0.9).
//
// PostgreSQL scans the index for rows that conflict with a new row. A recheck of these rows with the operator % would
// use a threshold that is a setting of the session, but a constraint must not depend on that setting. So in these scans
// the index itself decides, by the threshold in its meta page. To decide, the index reads the signatures in the table,
// because records have only shortened copies.
#pragma once

#include "pg/glue.h"

extern "C" {
#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"
}

namespace minhash::pg::index {

// Reads rows of the table. A scan opens its reader when it first needs a row.
struct row_reader {
    IndexInfo* info;
    EState* executor;
    IndexFetchTableData* fetch;
    TupleTableSlot* slot; // the pin in this slot keeps VACUUM from giving the row's TID to another row
};

// Whether PostgreSQL makes this scan to check an exclusion constraint.
bool is_constraint_scan(IndexScanDesc scan);

// Whether a row conflicts with the keys of the scan. Also true if another transaction is still inserting the row,
// because the row may then conflict. False if the row is gone; `dead` then says whether it is dead to all transactions.
bool conflicts(IndexScanDesc scan, row_reader& reader, ItemPointerData tid, double threshold, bool& dead);

void close_reader(row_reader& reader);

} // namespace minhash::pg::index
