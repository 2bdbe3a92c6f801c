// Bytes that are appended and then read at random: in memory while there is room, then in one of
// PostgreSQL's temporary files (temp_file_limit holds, and they go with the transaction).
#pragma once

#include "pg/memory.h"

namespace minhash::pg {

// What several stores may use together.
struct memory_budget {
    MemoryContext context;
    std::size_t limit;
    std::size_t used;
    bool exceeded;             // something went to a file
    struct byte_store* stores; // all that were opened
    struct spare_chunk* spare; // written to a file, and of use again: not counted as used
    std::size_t spare_bytes;
};

struct byte_store {
    memory_budget* budget;
    std::size_t chunk_bytes; // a power of two
    std::uint64_t size;
    std::uint64_t filed; // bytes in the file, a multiple of chunk_bytes; the others are in chunks
    char** chunks;
    std::size_t chunk_count;
    std::size_t chunk_room;
    char* at; // where the next byte goes, and the end of its chunk
    char* end;
    File file;        // 0: none
    byte_store* next; // of the budget's
};

// The size of a store's chunks, at most `wanted`, where so many stores must share the budget: each
// keeps one chunk in memory, come what may.
std::size_t chunk_for(const memory_budget& budget, std::size_t stores, std::size_t wanted);

void open_store(byte_store& store, memory_budget& budget, std::size_t chunk_bytes);
void close_store(byte_store& store);

// What memory all stores would need.
std::size_t needed_bytes(const memory_budget& budget);

// Closes all stores. (After an error, their transaction does.)
void close_stores(memory_budget& budget);

void append_slowly(byte_store& store, const void* bytes, std::size_t count);

inline void append(byte_store& store, const void* bytes, std::size_t count)
{
    if (static_cast<std::size_t>(store.end - store.at) < count) {
        append_slowly(store, bytes, count);
        return;
    }
    memcpy(store.at, bytes, count);
    store.at += count;
    store.size += count;
}

// Bytes from an offset: where they lie, or copied into the buffer.
const void* fetch_slowly(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer);

inline const void* fetch(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer)
{
    const std::size_t inside = offset & (store.chunk_bytes - 1);
    if (offset < store.filed || inside + count > store.chunk_bytes)
        return fetch_slowly(store, offset, count, buffer);
    return store.chunks[(offset - store.filed) / store.chunk_bytes] + inside;
}

// All bytes in order, piece by piece: how many come at once from an offset, and where they are.
// The buffer has room for chunk_bytes.
std::size_t fetch_piece(byte_store& store, std::uint64_t offset, void* buffer, const void*& piece);

} // namespace minhash::pg
