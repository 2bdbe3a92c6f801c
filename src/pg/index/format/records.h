// Makes a row's record from the row's signature, and band keys from a record.
//
// A band key has up to 40 bits of the band's slots, in slot order. So records of one scope that agree in the first
// slots of a band have neighbouring keys, and one index serves searches by any number of leading slots of its bands.
// (This is the idea of prefix trees over MinHash: Bawa, Condie, Ganesan, "LSH Forest", WWW 2005; here, sorted arrays
// take the place of trees.)
#pragma once

#include "pg/index/format/pages.h"

namespace minhash::pg::index {

constexpr int most_record_bytes = max_num_hashes + static_cast<int>(sizeof(std::uint32_t) + sizeof(ItemPointerData));

// The signature in a Datum, detoasted in the current memory context; an ERROR if it cannot be indexed.
signature indexable_signature(Relation index, Datum value);

// An ERROR unless the signature has the scheme of the index.
void check_scheme(Relation index, const layout& layout, const signature& value);

// Writes layout.record_bytes bytes to `record`. `value` is null if the row's signature is NULL.
void make_record(const layout& layout,
                 const signature* value,
                 std::uint32_t scope,
                 const ItemPointerData& tid,
                 std::uint8_t* record);

// Writes records to a page, which becomes bare if `level` is bare_level, and releases the page. The page must be
// locked, and nobody may read it yet.
void write_records(Relation index,
                   Buffer buffer,
                   int level,
                   std::uint64_t id,
                   std::span<const std::uint8_t> records,
                   BlockNumber next);

// How many bits of a key the first `depth` slots of a band occupy. Each slot has 8 bits. But if a key is too short for
// 8 bits of every slot, the later slots have only 4.
constexpr int prefix_bits(int rows, int depth)
{
    const int wide = rows <= key_bits / 8 ? rows : 2 * (key_bits / 8) - rows;
    return depth <= wide ? 8 * depth : 8 * wide + 4 * (depth - wide);
}

static_assert(prefix_bits(10, 10) == 40 && prefix_bits(7, 7) == 40 && prefix_bits(7, 4) == 28 &&
              prefix_bits(5, 5) == 40 && prefix_bits(2, 1) == 8);

// A scope's hash, spread over the bits of a key.
inline std::uint64_t spread_scope(std::uint32_t scope)
{
    return scope * std::uint64_t{0x9E3779B97F4A7C15} >> (64 - key_bits);
}

// The key of the entries under a scope alone. They come after the entries of all bands.
inline std::uint64_t scope_entry_key(std::uint32_t scope, const layout& layout)
{
    return static_cast<std::uint64_t>(layout.banding.bands) << key_bits | spread_scope(scope);
}

// The key of a record's band, with the band's number in the bits above the key.
inline std::uint64_t band_entry_key(const std::uint8_t* record, const layout& layout, int band)
{
    const int rows = layout.banding.rows;
    const std::uint8_t* const slots = record + band * rows;
    const int wide = rows <= key_bits / 8 ? rows : 2 * (key_bits / 8) - rows;
    std::uint64_t key = static_cast<std::uint64_t>(band);
    for (int row = 0; row < wide; row++)
        key = key << 8 | slots[row];
    for (int row = wide; row < rows; row++)
        key = key << 4 | slots[row] >> 4;
    return key << (key_bits - prefix_bits(rows, rows)) ^ spread_scope(scope_of(record, layout));
}

// The key of a record's entry in one of the lists of a run.
inline std::uint64_t entry_key(const std::uint8_t* record, const layout& layout, int list)
{
    return list < layout.banding.bands ? band_entry_key(record, layout, list)
                                       : scope_entry_key(scope_of(record, layout), layout);
}

// Whether a live record has an entry in this list. Records of bare pages have none.
inline bool has_entry(const ItemPointerData& tid, const layout& layout, int list)
{
    return list == layout.banding.bands || has_slots(tid);
}

// The difference between the greatest and the least key that begin with the same `depth` slots.
inline std::uint64_t prefix_span(int rows, int depth)
{
    return (std::uint64_t{1} << (key_bits - prefix_bits(rows, depth))) - 1;
}

} // namespace minhash::pg::index
