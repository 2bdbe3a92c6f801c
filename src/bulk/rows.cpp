// Of a band's key only 32 bits are kept, in a store of its own for each band, as bands are gone
// through one after the other: rows whose halves are equal by chance are false candidates, which
// verifying drops. One more store has a key of the whole signature, by which rows that are the same
// are found.
#include "bulk/rows.h"

#include "core/compress.h"

#include <algorithm>
#include <cassert>

namespace minhash::bulk {

namespace {

constexpr std::size_t small_chunk = 64 * 1024;
constexpr std::size_t large_chunk = 32 * 1024 * 1024;
constexpr std::size_t large_stores = 4; // slots, documents, and two of the host's

// Bytes per row of what later steps keep in memory: two links to twins, a root, and an entry twice.
constexpr std::size_t fixed_bytes = 28;

// Beside where a document lies: it is in the store of documents, and not where the host reads it.
constexpr std::uint64_t kept_here = std::uint64_t{1} << 63;

std::size_t large_chunk_for(const memory_budget& budget)
{
    return chunk_for(budget, large_stores, large_chunk);
}

std::uint64_t place_of_document(row_set& rows, std::uint32_t row)
{
    std::uint64_t copy;
    return *static_cast<const std::uint64_t*>(
        fetch(*rows.document_at, row * std::uint64_t{sizeof(copy)}, sizeof(copy), &copy));
}

// What keys are changed by, so that rows of different scopes share none but by accident.
std::uint32_t scope_mask(const row_set& rows, std::uint32_t row)
{
    return rows.task.scoped ? (rows.scopes.values[row] + 1) * 0x9E3779B1 : 0;
}

void append_signature(row_set& rows, const signature& value)
{
    assert(comparable({rows.task.scheme, {}}, value));
    assert(rows.task.shape.bands == 0 ||
           can_be_banded(value.scheme, rows.task.shape.bands, rows.task.shape.rows));
    const std::uint32_t mask = scope_mask(rows, rows.count);
    if (value.scheme.bits == rows.kept.bits) {
        const std::span<const std::uint8_t> slots = value.stored_slots();
        append(*rows.slots, slots.data(), slots.size());
    } else {
        std::uint8_t slots[max_num_hashes];
        compress(value, rows.kept.bits, slots);
        append(*rows.slots, slots, slot_bytes(rows.kept.bits, rows.kept.num_hashes));
    }
    std::uint32_t keys[max_num_hashes + 1];
    make_keys(value, rows.task.shape, keys, 1);
    for (std::size_t i = 0; i < key_count(rows.task.shape); i++) {
        const std::uint32_t key = keys[i] ^ mask;
        append(*rows.keys[i], &key, sizeof(key));
    }
}

void count_row(row_set& rows)
{
    assert(rows.count < most_rows);
    rows.budget->used += fixed_bytes + (rows.task.scoped ? sizeof(std::uint32_t) : 0);
    rows.count++;
}

// Keys of one band, of rows from `first` on.
void append_keys(row_set& rows,
                 byte_store& to,
                 std::uint32_t first,
                 std::span<const std::uint8_t> keys)
{
    if (!rows.task.scoped) {
        append(to, keys.data(), keys.size());
        return;
    }
    std::uint32_t row = first;
    for (std::size_t at = 0; at < keys.size(); at += sizeof(std::uint32_t)) {
        std::uint32_t key;
        std::memcpy(&key, keys.data() + at, sizeof(key));
        key ^= scope_mask(rows, row++);
        append(to, &key, sizeof(key));
    }
}

void append_document(row_set& rows, text_bytes bytes, std::uint64_t place)
{
    assert(has_documents(rows.task) && !(place & kept_here));
    std::uint64_t at = place;
    if (place == 0) {
        at = kept_here | rows.documents->size;
        append(*rows.documents, bytes.data(), bytes.size());
    }
    append(*rows.document_at, &at, sizeof(at));
    const auto size = static_cast<std::uint32_t>(bytes.size());
    if (rows.document_sizes != nullptr)
        append(*rows.document_sizes, &size, sizeof(size));
    rows.document_bytes += size;
}

// Signatures and keys of texts, as worker.h says. Answers come in the order of their rows.
void append_signed(void* to, const job& done, std::span<const std::uint8_t> answer)
{
    row_set& rows = *static_cast<row_set*>(to);
    const std::size_t row_bytes = slot_bytes(rows.kept.bits, rows.kept.num_hashes);
    const auto first = static_cast<std::uint32_t>(rows.slots->size / row_bytes);
    assert(answer.size() == pad_record(done.count * row_bytes) +
                                done.count * key_count(rows.task.shape) * sizeof(std::uint32_t));
    append(*rows.slots, answer.data(), done.count * row_bytes);
    const std::size_t slots = pad_record(done.count * row_bytes);
    const std::size_t bytes = done.count * sizeof(std::uint32_t);
    for (std::size_t i = 0; i < key_count(rows.task.shape); i++)
        append_keys(rows, *rows.keys[i], first, answer.subspan(slots + i * bytes, bytes));
}

void hand_out_signing(row_set& rows)
{
    crew& crew = *rows.crew;
    job& texts = *rows.signing;
    rows.signing = nullptr;
    if (texts.worker == done_here)
        do_here(crew, texts);
    end_job(crew, texts);
}

// Leaves a text to the crew.
void sign_later(row_set& rows, text_bytes text, std::uint64_t place)
{
    crew& crew = *rows.crew;
    const std::size_t answered = slot_bytes(rows.kept.bits, rows.kept.num_hashes);
    if (rows.signing == nullptr)
        rows.signing = &begin_job(crew);
    job& texts = *rows.signing;
    if (texts.worker != done_here && !(place & for_workers))
        place = 0;
    const std::uint64_t bytes = sizeof(place) + (place == 0 ? text.size() : 0);
    add_record(crew, texts, &bytes, sizeof(bytes));
    add_document(crew, texts, place, text);
    texts.count++;
    texts.work += text.size();
    if (std::max(texts.work, texts.count * answered) >= rows.owner->job_bytes)
        hand_out_signing(rows);
}

} // namespace

scheme kept_scheme(const task& task)
{
    constexpr std::uint8_t enough = 8;
    const std::uint8_t few =
        task.threshold >= 0.7 ? 2 : 4; // as those that agree by chance add to the rest
    scheme kept = task.scheme;
    if (task.exact && !task.whole_slots)
        kept.bits = std::min(kept.bits, enough);
    if (task.elsewhere)
        kept.bits = std::min(kept.bits, few);
    return kept;
}

row_set* make_rows(memory_budget& budget, const task& task, bool texts)
{
    host& owner = *budget.owner;
    row_set* const rows = allocate<row_set>(owner);
    *rows = {};
    rows->owner = &owner;
    rows->budget = &budget;
    rows->task = task;
    rows->kept = kept_scheme(task);
    const std::size_t stores = static_cast<std::size_t>(task.shape.bands) + 1;
    rows->keys = allocate<byte_store*>(owner, stores);
    const std::size_t chunk = chunk_for(budget, stores, small_chunk);
    for (std::size_t i = 0; i < stores; i++)
        rows->keys[i] = open_store(budget, chunk, reading::in_order);
    rows->slots = open_store(budget, large_chunk_for(budget));
    if (texts) {
        rows->signer = make_signer(owner, task.scheme);
        rows->crew = make_crew(owner);
        job_header header = {};
        header.kind = job_kind::sign;
        header.scheme = task.scheme;
        header.kept_bits = rows->kept.bits;
        header.shape = task.shape;
        start_jobs(*rows->crew, header, {rows, append_signed});
    }
    if (has_documents(task)) {
        rows->documents = open_store(budget, large_chunk_for(budget));
        rows->document_at = open_store(budget, small_chunk);
        if (texts)
            rows->document_sizes = open_store(budget, small_chunk);
    }
    if (task.sets_only)
        rows->notes = make_notes(budget);
    return rows;
}

void set_scope(row_set& rows, std::uint32_t scope)
{
    assert(rows.task.scoped);
    grow(*rows.owner, rows.scopes, rows.count, rows.count + std::size_t{1});
    rows.scopes.values[rows.count] = scope;
}

bool take_signature(row_set& rows, const signature& value, std::uint64_t place)
{
    if (value.empty())
        return false;
    append_signature(rows, value);
    count_row(rows);
    if (rows.task.elsewhere)
        append_document(rows, value.stored_slots(), place);
    return true;
}

bool take_text(row_set& rows, text_bytes text, std::uint64_t place)
{
    if (rows.notes != nullptr) {
        if (!note_set(*rows.notes, *rows.signer, text))
            return false;
        count_row(rows);
    } else if (!count_work(*rows.crew, text.size())) {
        if (!take_signature(rows, {rows.task.scheme, sign(*rows.signer, text)}))
            return false;
    } else {
        if (!has_shingles(*rows.signer, text))
            return false;
        // The text is good until another is read again, and signing may do that.
        if (rows.task.exact)
            append_document(rows, text, place);
        sign_later(rows, text, place);
        count_row(rows);
        return true;
    }
    if (rows.task.exact)
        append_document(rows, text, place);
    return true;
}

void finish_rows(row_set& rows)
{
    if (rows.signing != nullptr)
        hand_out_signing(rows);
    if (rows.crew != nullptr)
        finish_jobs(*rows.crew);
    assert(rows.notes != nullptr ||
           rows.slots->size ==
               rows.count * std::uint64_t{slot_bytes(rows.kept.bits, rows.kept.num_hashes)});
}

std::uint64_t place_for_workers(row_set& rows, std::uint32_t row)
{
    const std::uint64_t place = place_of_document(rows, row);
    return !(place & kept_here) && (place & for_workers) ? place : 0;
}

std::size_t document_size(row_set& rows, std::uint32_t row)
{
    if (rows.document_sizes == nullptr)
        return slot_bytes(rows.task.scheme.bits, rows.task.scheme.num_hashes);
    std::uint32_t copy;
    return *static_cast<const std::uint32_t*>(
        fetch(*rows.document_sizes, row * std::uint64_t{sizeof(copy)}, sizeof(copy), &copy));
}

text_bytes fetch_document(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer)
{
    assert(row < rows.count);
    const std::uint64_t place = place_of_document(rows, row);
    if (!(place & kept_here))
        return rows.owner->read_again(*rows.owner, place);
    const std::uint64_t at = place & ~kept_here;
    const std::size_t size = document_size(rows, row);
    if (!in_place(*rows.documents, at, size))
        grow(*rows.owner, buffer, 0, size);
    const void* const bytes = fetch(*rows.documents, at, size, buffer.values);
    return {static_cast<const std::uint8_t*>(bytes), size};
}

void prefetch_document(const row_set& rows, std::uint32_t row, int step)
{
    const std::uint64_t at = row * std::uint64_t{sizeof(std::uint64_t)};
    if (!in_place(*rows.document_at, at, sizeof(std::uint64_t)))
        return;
    const void* const where = in_memory(*rows.document_at, at);
    if (step == 0) {
        __builtin_prefetch(where);
        if (const std::uint64_t size_at = row * std::uint64_t{sizeof(std::uint32_t)};
            rows.document_sizes != nullptr &&
            in_place(*rows.document_sizes, size_at, sizeof(std::uint32_t)))
            __builtin_prefetch(in_memory(*rows.document_sizes, size_at));
        return;
    }
    std::uint64_t place;
    std::memcpy(&place, where, sizeof(place));
    if (!(place & kept_here))
        rows.owner->read_ahead(*rows.owner, place, step - 1);
}

void close_band(row_set& rows, int band)
{
    assert(rows.keys[band] != nullptr);
    close_store(rows.keys[band]);
    rows.keys[band] = nullptr;
}

} // namespace minhash::bulk
