// Makes the record of a row from its signature.
#pragma once

#include "pg/index/pages.h"

extern "C" {
#include "utils/relcache.h"
}

namespace minhash::pg::index {

constexpr int most_record_bytes = max_num_hashes + static_cast<int>(sizeof(std::uint32_t) + sizeof(ItemPointerData));

// The signature in a Datum, detoasted in the current memory context; an ERROR if it cannot be indexed.
signature indexable_signature(Relation index, Datum value);

// An ERROR unless a signature may be compared with those of the index.
void check_scheme(Relation index, const layout& shape, const signature& value);

// Writes the record's bytes.
void make_record(
    const layout& shape, const signature& value, std::uint32_t scope, const ItemPointerData& tid, std::uint8_t* record);

// Writes a page of records, which is locked and which nobody reads yet, and releases it.
void write_records(
    Relation index, Buffer buffer, std::uint64_t id, std::span<const std::uint8_t> records, BlockNumber next);

} // namespace minhash::pg::index
