// Bytes that are appended, and then read at random. They are in memory while there is room; then they go to a temporary
// file. Several stores share a budget. When the budget is used up, the store with the most bytes in memory writes its
// oldest chunk to its file. Stores that are read in order are written first, because random reads of a file take
// longer.
//
// When everything has been appended to a shared store, it can be left to other processes; each of them opens a view of
// it.
//
// (PostgreSQL's BufFile would copy each chunk once more, and each random read would read whole blocks. Sorting all
// entries by PostgreSQL's tuplesort took longer: test/bench/RESULTS.md.)
#pragma once

#include "bulk/memory/host.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

struct byte_store;

// How a store will be read: once from start to end; at random; or at random, and more often than other stores.
enum class reading { in_order, at_random, often };

// A chunk of a store, with the number of its memory.
struct store_chunk {
    char* at;
    shared_number number;
};

// What other processes need to open a store that was left to them. A note is in shared memory, and all its bytes are 0
// until leave_store() writes it.
struct store_note {
    std::uint64_t size;
    std::uint64_t filed;
    std::size_t chunk_bytes;
    int file;
    std::uint32_t chunk_count;
    shared_number chunks; // the numbers of the chunks' memory
};

inline bool has_store(const store_note& note)
{
    return note.chunk_bytes != 0; // no store has chunks of 0 bytes
}

// Memory that several stores use together.
struct memory_budget {
    host* owner;
    std::size_t limit;
    std::size_t used;
    std::uint64_t filed; // bytes that went to files
    byte_store* stores;  // all open stores
};

memory_budget make_budget(host& owner, std::size_t limit);

struct byte_store {
    memory_budget* budget;
    std::size_t chunk_bytes; // a power of two
    std::uint64_t size;
    std::uint64_t filed; // how many bytes are in the file, a multiple of chunk_bytes; the others are in chunks
    growing<store_chunk> chunks;
    std::size_t chunk_count;
    // The next byte is written at `at`; `end` is the end of the chunk there.
    char* at;
    char* end;
    int file;         // 0: none
    reading how;      // how the store will be read; stores with lower values go to files first
    bool shared;      // other processes, if there are any, will read the store
    bool view;        // this is a view of a store that was left to a note
    void* buffer;     // holds a piece read from the file; null: none has been read yet
    byte_store* next; // the next store in the budget's list
};

// The size of chunks, at most `wanted`, for which one chunk of each of `stores` stores fits into the budget: that chunk
// always stays in memory.
std::size_t chunk_for(const memory_budget& budget, std::size_t stores, std::size_t wanted);

// A store with chunks of `chunk_bytes`, a power of two.
byte_store* open_store(memory_budget& budget, std::size_t chunk_bytes, reading how = reading::at_random);

// Opens a store that other processes will read.
byte_store* open_shared_store(memory_budget& budget, std::size_t chunk_bytes, reading how = reading::at_random);

// Call this once the host is `sharing`. It moves shared stores to memory or files that workers can access, until shared
// memory runs out.
void share_stores(memory_budget& budget);

// Makes a store `size` bytes long: in memory while the budget has at most `most` bytes in use, otherwise in the file.
// The new bytes must be written by write_at(), perhaps by other processes.
void extend_store(byte_store& store, std::uint64_t size, std::size_t most);
void write_at(byte_store& store, std::uint64_t offset, const void* bytes, std::size_t count);

// Closes a shared store, but leaves its bytes to the note; they still count in the budget. Chunks that are in private
// memory, because shared memory was scarce, go to the file.
void leave_store(byte_store* store, store_note& note);

// Opens a view of a store that was left to a note. If the note is empty, because its process took no part in a step,
// the view is an empty store. Several processes can have a view of one store.
byte_store* open_view(memory_budget& budget, const store_note& note);
void close_view(byte_store* view);

// Frees the bytes that a note refers to. The note and its views must not be used again.
void free_noted(host& owner, const store_note& note);

// How large the budget would have to be for everything to stay in memory.
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

// The address of a byte that is in memory.
inline const char* in_memory(const byte_store& store, std::uint64_t offset)
{
    assert(offset >= store.filed && offset < store.size);
    return store.chunks.values[(offset - store.filed) / store.chunk_bytes].at + (offset & (store.chunk_bytes - 1));
}

const void* fetch_slowly(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer);

// Returns `count` bytes from an offset, all of which must be inside the store. If they are in one chunk, the result
// points into the chunk; otherwise they are copied into the buffer.
inline const void* fetch(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer)
{
    assert(offset + count <= store.size);
    if (!in_place(store, offset, count))
        return fetch_slowly(store, offset, count, buffer);
    return in_memory(store, offset);
}

// Reads a value by its number, from a store that holds only such values.
template <typename Value>
Value fetch_value(byte_store& store, std::uint64_t number)
{
    Value copy;
    return *static_cast<const Value*>(fetch(store, number * sizeof(Value), sizeof(Value), &copy));
}

// The contiguous bytes that start at an offset. They stay valid until the next call of fetch_piece() for this store.
std::span<const char> fetch_piece(byte_store& store, std::uint64_t offset);

// Calls take(std::span<const Value>) for the values between two offsets, in their order and piece by piece.
template <typename Value, typename Take>
void each_piece(byte_store& store, std::uint64_t begin, std::uint64_t end, Take&& take)
{
    while (begin < end) {
        pause(*store.budget->owner);
        const std::span<const char> piece = fetch_piece(store, begin);
        const std::size_t bytes = std::min<std::uint64_t>(piece.size(), end - begin);
        take(std::span(reinterpret_cast<const Value*>(piece.data()), bytes / sizeof(Value)));
        begin += bytes;
    }
}

} // namespace minhash::bulk
