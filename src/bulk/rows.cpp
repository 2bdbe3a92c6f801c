// Of a band's key only 32 bits are kept, in a store of its own for each band, as bands are gone
// through one after the other: rows whose halves are equal by chance are false candidates, which
// verifying drops. One more store has a key of the whole signature, by which rows that are the same
// are found.
#include "bulk/rows.h"

namespace minhash::bulk {

namespace {

constexpr std::size_t small_chunk = 64 * 1024;
constexpr std::size_t large_chunk = 32 * 1024 * 1024;
constexpr std::size_t large_stores = 4; // slots, documents, and two of the host's

// Bytes per row of what later steps keep in memory: two links to twins, a root, and an entry twice.
constexpr std::size_t fixed_bytes = 28;

struct document_place {
    std::uint64_t offset;
    std::uint64_t bytes;
};

std::size_t large_chunk_for(const memory_budget& budget)
{
    return chunk_for(budget, large_stores, large_chunk);
}

void append_keys(row_set& rows, const signature& value)
{
    const band_choice shape = rows.task.shape;
    // The key of the whole signature is mixed from those of its bands, and of the slots after them.
    std::uint64_t whole = 0;
    const auto mix = [&whole](std::int64_t key) {
        whole = (whole ^ static_cast<std::uint64_t>(key)) * 0x9E3779B97F4A7C15;
    };
    for (int band = 0; band < shape.bands; band++) {
        const std::int64_t key = band_key(value, band, shape.rows);
        mix(key);
        const std::uint32_t half = short_key(key);
        append(*rows.keys[band], &half, sizeof(half));
    }
    const int left = value.scheme.num_hashes - shape.bands * shape.rows;
    if (left > 0) {
        const std::size_t used = slot_bytes(value.scheme.bits,
                                            static_cast<std::size_t>(shape.bands) *
                                                static_cast<std::size_t>(shape.rows));
        mix(band_key(with_slots(value.scheme, value.stored_slots().subspan(used)), 0, left));
    }
    const std::uint32_t half = short_key(static_cast<std::int64_t>(whole));
    append(*rows.keys[shape.bands], &half, sizeof(half));
}

} // namespace

row_set* make_rows(memory_budget& budget, const task& task, bool texts)
{
    host& owner = *budget.owner;
    row_set* const rows = allocate<row_set>(owner);
    *rows = {};
    rows->owner = &owner;
    rows->budget = &budget;
    rows->task = task;
    const std::size_t stores = static_cast<std::size_t>(task.shape.bands) + 1;
    rows->keys = allocate<byte_store*>(owner, stores);
    const std::size_t chunk = chunk_for(budget, stores, small_chunk);
    for (std::size_t i = 0; i < stores; i++)
        rows->keys[i] = open_store(budget, chunk);
    rows->slots = open_store(budget, large_chunk_for(budget));
    if (texts)
        rows->signer = make_signer(owner, task.scheme);
    if (task.exact) {
        rows->documents = open_store(budget, large_chunk_for(budget));
        rows->document_at = open_store(budget, small_chunk);
    }
    return rows;
}

bool take_signature(row_set& rows, const signature& value)
{
    if (value.empty())
        return false;
    const std::span<const std::uint8_t> slots = value.stored_slots();
    append(*rows.slots, slots.data(), slots.size());
    append_keys(rows, value);
    rows.budget->used += fixed_bytes;
    rows.count++;
    return true;
}

bool take_text(row_set& rows, text_bytes text)
{
    if (!take_signature(rows, {rows.task.scheme, sign(*rows.signer, text)}))
        return false;
    if (rows.task.exact) {
        const document_place at = {rows.documents->size, text.size()};
        append(*rows.documents, text.data(), text.size());
        append(*rows.document_at, &at, sizeof(at));
    }
    return true;
}

text_bytes fetch_text(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer)
{
    document_place copy;
    const document_place at = *static_cast<const document_place*>(
        fetch(*rows.document_at, row * std::uint64_t{sizeof(copy)}, sizeof(copy), &copy));
    if (!in_place(*rows.documents, at.offset, at.bytes))
        grow(*rows.owner, buffer, 0, at.bytes);
    const void* const text = fetch(*rows.documents, at.offset, at.bytes, buffer.values);
    return {static_cast<const std::uint8_t*>(text), at.bytes};
}

void close_band(row_set& rows, int band)
{
    close_store(rows.keys[band]);
    rows.keys[band] = nullptr;
}

} // namespace minhash::bulk
