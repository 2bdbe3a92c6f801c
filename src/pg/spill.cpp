#include "pg/spill.h"

#include <algorithm>
#include <bit>

namespace minhash::pg {

namespace {

void seek(BufFile* file, std::uint64_t offset)
{
    if (BufFileSeek(file, 0, static_cast<off_t>(offset), SEEK_SET) != 0)
        elog(ERROR, "could not seek in a temporary file");
}

bool reserve(memory_budget& budget, std::size_t bytes)
{
    if (budget.used + bytes > budget.limit)
        return false;
    budget.used += bytes;
    return true;
}

char* add_chunk(byte_store& store)
{
    if (store.chunk_count == store.chunk_room) {
        store.chunk_room = std::max<std::size_t>(16, store.chunk_room * 2);
        const std::size_t bytes = store.chunk_room * sizeof(char*);
        store.chunks =
            store.chunks == nullptr
                ? static_cast<char**>(MemoryContextAllocHuge(store.budget->context, bytes))
                : static_cast<char**>(repalloc_huge(store.chunks, bytes));
    }
    char* const fresh =
        static_cast<char*>(allocate_large(store.budget->context, store.chunk_bytes));
    store.chunks[store.chunk_count++] = fresh;
    return fresh;
}

// Moves all chunks, which are full, to the file, and keeps the memory of one.
void flush(byte_store& store)
{
    if (store.file == nullptr) {
        const MemoryContext former = MemoryContextSwitchTo(store.budget->context);
        store.file = BufFileCreateTemp(false);
        MemoryContextSwitchTo(former);
    }
    // Reading has moved the file's position.
    seek(store.file, store.filed);
    for (std::size_t i = 0; i < store.chunk_count; i++) {
        CHECK_FOR_INTERRUPTS();
        BufFileWrite(store.file, store.chunks[i], store.chunk_bytes);
        store.filed += store.chunk_bytes;
        if (i > 0) {
            pfree(store.chunks[i]);
            store.budget->used -= store.chunk_bytes;
        }
    }
    store.chunk_count = 1;
    store.budget->exceeded = true;
}

// The next chunk to write to.
void advance(byte_store& store)
{
    if (store.chunk_count == 0) {
        store.budget->used += store.chunk_bytes; // a store has one, come what may
        store.at = add_chunk(store);
    } else if (reserve(*store.budget, store.chunk_bytes)) {
        store.at = add_chunk(store);
    } else {
        flush(store);
        store.at = store.chunks[0];
    }
    store.end = store.at + store.chunk_bytes;
}

} // namespace

void* allocate_large(MemoryContext context, std::size_t bytes)
{
    void* const memory = MemoryContextAllocHuge(context, bytes);
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t huge_page = 2 * 1024 * 1024;
    const std::uintptr_t first = TYPEALIGN(huge_page, memory);
    const std::uintptr_t end =
        TYPEALIGN_DOWN(huge_page, reinterpret_cast<std::uintptr_t>(memory) + bytes);
    if (first < end) // advice only: a refusal does no harm
        (void)madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
    return memory;
}

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
    if (store.chunks != nullptr)
        pfree(store.chunks);
    store.budget->used -= store.chunk_count * store.chunk_bytes;
    if (store.file != nullptr)
        BufFileClose(store.file);
    byte_store empty = {};
    empty.budget = store.budget;
    empty.chunk_bytes = store.chunk_bytes;
    empty.next = store.next;
    store = empty;
}

void close_stores(memory_budget& budget)
{
    for (byte_store* store = budget.stores; store != nullptr; store = store->next)
        close_store(*store);
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
        seek(store.file, offset);
        read_exactly(store.file, to, part);
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
