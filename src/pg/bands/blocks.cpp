#include "pg/bands/blocks.h"

#include <algorithm>
#include <bit>

namespace minhash::pg {

namespace {

void put_number(std::uint8_t* to, std::uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t get_number(const std::uint8_t* from, int bytes)
{
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= static_cast<std::uint64_t>(from[i]) << (8 * i);
    return value;
}

[[noreturn]] void fail_block(std::size_t bytes)
{
    ereport(ERROR,
            errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("block of band keys is damaged"),
            errdetail("It has %zu bytes.", bytes),
            errhint("Read the signatures again: drop the job, and call lsh_distributed_pairs() once more."));
}

} // namespace

bytea* make_block(int place, std::span<const key_entry> entries)
{
    Assert(!entries.empty() && place >= 0);
    std::int64_t least = entries[0].id;
    std::int64_t most = entries[0].id;
    for (const key_entry& entry : entries) {
        least = std::min(least, entry.id);
        most = std::max(most, entry.id);
    }
    const auto base = static_cast<std::uint64_t>(least);
    const int id_bytes = (std::bit_width(static_cast<std::uint64_t>(most) - base) + 7) / 8;
    const std::size_t bytes = block_header_bytes + entries.size() * (block_key_bytes + id_bytes);
    bytea* const block = static_cast<bytea*>(palloc(VARHDRSZ + bytes));
    SET_VARSIZE(block, VARHDRSZ + bytes);
    std::uint8_t* to = reinterpret_cast<std::uint8_t*>(VARDATA(block));
    put_number(to, base, 8);
    put_number(to + 8, static_cast<std::uint64_t>(place), 4);
    put_number(to + 12, static_cast<std::uint64_t>(id_bytes), 4);
    to += block_header_bytes;
    for (const key_entry& entry : entries) {
        put_number(to, entry.key, block_key_bytes);
        put_number(to + block_key_bytes, static_cast<std::uint64_t>(entry.id) - base, id_bytes);
        to += block_key_bytes + id_bytes;
    }
    return block;
}

block_reader::block_reader(bytea* stored, int places)
{
    const auto* const from = reinterpret_cast<const std::uint8_t*>(VARDATA_ANY(stored));
    const std::size_t bytes = VARSIZE_ANY_EXHDR(stored);
    if (bytes <= block_header_bytes)
        fail_block(bytes);
    base_ = static_cast<std::int64_t>(get_number(from, 8));
    const std::uint64_t place = get_number(from + 8, 4);
    const std::uint64_t id_bytes = get_number(from + 12, 4);
    if (place >= static_cast<std::uint64_t>(places) || id_bytes > 8 ||
        (bytes - block_header_bytes) % (block_key_bytes + id_bytes) != 0)
        fail_block(bytes);
    place_ = static_cast<int>(place);
    id_bytes_ = static_cast<int>(id_bytes);
    entries_ = from + block_header_bytes;
    count_ = (bytes - block_header_bytes) / (block_key_bytes + id_bytes);
}

key_entry block_reader::entry(std::size_t number) const
{
    Assert(number < count_);
    const std::uint8_t* const from = entries_ + number * static_cast<std::size_t>(block_key_bytes + id_bytes_);
    const std::uint64_t above = get_number(from + block_key_bytes, id_bytes_);
    return {get_number(from, block_key_bytes), static_cast<std::int64_t>(static_cast<std::uint64_t>(base_) + above)};
}

} // namespace minhash::pg
