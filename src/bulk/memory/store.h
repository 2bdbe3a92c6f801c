// Bytes that are appended and then read at random: in memory while there is room, then in a temporary file. Several
// stores share a budget. When it is used up, the store with most bytes in memory writes its oldest chunk to its file;
// stores that are read in order do so first, as random reads of a file take longer.
//
// When all has been appended to a shared store, it can be left to other processes: each opens a view.
//
// (PostgreSQL's BufFile would copy each chunk once more, and read at random by whole blocks; a
// sort of all entries by its tuplesort took longer: test/bench/RESULTS.md.)
#pragma once

#include "bulk/memory/host.h"

#include <cassert>

namespace minhash::bulk {

struct byte_store;

// How a store will be read: once from start to end, at random, or at random and most often.
enum class reading { in_order, at_random, often };

// A chunk of a store, with the number of its shared memory, if it is shared.
struct store_chunk {
    char* at;
    shared_number number;
};

// What other processes need to open a store that is complete. Notes are in shared memory.
struct store_note {
    std::uint64_t size;
    std::uint64_t filed;
    std::size_t chunk_bytes;
    int file;
    std::uint32_t chunk_count;
    shared_number chunks; // their numbers
};

// Memory that several stores use together.
struct memory_budget {
    host* owner;
    std::size_t limit;
    std::size_t used;
    std::uint64_t filed;       // bytes that went to files
    byte_store* stores;        // all that are open
    struct spare_chunk* spare; // free chunks, kept for reuse: not counted as used
    std::size_t spare_bytes;
    bool sharing; // chunks of shared stores are in memory that workers reach
};

memory_budget make_budget(host& owner, std::size_t limit);

struct byte_store {
    memory_budget* budget;
    std::size_t chunk_bytes; // a power of two
    std::uint64_t size;
    std::uint64_t filed; // bytes in the file, a multiple of chunk_bytes; the others are in chunks
    growing<store_chunk> chunks;
    std::size_t chunk_count;
    char* at; // where the next byte goes, and the end of its chunk
    char* end;
    int file;         // 0: none
    reading how;      // it will be read: values that come first go to files first
    bool shared;      // chunks have numbers
    bool view;        // of a store that was left to a note
    byte_store* next; // in the budget's list
};

// The chunk size for `stores` stores, at most `wanted`, with which one chunk of each, which always stays in memory,
// fits into the budget.
std::size_t chunk_for(const memory_budget& budget, std::size_t stores, std::size_t wanted);

// A store with chunks of `chunk_bytes`, a power of two.
byte_store* open_store(memory_budget& budget, std::size_t chunk_bytes, reading how = reading::at_random);

// The same for a store that other processes will read.
byte_store* open_shared_store(memory_budget& budget, std::size_t chunk_bytes, reading how = reading::at_random);

// After start_sharing(): moves shared stores to where workers reach them, until shared memory runs out.
void share_stores(memory_budget& budget);

// Makes a store `size` bytes long: in memory while the budget has at most `most` bytes in use, else in the file. The
// new bytes are to be written by write_at(), perhaps by other processes.
void extend_store(byte_store& store, std::uint64_t size, std::size_t most);
void write_at(byte_store& store, std::uint64_t offset, const void* bytes, std::size_t count);

// Frees a shared store, but leaves its bytes to the note, still counted in the budget. Chunks in private memory, as
// shared memory was short, go to the file.
void leave_store(byte_store* store, store_note& note);

// A view of a store that was left. Several processes can have one.
byte_store* open_view(memory_budget& budget, const store_note& note);

// Frees the bytes that a note stands for. No view of it may be open. drop_noted() empties the note, too; free_noted()
// does not write to it, as others may read it, but nobody may use it again.
void free_noted(host& owner, const store_note& note);
void drop_noted(host& owner, store_note& note);

// Frees a store and its file, if there is one.
void close_store(byte_store* store);

// Closes all stores that are still open, and frees spare chunks.
void close_stores(memory_budget& budget);

// Ends a budget of a step, whose stores have been left: their bytes now count in the call's own.
void end_budget(memory_budget& budget, memory_budget& of_call);

// How much memory would have held everything.
std::size_t needed_bytes(const memory_budget& budget);

void append_slowly(byte_store& store, const void* bytes, std::size_t count);

inline void append(byte_store& store, const void* bytes, std::size_t count)
{
    if (static_cast<std::size_t>(store.end - store.at) <= count) {
        append_slowly(store, bytes, count);
        return;
    }
    std::memcpy(store.at, bytes, count);
    store.at += count;
    store.size += count;
}

// Whether fetch() needs no buffer for these bytes.
inline bool in_place(const byte_store& store, std::uint64_t offset, std::size_t count)
{
    const std::size_t inside = offset & (store.chunk_bytes - 1);
    return offset >= store.filed && inside + count <= store.chunk_bytes;
}

// Where a byte is, if it is in memory.
inline const char* in_memory(const byte_store& store, std::uint64_t offset)
{
    assert(offset >= store.filed && offset < store.size);
    return store.chunks.values[(offset - store.filed) / store.chunk_bytes].at + (offset & (store.chunk_bytes - 1));
}

const void* fetch_slowly(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer);

// `count` bytes from an offset, all of them inside the store: where they lie if they are in one chunk, else copied into
// the buffer.
inline const void* fetch(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer)
{
    assert(offset + count <= store.size);
    if (!in_place(store, offset, count))
        return fetch_slowly(store, offset, count, buffer);
    return in_memory(store, offset);
}

// For reading all bytes in order: sets `piece` to the bytes from an offset on, and returns how many there are at once.
// The buffer has room for chunk_bytes.
std::size_t fetch_piece(byte_store& store, std::uint64_t offset, void* buffer, const void*& piece);

} // namespace minhash::bulk
