// A store's first `filed` bytes are in a file, and the others in chunks in memory. Bytes are appended only to the
// newest chunk; the other chunks are full and can be moved to the file.
#include "bulk/memory/store.h"

#include <bit>

namespace minhash::bulk {

namespace {

// Allocates a chunk for a store. The chunk counts as used, even beyond the budget. If the store is shared but no shared
// memory is left, the result is no chunk. But if a chunk is `needed`, it is allocated in private memory, and will be
// written to the file later.
store_chunk take_chunk(const byte_store& store, bool needed)
{
    host& owner = *store.budget->owner;
    shared_number number = store.shared ? owner.allocate_shared(owner, store.chunk_bytes, false) : 0;
    if (number == 0 && store.shared && !needed)
        return {};
    if (number == 0)
        number = private_number(allocate<char>(owner, store.chunk_bytes));
    store.budget->used += store.chunk_bytes;
    return {static_cast<char*>(owner.find_shared(owner, number)), number};
}

void free_chunk(const byte_store& store, const store_chunk& chunk)
{
    memory_budget& budget = *store.budget;
    assert(budget.used >= store.chunk_bytes);
    budget.used -= store.chunk_bytes;
    budget.owner->release_shared(*budget.owner, chunk.number);
}

// How many chunks are full: all chunks, except the one to which bytes are still appended, if there is one.
std::size_t full_chunks(const byte_store& store) { return store.chunk_count - (store.at < store.end ? 1 : 0); }

// Moves the oldest chunk to the file.
void flush_chunk(byte_store& store)
{
    host& owner = *store.budget->owner;
    assert(full_chunks(store) > 0 && store.filed % store.chunk_bytes == 0);
    if (store.file == 0)
        store.file = owner.open_file(owner);
    assert(store.file != 0);
    store_chunk* const chunks = store.chunks.values;
    owner.write_file(owner, store.file, chunks[0].at, store.chunk_bytes, store.filed);
    store.filed += store.chunk_bytes;
    free_chunk(store, chunks[0]);
    std::copy(chunks + 1, chunks + store.chunk_count, chunks);
    store.chunk_count--;
    store.budget->filed += store.chunk_bytes;
}

// Moves one full chunk to its store's file. The store is the one with the lowest `how` and, among such stores, the one
// with the most bytes in full chunks. Stores with a `how` above `most_read` keep their chunks. Returns false if there
// is no chunk to move.
bool make_room(memory_budget& budget, reading most_read = reading::often)
{
    byte_store* largest = nullptr;
    std::size_t most = 0;
    for (byte_store* store = budget.stores; store != nullptr; store = store->next) {
        const std::size_t bytes = full_chunks(*store) * store->chunk_bytes;
        if (bytes == 0 || store->view || store->how > most_read)
            continue;
        if (largest == nullptr || store->how < largest->how || (store->how == largest->how && bytes > most)) {
            most = bytes;
            largest = store;
        }
    }
    if (largest == nullptr)
        return false;
    flush_chunk(*largest);
    return true;
}

// Frees a store's own bookkeeping, but neither its chunks nor its file.
void forget_store(byte_store* store)
{
    memory_budget& budget = *store->budget;
    byte_store** at = &budget.stores;
    while (*at != store)
        at = &(*at)->next;
    *at = store->next;
    release(*budget.owner, store->chunks.values);
    release(*budget.owner, store);
}

// Adds a chunk to write to, after making room in the budget. A store without chunks gets one even beyond the budget.
void advance(byte_store& store)
{
    memory_budget& budget = *store.budget;
    while (store.chunk_count > 0 && budget.used + store.chunk_bytes > budget.limit && make_room(budget))
        continue;
    store_chunk chunk = take_chunk(store, store.chunk_count == 0);
    while (chunk.at == nullptr) {
        flush_chunk(store);
        chunk = take_chunk(store, store.chunk_count == 0);
    }
    add(*budget.owner, store.chunks, store.chunk_count, chunk);
    store.at = chunk.at;
    store.end = chunk.at + store.chunk_bytes;
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

byte_store* open_shared_store(memory_budget& budget, std::size_t chunk_bytes, reading how)
{
    byte_store* const store = open_store(budget, chunk_bytes, how);
    store->shared = true;
    return store;
}

byte_store* open_store(memory_budget& budget, std::size_t chunk_bytes, reading how)
{
    assert(std::has_single_bit(chunk_bytes));
    byte_store* const store = allocate<byte_store>(*budget.owner);
    *store = {};
    store->budget = &budget;
    store->chunk_bytes = chunk_bytes;
    store->how = how;
    store->next = budget.stores;
    budget.stores = store;
    return store;
}

void close_view(byte_store* view)
{
    assert(view->view);
    release(*view->budget->owner, view->buffer);
    forget_store(view);
}

namespace {

// Moves the contents of a store's file to a file that workers can access.
void move_file(byte_store& store)
{
    host& owner = *store.budget->owner;
    const int file = owner.open_file(owner);
    char* const buffer = allocate<char>(owner, store.chunk_bytes);
    for (std::uint64_t offset = 0; offset < store.filed; offset += store.chunk_bytes) {
        owner.read_file(owner, store.file, buffer, store.chunk_bytes, offset);
        owner.write_file(owner, file, buffer, store.chunk_bytes, offset);
    }
    release(owner, buffer);
    owner.close_file(owner, store.file);
    store.file = file;
}

} // namespace

void share_stores(memory_budget& budget)
{
    assert(budget.owner->sharing);
    for (byte_store* store = budget.stores; store != nullptr; store = store->next) {
        if (!store->shared)
            continue;
        if (store->file != 0)
            move_file(*store);
        for (std::size_t i = 0; i < store->chunk_count; i++) {
            store_chunk& chunk = store->chunks.values[i];
            const store_chunk moved = take_chunk(*store, false);
            if (moved.at == nullptr)
                break;
            std::memcpy(moved.at, chunk.at, store->chunk_bytes);
            if (i + 1 == store->chunk_count && store->at != nullptr) {
                store->at = moved.at + (store->at - chunk.at);
                store->end = moved.at + store->chunk_bytes;
            }
            free_chunk(*store, chunk);
            chunk = moved;
        }
    }
}

void extend_store(byte_store& store, std::uint64_t size, std::size_t most)
{
    memory_budget& budget = *store.budget;
    host& owner = *budget.owner;
    assert(store.shared && !store.view && size >= store.size);
    store.at = store.end = nullptr;
    store.size = size;
    const std::uint64_t wanted = (size + store.chunk_bytes - 1) / store.chunk_bytes;
    while (store.filed / store.chunk_bytes + store.chunk_count < wanted) {
        store_chunk chunk = {};
        while (store.how == reading::often && budget.used + store.chunk_bytes > most &&
               make_room(budget, reading::at_random))
            continue;
        if (budget.used + store.chunk_bytes <= most)
            chunk = take_chunk(store, false);
        if (chunk.at != nullptr) {
            add(owner, store.chunks, store.chunk_count, chunk);
            continue;
        }
        if (store.chunk_count > 0) {
            flush_chunk(store);
            continue;
        }
        if (store.file == 0)
            store.file = owner.open_file(owner);
        budget.filed += store.chunk_bytes;
        store.filed += store.chunk_bytes;
    }
}

void write_at(byte_store& store, std::uint64_t offset, const void* bytes, std::size_t count)
{
    host& owner = *store.budget->owner;
    assert(offset + count <= store.size);
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
        const std::size_t inside = offset & (store.chunk_bytes - 1);
        const std::size_t part = std::min(count, store.chunk_bytes - inside);
        if (offset < store.filed)
            owner.write_file(owner, store.file, from, part, offset);
        else
            std::memcpy(const_cast<char*>(in_memory(store, offset)), from, part);
        from += part;
        offset += part;
        count -= part;
    }
}

void leave_store(byte_store* store, store_note& note)
{
    host& owner = *store->budget->owner;
    assert(store->shared && !store->view);
    store->at = store->end = nullptr;
    const auto is_private = [](const store_chunk& chunk) { return (chunk.number & private_mark) != 0; };
    while (owner.sharing && std::any_of(store->chunks.values, store->chunks.values + store->chunk_count, is_private))
        flush_chunk(*store);
    note =
        {store->size, store->filed, store->chunk_bytes, store->file, static_cast<std::uint32_t>(store->chunk_count), 0};
    auto* const numbers = allocate_shared<shared_number>(owner, note.chunks, store->chunk_count);
    for (std::size_t i = 0; i < store->chunk_count; i++)
        numbers[i] = store->chunks.values[i].number;
    forget_store(store);
}

byte_store* open_view(memory_budget& budget, const store_note& note)
{
    host& owner = *budget.owner;
    assert(has_store(note) || note.size == 0);
    byte_store* const store = open_store(budget, has_store(note) ? note.chunk_bytes : 1);
    store->shared = true;
    store->view = true;
    store->size = note.size;
    store->filed = note.filed;
    store->file = note.file;
    const auto* const numbers = find_shared<shared_number>(owner, note.chunks);
    for (std::uint32_t i = 0; i < note.chunk_count; i++)
        add(owner,
            store->chunks,
            store->chunk_count,
            {static_cast<char*>(owner.find_shared(owner, numbers[i])), numbers[i]});
    return store;
}

byte_store* adopt_store(memory_budget& budget, const store_note& note)
{
    byte_store* const store = open_view(budget, note);
    store->view = false;
    budget.used += store->chunk_count * store->chunk_bytes;
    budget.filed += store->filed;
    if (note.chunks != 0)
        budget.owner->release_shared(*budget.owner, note.chunks);
    return store;
}

void free_noted(host& owner, const store_note& note)
{
    const auto* const numbers = find_shared<shared_number>(owner, note.chunks);
    for (std::uint32_t i = 0; i < note.chunk_count; i++)
        owner.release_shared(owner, numbers[i]);
    if (note.chunks != 0)
        owner.release_shared(owner, note.chunks);
    if (note.file != 0)
        owner.close_file(owner, note.file);
}

std::size_t needed_bytes(const memory_budget& budget)
{
    // Memory that has been freed since may have been needed at the same time, so the limit was too low.
    const std::uint64_t bytes = std::max<std::uint64_t>(budget.used + budget.filed, budget.limit);
    return bytes + bytes / 8; // with a larger budget, chunks are larger, and the last ones waste more
}

void append_slowly(byte_store& store, const void* bytes, std::size_t count)
{
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
        pause(*store.budget->owner);
        if (store.at == store.end)
            advance(store);
        const std::size_t part = std::min<std::size_t>(count, static_cast<std::size_t>(store.end - store.at));
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
        std::memcpy(to, store.chunks.values[chunk].at + inside, part);
        to += part;
        offset += part;
        count -= part;
    }
    return buffer;
}

std::span<const char> fetch_piece(byte_store& store, std::uint64_t offset)
{
    assert(offset < store.size);
    const std::size_t inside = offset & (store.chunk_bytes - 1);
    const std::size_t count = std::min<std::uint64_t>(store.chunk_bytes - inside, store.size - offset);
    if (offset < store.filed && store.buffer == nullptr)
        store.buffer = allocate<char>(*store.budget->owner, store.chunk_bytes);
    return {static_cast<const char*>(fetch(store, offset, count, store.buffer)), count};
}

} // namespace minhash::bulk
