// Blocks of band keys, as sent between servers: many keys and the ids of their texts in one value.
//
// A block has entries of one place (a server or a shard), whose keys are in one part of all keys:
//
//   base, 8 bytes | place, 4 | bytes of an id, 1 | 3 zeros | entries, each: 5 bytes of the key,
//   then an id
//
// Numbers are little-endian. The part of a key is the bits of key * parts above the lower 64; the key's 5 bytes are the
// next lower bits. An id is stored as its difference from the base, the block's smallest id, in as few bytes as the
// largest difference needs.
#pragma once

#include "pg/glue.h"

namespace minhash::pg {

struct key_entry {
    std::uint64_t key; // what a block keeps of it
    std::int64_t id;
};

constexpr int block_key_bytes = 5;
constexpr std::size_t block_header_bytes = 16;

// The part that a key belongs to, and what a block of that part keeps of it.
inline std::uint64_t part_of(std::uint64_t key, int parts, std::uint64_t& kept)
{
    const auto scaled = static_cast<unsigned __int128>(key) * static_cast<unsigned>(parts);
    kept = static_cast<std::uint64_t>(scaled) >> (64 - 8 * block_key_bytes);
    return static_cast<std::uint64_t>(scaled >> 64);
}

// A new varlena. There is at least one entry.
bytea* make_block(int place, std::span<const key_entry> entries);

// A stored block that is not toasted; an ERROR if it is damaged.
class block_reader {
public:
    explicit block_reader(bytea* stored, int places);

    int place() const
    {
        return place_;
    }

    std::size_t count() const
    {
        return count_;
    }

    key_entry entry(std::size_t number) const;

private:
    const std::uint8_t* entries_;
    std::size_t count_;
    std::int64_t base_;
    int place_;
    int id_bytes_;
};

} // namespace minhash::pg
