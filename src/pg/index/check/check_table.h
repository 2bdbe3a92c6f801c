// Checks that an index has the right records for the rows of its table.
#pragma once

#include "pg/index/format/columns.h"
#include "pg/index/format/rank.h"

extern "C" {
#include "storage/bufmgr.h"
#include "utils/snapshot.h"
#include "utils/tuplesort.h"
}

namespace minhash::pg::index {

// The records that were read from an index.
struct known_records {
    Relation index;
    index::meta meta;
    index::layout layout;
    index::columns columns;
    BufferAccessStrategy ring; // for reading the index
    Tuplesortstate* sort;      // sorts the live records, and then also the table's rows; null: the table is not checked
};

// Starts collecting records, within maintenance_work_mem.
void start_records(known_records& known);

// Adds a live record and the TID of its row. A record may be added twice.
void add_record(
    known_records& known, const ItemPointerData& row, std::uint64_t checksum, BlockNumber block, int ordinal);

// A checksum of what a record has besides its TID.
std::uint64_t checksum_of(const std::uint8_t* record, const layout& layout, const ItemPointerData& tid);

// An ERROR unless every row that the snapshot sees has exactly one record, and every record has a row. The snapshot
// must have been taken before the index was read.
void check_table(known_records& known, Relation table, Snapshot snapshot);

} // namespace minhash::pg::index
