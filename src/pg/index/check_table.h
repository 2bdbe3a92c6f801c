// Whether the records of an index are those of its table's rows.
#pragma once

#include "pg/growing.h"
#include "pg/index/columns.h"
#include "pg/index/format.h"
#include "pg/index/found.h"

extern "C" {
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace minhash::pg::index {

// A living record.
struct known_record {
    std::uint64_t tid;
    std::uint64_t checksum; // of the copy
    std::uint64_t number;
};

// What was read of an index.
struct known_records {
    Relation index;
    meta now;
    layout shape;
    columns which;
    growing<known_record> records;
};

std::uint64_t checksum_of(const std::uint8_t* record, const layout& shape);

// Every row that the snapshot sees, which is older than what was read of the index, must have a
// record, no row may have two, and each record must have a row.
void check_table(known_records& known, Relation table, Snapshot snapshot);

} // namespace minhash::pg::index
