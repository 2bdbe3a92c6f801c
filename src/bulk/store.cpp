// A store is a file of its first `filed` bytes, then chunks in memory, of which only the newest is
// written to. When the budget is used up, whichever store has most full chunks writes its oldest
// one. Chunks that were written
// out are kept and taken again, by any store with chunks of that size.
#include "bulk/store.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace minhash::bulk {

// What a chunk holds while no store has it.
struct spare_chunk {
    spare_chunk* next;
    std::size_t bytes;
};

namespace {

void free_spare(memory_budget& budget)
{
    spare_chunk* const spare = budget.spare;
    budget.spare = spare->next;
    budget.spare_bytes -= spare->bytes;
    release(*budget.owner, spare);
}

// Memory that was used is in the processor's reach, and fresh memory must be cleared by the kernel
// first: so chunks are kept, while there is room for them.
void give_back(memory_budget& budget, char* chunk, std::size_t bytes)
{
    spare_chunk* const spare = reinterpret_cast<spare_chunk*>(chunk);
    *spare = {budget.spare, bytes};
    budget.spare = spare;
    budget.spare_bytes += bytes;
    assert(budget.used >= bytes);
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
    return allocate<char>(*budget.owner, bytes);
}

// Chunks that are full, which a store that is being written to has all but one of.
std::size_t full_chunks(const byte_store& store)
{
    return store.chunk_count - (store.at < store.end ? 1 : 0);
}

// Moves the oldest chunk to the file.
void flush_chunk(byte_store& store)
{
    host& owner = *store.budget->owner;
    assert(full_chunks(store) > 0 && store.filed % store.chunk_bytes == 0);
    if (store.file == 0)
        store.file = owner.open_file(owner);
    assert(store.file != 0);
    char** const chunks = store.chunks.values;
    owner.write_file(owner, store.file, chunks[0], store.chunk_bytes, store.filed);
    store.filed += store.chunk_bytes;
    give_back(*store.budget, chunks[0], store.chunk_bytes);
    std::copy(chunks + 1, chunks + store.chunk_count, chunks);
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
        if (bytes == 0)
            continue;
        const bool first = largest == nullptr || (store->in_order && !largest->in_order);
        if (first || (store->in_order == largest->in_order && bytes > most)) {
            most = bytes;
            largest = store;
        }
    }
    if (largest == nullptr)
        return false;
    flush_chunk(*largest);
    return true;
}

// The next chunk to write to. The first is given whatever the budget says.
void advance(byte_store& store)
{
    memory_budget& budget = *store.budget;
    while (store.chunk_count > 0 && budget.used + store.chunk_bytes > budget.limit &&
           make_room(budget))
        continue;
    grow(*budget.owner, store.chunks, store.chunk_count, store.chunk_count + 1);
    char* const chunk = take_chunk(budget, store.chunk_bytes);
    store.chunks.values[store.chunk_count++] = chunk;
    store.at = chunk;
    store.end = chunk + store.chunk_bytes;
}

} // namespace

memory_budget make_budget(host& owner, std::size_t limit)
{
    memory_budget budget = {};
    budget.owner = &owner;
    budget.limit = limit;
    return budget;
}

std::size_t chunk_for(const memory_budget& budget, std::size_t stores, std::size_t wanted)
{
    constexpr std::size_t least = 1024;
    while (wanted > least && wanted * stores > budget.limit / 4)
        wanted /= 2;
    return wanted;
}

byte_store* open_store(memory_budget& budget, std::size_t chunk_bytes, reading how)
{
    assert(std::has_single_bit(chunk_bytes) && chunk_bytes >= sizeof(spare_chunk));
    byte_store* const store = allocate<byte_store>(*budget.owner);
    *store = {};
    store->budget = &budget;
    store->chunk_bytes = chunk_bytes;
    store->in_order = how == reading::in_order;
    store->next = budget.stores;
    budget.stores = store;
    return store;
}

void close_store(byte_store* store)
{
    memory_budget& budget = *store->budget;
    host& owner = *budget.owner;
    byte_store** at = &budget.stores;
    while (*at != store)
        at = &(*at)->next;
    *at = store->next;
    assert(budget.used >= store->chunk_count * store->chunk_bytes);
    budget.used -= store->chunk_count * store->chunk_bytes;
    for (std::size_t i = 0; i < store->chunk_count; i++)
        release(owner, store->chunks.values[i]);
    release(owner, store->chunks.values);
    if (store->file != 0)
        owner.close_file(owner, store->file);
    release(owner, store);
}

void close_stores(memory_budget& budget)
{
    while (budget.stores != nullptr)
        close_store(budget.stores);
    while (budget.spare != nullptr)
        free_spare(budget);
}

std::size_t needed_bytes(const memory_budget& budget)
{
    std::uint64_t bytes = budget.used;
    for (const byte_store* store = budget.stores; store != nullptr; store = store->next)
        bytes += store->filed;
    return bytes + bytes / 8; // chunks are larger where there is more
}

void append_slowly(byte_store& store, const void* bytes, std::size_t count)
{
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
        pause(*store.budget->owner);
        if (store.at == store.end)
            advance(store);
        const std::size_t part =
            std::min<std::size_t>(count, static_cast<std::size_t>(store.end - store.at));
        std::memcpy(store.at, from, part);
        store.at += part;
        store.size += part;
        from += part;
        count -= part;
    }
}

const void* fetch_slowly(byte_store& store, std::uint64_t offset, std::size_t count, void* buffer)
{
    host& owner = *store.budget->owner;
    char* to = static_cast<char*>(buffer);
    if (offset < store.filed) {
        const std::size_t part = std::min<std::uint64_t>(count, store.filed - offset);
        owner.read_file(owner, store.file, to, part, offset);
        to += part;
        offset += part;
        count -= part;
    }
    while (count > 0) {
        pause(owner);
        const std::size_t inside = offset & (store.chunk_bytes - 1);
        const std::size_t part = std::min(count, store.chunk_bytes - inside);
        const std::size_t chunk = (offset - store.filed) / store.chunk_bytes;
        std::memcpy(to, store.chunks.values[chunk] + inside, part);
        to += part;
        offset += part;
        count -= part;
    }
    return buffer;
}

std::size_t fetch_piece(byte_store& store, std::uint64_t offset, void* buffer, const void*& piece)
{
    assert(offset < store.size);
    const std::size_t inside = offset & (store.chunk_bytes - 1);
    const std::size_t count =
        std::min<std::uint64_t>(store.chunk_bytes - inside, store.size - offset);
    piece = fetch(store, offset, count, buffer);
    return count;
}

} // namespace minhash::bulk
