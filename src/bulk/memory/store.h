// A store holds bytes that are appended, and later read in any order. Bytes are in memory while there is room, and
// otherwise in a temporary file. Several stores share a budget. When the budget is used up, one store writes its oldest
// chunk to its file. Stores that will be read in order are chosen first, because random reads of a file take longer.
// Among stores that are read in the same way, the one with the most bytes in memory is chosen.
//
// A shared store that is complete can be left to other processes: its owner closes it, but its bytes are kept. Each
// process then opens its own view of the store.
//
// (PostgreSQL's BufFile would copy each chunk once more, and each random read would read whole blocks. Sorting all
// entries with PostgreSQL's tuplesort took longer than grouping them in partitions: bulk/buckets/buckets.h.)
#pragma once

#include "bulk/memory/host.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

struct byte_store;

// How a store will be read: once from start to end; at random; or at random, and more often than other stores.
enum class reading { in_order, at_random, often };

// A chunk of a store: its address in this process, and the number that identifies its piece of memory.
struct store_chunk {
    char* at;
    shared_number number;
};

// What other processes need to open a view of a store. A note is in shared memory. All its bytes are 0 until
// leave_store() fills it in.
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
    // The next byte is appended at `at`; `end` is the end of that chunk.
    char* at;
    char* end;
    int file;         // 0: none
    reading how;      // how the store will be read; stores with lower values go to files first
    bool shared;      // other processes, if there are any, will read the store
    bool view;        // this is a view, made by open_view() from a note
    void* buffer;     // for a piece that fetch_piece() reads from the file; null: none read yet
    byte_store* next; // the next store in the budget's list
};

// The chunk size to use for `stores` stores. The newest chunk of each store stays in memory. So the size is halved,
// from `wanted`, until one chunk for each store fits into a quarter of the budget; but it is never halved below 1 kB.
std::size_t chunk_for(const memory_budget& budget, std::size_t stores, std::size_t wanted);

// How many stores of a call may have large chunks. The engine has three: one for documents, one for the first slots of
// signatures, and one for their other slots. The host has three: for ids, for ids of rows that are near nothing, and
// for ranks.
constexpr std::size_t large_stores = 6;

// Opens a store with chunks of `chunk_bytes` bytes, a power of two.
byte_store* open_store(memory_budget& budget, std::size_t chunk_bytes, reading how = reading::at_random);

// Opens a store that other processes will read.
byte_store* open_shared_store(memory_budget& budget, std::size_t chunk_bytes, reading how = reading::at_random);

// Moves the contents of shared stores to memory and files that workers can access. Call this when host.sharing has been
// set. If shared memory runs out, the remaining chunks stay in private memory.
void share_stores(memory_budget& budget);

// Extends a store to `size` bytes. The store gets chunks in memory while no more than `most` bytes of the budget are in
// use; its other bytes are in its file. Afterwards, write_at() must write the new bytes, perhaps in other processes.
void extend_store(byte_store& store, std::uint64_t size, std::size_t most);
void write_at(byte_store& store, std::uint64_t offset, const void* bytes, std::size_t count);

// Closes a shared store but keeps its bytes, and fills in the note. The bytes still count in the budget. If shared
// memory was scarce, some chunks are in private memory. While the host is `sharing`, such chunks go to the file.
void leave_store(byte_store* store, store_note& note);

// Opens a view of the store that a note describes. If the note is empty, because its process took no part in a step,
// the view is an empty store. Several processes can have views of one store.
byte_store* open_view(memory_budget& budget, const store_note& note);
void close_view(byte_store* view);

// Makes a store of what another process has left. Its bytes count in the budget, and it can be left again.
byte_store* adopt_store(memory_budget& budget, const store_note& note);

// Frees the bytes that a note refers to. After this, views made from the note may be neither opened nor read.
void free_noted(host& owner, const store_note& note);

// How large the budget would have to be for everything to stay in memory. Something must have gone to a file.
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

// Whether fetch() can return these bytes without copying them.
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

// Returns the `count` bytes from an offset on; they must all be inside the store. If they are in one chunk in memory,
// the result points into the chunk; otherwise the bytes are copied into the buffer.
inline const void* fetch(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer)
{
    assert(offset + count <= store.size);
    if (!in_place(store, offset, count))
        return fetch_slowly(store, offset, count, buffer);
    return in_memory(store, offset);
}

// Reads a value from a store that holds only values of this type, numbered from 0.
template <typename Value>
Value fetch_value(byte_store& store, std::uint64_t number)
{
    Value copy;
    return *static_cast<const Value*>(fetch(store, number * sizeof(Value), sizeof(Value), &copy));
}

// The bytes from an offset to the end of its chunk, or to the end of the store. They are valid until the next call of
// fetch_piece() for this store.
std::span<const char> fetch_piece(byte_store& store, std::uint64_t offset);

// Calls take(std::span<const Value>) for the values between two offsets, in order and piece by piece.
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
