// Whether the records of an index are those of its table's rows.
#pragma once

#include "pg/index/columns.h"
#include "pg/index/format.h"
#include "pg/index/found.h"

extern "C" {
#include "utils/relcache.h"
#include "utils/snapshot.h"
#include "utils/tuplesort.h"
}

namespace minhash::pg::index {

// What was read of an index.
struct known_records {
    Relation index;
    meta now;
    layout shape;
    columns which;
    Tuplesortstate* sort; // of living records, and then of rows; null if the table is not asked
};

std::uint64_t checksum_of(const std::uint8_t* record, const layout& shape);

// Begins to know them, within maintenance_work_mem.
void start_records(known_records& known);

// A living record, of a row's place in the table. It may be added twice.
void add_record(known_records& known,
                const ItemPointerData& row,
                std::uint64_t checksum,
                std::uint64_t number);

// Every row that the snapshot sees, which is older than what was read of the index, must have a
// record, no row may have two, and each record must have a row.
void check_table(known_records& known, Relation table, Snapshot snapshot);

} // namespace minhash::pg::index
