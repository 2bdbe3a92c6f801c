#include "pg/bulk/spill.h"
#include "pg/errors.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace minhash::pg {

// What a chunk holds while no store has it.
struct spare_chunk {
    spare_chunk* next;
    std::size_t bytes;
};

namespace {

// Files are written and read in steps, so that cancel is answered while the disk is slow.
constexpr std::size_t file_step = 1024 * 1024;

void write_exactly(File file, char* from, std::size_t count, std::uint64_t offset)
{
    for (std::size_t done = 0; done < count; done += file_step) {
        CHECK_FOR_INTERRUPTS();
        const std::size_t part = std::min(file_step, count - done);
        errno = ENOSPC; // a write that stops short found no room
        if (std::cmp_not_equal(FileWrite(file,
                                         from + done,
                                         static_cast<int>(part),
                                         static_cast<off_t>(offset + done),
                                         WAIT_EVENT_BUFFILE_WRITE),
                               part))
            fail_temporary_file("write to");
    }
}

void read_exactly(File file, char* to, std::size_t count, std::uint64_t offset)
{
    for (std::size_t done = 0; done < count; done += file_step) {
        CHECK_FOR_INTERRUPTS();
        const std::size_t part = std::min(file_step, count - done);
        errno = EIO;
        if (std::cmp_not_equal(FileRead(file,
                                        to + done,
                                        static_cast<int>(part),
                                        static_cast<off_t>(offset + done),
                                        WAIT_EVENT_BUFFILE_READ),
                               part))
            fail_temporary_file("read from");
    }
}

void free_spare(memory_budget& budget)
{
    spare_chunk* const spare = budget.spare;
    budget.spare = spare->next;
    budget.spare_bytes -= spare->bytes;
    pfree(spare);
}

// Memory that was used is in the processor's reach, and fresh memory must be cleared by the kernel
// first: so chunks are kept, while there is room for them.
void give_back(memory_budget& budget, char* chunk, std::size_t bytes)
{
    spare_chunk* const spare = reinterpret_cast<spare_chunk*>(chunk);
    *spare = {budget.spare, bytes};
    budget.spare = spare;
    budget.spare_bytes += bytes;
    budget.used -= bytes;
}

// Counts the chunk as used, whether there is room for it or not.
char* take_chunk(memory_budget& budget, std::size_t bytes)
{
    budget.used += bytes;
    for (spare_chunk** at = &budget.spare; *at != nullptr; at = &(*at)->next) {
        spare_chunk* const spare = *at;
        if (spare->bytes == bytes) {
            *at = spare->next;
            budget.spare_bytes -= bytes;
            return reinterpret_cast<char*>(spare);
        }
    }
    while (budget.spare != nullptr && budget.used + budget.spare_bytes > budget.limit)
        free_spare(budget);
    return static_cast<char*>(allocate_large(budget.context, bytes));
}

void add_chunk(byte_store& store)
{
    if (store.chunk_count == store.chunk_room) {
        store.chunk_room = std::max<std::size_t>(16, store.chunk_room * 2);
        const std::size_t bytes = store.chunk_room * sizeof(char*);
        store.chunks =
            store.chunks == nullptr
                ? static_cast<char**>(MemoryContextAllocHuge(store.budget->context, bytes))
                : static_cast<char**>(repalloc_huge(store.chunks, bytes));
    }
    store.chunks[store.chunk_count++] = take_chunk(*store.budget, store.chunk_bytes);
}

// Chunks that are full, which a store that is at work has all but one of.
std::size_t full_chunks(const byte_store& store)
{
    return store.chunk_count - (store.at < store.end ? 1 : 0);
}

// Moves the oldest chunk to the file. (BufFile would copy it once more, and read at random by whole
// blocks.)
void flush_chunk(byte_store& store)
{
    if (store.file == 0) {
        PrepareTempTablespaces();
        store.file = OpenTemporaryFile(false);
    }
    write_exactly(store.file, store.chunks[0], store.chunk_bytes, store.filed);
    store.filed += store.chunk_bytes;
    give_back(*store.budget, store.chunks[0], store.chunk_bytes);
    std::copy(store.chunks + 1, store.chunks + store.chunk_count, store.chunks);
    store.chunk_count--;
    store.budget->exceeded = true;
}

// Makes room by the store that has most to give.
bool make_room(memory_budget& budget)
{
    byte_store* largest = nullptr;
    std::size_t most = 0;
    for (byte_store* store = budget.stores; store != nullptr; store = store->next) {
        const std::size_t bytes = full_chunks(*store) * store->chunk_bytes;
        if (bytes > most) {
            most = bytes;
            largest = store;
        }
    }
    if (largest == nullptr)
        return false;
    flush_chunk(*largest);
    return true;
}

// The next chunk to write to. A store has one, come what may.
void advance(byte_store& store)
{
    memory_budget& budget = *store.budget;
    while (store.chunk_count > 0 && budget.used + store.chunk_bytes > budget.limit &&
           make_room(budget))
        continue;
    add_chunk(store);
    store.at = store.chunks[store.chunk_count - 1];
    store.end = store.at + store.chunk_bytes;
}

} // namespace

std::size_t chunk_for(const memory_budget& budget, std::size_t stores, std::size_t wanted)
{
    constexpr std::size_t least = 1024;
    while (wanted > least && wanted * stores > budget.limit / 4)
        wanted /= 2;
    return wanted;
}

void open_store(byte_store& store, memory_budget& budget, std::size_t chunk_bytes)
{
    store = {};
    store.budget = &budget;
    store.chunk_bytes = chunk_bytes;
    store.next = budget.stores;
    budget.stores = &store;
}

void close_store(byte_store& store)
{
    for (std::size_t i = 0; i < store.chunk_count; i++)
        pfree(store.chunks[i]);
    store.budget->used -= store.chunk_count * store.chunk_bytes;
    if (store.chunks != nullptr)
        pfree(store.chunks);
    if (store.file != 0)
        FileClose(store.file);
    byte_store empty = {};
    empty.budget = store.budget;
    empty.chunk_bytes = store.chunk_bytes;
    empty.next = store.next;
    store = empty;
}

std::size_t needed_bytes(const memory_budget& budget)
{
    std::size_t bytes = budget.used;
    for (const byte_store* store = budget.stores; store != nullptr; store = store->next)
        bytes += store->filed;
    return bytes + bytes / 8; // chunks are larger where there is more
}

void close_stores(memory_budget& budget)
{
    for (byte_store* store = budget.stores; store != nullptr; store = store->next)
        close_store(*store);
    while (budget.spare != nullptr)
        free_spare(budget);
}

void append_slowly(byte_store& store, const void* bytes, std::size_t count)
{
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
        CHECK_FOR_INTERRUPTS();
        if (store.at == store.end)
            advance(store);
        const std::size_t part = std::min<std::size_t>(count, store.end - store.at);
        memcpy(store.at, from, part);
        store.at += part;
        store.size += part;
        from += part;
        count -= part;
    }
}

const void* fetch_slowly(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer)
{
    char* to = static_cast<char*>(buffer);
    if (offset < store.filed) {
        const std::size_t part = std::min<std::uint64_t>(count, store.filed - offset);
        read_exactly(store.file, to, part, offset);
        to += part;
        offset += part;
        count -= part;
    }
    while (count > 0) {
        CHECK_FOR_INTERRUPTS();
        const std::size_t inside = offset & (store.chunk_bytes - 1);
        const std::size_t part = std::min(count, store.chunk_bytes - inside);
        memcpy(to, store.chunks[(offset - store.filed) / store.chunk_bytes] + inside, part);
        to += part;
        offset += part;
        count -= part;
    }
    return buffer;
}

std::size_t fetch_piece(byte_store& store, std::uint64_t offset, void* buffer, const void*& piece)
{
    const std::size_t inside = offset & (store.chunk_bytes - 1);
    const std::size_t count =
        std::min<std::uint64_t>(store.chunk_bytes - inside, store.size - offset);
    piece = fetch(store, offset, count, buffer);
    return count;
}

} // namespace minhash::pg
