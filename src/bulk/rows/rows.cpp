// Only the upper 32 bits of a band's key are kept. If these bits are equal by chance, the rows are false candidates,
// which verification drops. Each band has its own store of keys, because bands are read one after the other. One more
// store has the keys of whole signatures, which are used to find equal rows.
#include "bulk/rows/rows.h"

#include "core/bands.h"
#include "core/compress.h"
#include "core/hash.h"

#include <algorithm>
#include <array>

namespace minhash::bulk {

namespace {

constexpr std::size_t small_chunk = 64 * 1024;
constexpr std::size_t large_chunk = 32 * 1024 * 1024;
constexpr std::size_t large_shared_chunk = 2 * 1024 * 1024; // not larger, because shared memory may be scarce

// How many bytes of memory later steps need for each row: its leader, its next twin, its root, and two bucket entries.
constexpr std::size_t fixed_bytes = 28;

// If this bit of a value in rows.document_locations is set, the value is an offset in one of the engine's stores;
// otherwise it is a location that the host can read. The number of the store is in the bits from store_shift up to, but
// not including, this bit: 0 stands for rows.documents, and n + 1 for rows.brought[n].
constexpr std::uint64_t in_store_bit = std::uint64_t{1} << 63;
constexpr int store_shift = 46;
static_assert(most_brought + 1 < in_store_bit >> store_shift);

std::size_t large_chunk_for(const memory_budget& budget)
{
    const bool may_be_shared = budget.owner->most_workers > 0;
    return chunk_for(budget, large_stores, may_be_shared ? large_shared_chunk : large_chunk);
}

std::uint64_t location_of_document(row_set& rows, std::uint32_t row)
{
    return fetch_value<std::uint64_t>(*rows.document_locations, row);
}

// A mask that is mixed into keys, so that rows of different scopes share keys only by accident.
std::uint32_t scope_mask(const row_set& rows, std::uint32_t row)
{
    return rows.task.scoped ? (rows.scopes.values[row] + 1) * 0x9E3779B1 : 0;
}

template <typename Word>
Word next_word(const std::uint8_t*& at)
{
    Word word;
    std::memcpy(&word, at, sizeof(word));
    at += sizeof(word);
    return word;
}

// Odd factors. The first max_num_hashes of them are for the words of a band, the others for the bands.
constexpr auto factors = [] {
    std::array<std::uint64_t, std::size_t{2}* max_num_hashes> made = {};
    for (std::size_t i = 0; i < made.size(); i++)
        made[i] = fmix64(i + 1) | 1;
    return made;
}();

// Cuts the slots into words, and returns the sum of all words, each multiplied by its factor. A word has 64 bits while
// at least eight bytes are left, then 32 bits while at least four bytes are left, and then 8 bits.
std::uint64_t hash_stored_slots(const std::uint8_t* at, const std::uint8_t* end)
{
    const std::uint64_t* factor = factors.data();
    std::uint64_t sum = 0;
    while (end - at >= 8)
        sum += next_word<std::uint64_t>(at) * *factor++;
    while (end - at >= 4)
        sum += next_word<std::uint32_t>(at) * *factor++;
    while (at < end)
        sum += next_word<std::uint8_t>(at) * *factor++;
    return sum;
}

// Makes the keys of a row's bands, and the key of its whole signature. The keys are written `stride` elements apart. A
// key is the upper half of a sum of products, XORed with `mask`. Two bands that differ in one word have the same key
// with a probability of at most 2 / 2^32 (Dietzfelbinger et al. 1997: A reliable randomized algorithm for the
// closest-pair problem, 2.1). Band tables and indexes use other keys (core/bands.h). Those keys must never change, and
// computing them takes several times as long.
void make_keys(const signature& value, banding banding, std::uint32_t mask, std::uint32_t* keys, std::size_t stride)
{
    const std::span<const std::uint8_t> slots = value.stored_slots();
    const std::size_t bytes = slot_bytes(value.scheme.bits, static_cast<std::size_t>(banding.rows));
    const std::uint8_t* at = slots.data();
    std::uint64_t whole = 0;
    for (int band = 0; band < banding.bands; band++, keys += stride, at += bytes) {
        const std::uint64_t sum = hash_stored_slots(at, at + bytes);
        whole += sum * factors[static_cast<std::size_t>(max_num_hashes + band)];
        *keys = static_cast<std::uint32_t>(sum >> 32) ^ mask;
    }
    whole += hash_stored_slots(at, slots.data() + slots.size());
    *keys = static_cast<std::uint32_t>(whole >> 32) ^ mask;
}

// The slots of a signature in the form that rows keep. The result points to the signature, or to the buffer if the
// slots had to be converted.
const std::uint8_t* kept_slots(const row_set& rows, const signature& value, std::uint8_t* buffer)
{
    if (value.scheme.bits == rows.kept.bits)
        return value.stored_slots().data();
    compress(value, rows.kept.bits, buffer);
    return buffer;
}

void count_row(row_set& rows)
{
    assert(rows.count < most_rows);
    rows.budget->used += fixed_bytes + (rows.task.scoped ? sizeof(std::uint32_t) : 0);
    rows.count++;
}

// Adds to rows.work. As soon as there is enough work for workers, and the host can have them, makes the shared stores
// accessible to them.
void count_work(row_set& rows, std::size_t bytes)
{
    host& owner = *rows.owner;
    if (owner.sharing || owner.most_workers == 0)
        return;
    rows.work += bytes;
    if (rows.work < owner.least_work)
        return;
    owner.start_sharing(owner);
    if (owner.sharing)
        share_stores(*rows.budget);
    else
        owner.most_workers = 0;
}

// The value in rows.document_locations for a document in rows.brought[store].
std::uint64_t location_in(std::size_t store, std::uint64_t offset)
{
    assert(offset >> store_shift == 0 && store < most_brought);
    return in_store_bit | std::uint64_t{store + 1} << store_shift | offset;
}

// Adds the next row, whose document has this size.
void append_row(row_set& rows, std::size_t size, std::uint64_t location)
{
    append(*rows.document_locations, &location, sizeof(location));
    const auto bytes = static_cast<std::uint32_t>(size);
    if (rows.document_sizes != nullptr)
        append(*rows.document_sizes, &bytes, sizeof(bytes));
    count_work(rows, rows.task.given ? size / slot_bytes_of_work : size);
    count_row(rows);
}

// Adds the next row, whose document can be read again, or is stored if `location` is 0.
void take_document(row_set& rows, text_bytes bytes, std::size_t size, std::uint64_t location)
{
    assert(!(location & in_store_bit) && (location != 0 || bytes.size() == size));
    std::uint64_t at = location;
    if (location == 0) {
        at = in_store_bit | rows.documents->size;
        append(*rows.documents, bytes.data(), bytes.size());
    }
    append_row(rows, size, at);
}

// Tells the host which documents will be read next.
void expect_documents(row_set& rows, std::uint32_t first, std::uint32_t end, std::uint64_t* locations)
{
    std::size_t known = 0;
    for (std::uint32_t row = first; row < end; row++)
        if (const std::uint64_t location = location_to_read(rows, row))
            locations[known++] = location;
    rows.owner->expect_reads(*rows.owner, {locations, known});
}

// How many rows are signed at once: few enough to keep all processes busy to the end, but enough to write to files in
// large pieces.
std::uint32_t rows_at_once(const row_set& rows)
{
    constexpr std::uint32_t least = 16;
    constexpr std::uint32_t most = 1024;
    constexpr std::uint32_t units_of_each = 32;
    return std::clamp(rows.count / (units_of_each * rows.shared->processes), least, most);
}

} // namespace

void set_task(row_set& rows, const task& task)
{
    constexpr std::uint8_t enough = 8;
    // Bits per slot. If slots have few bits, unequal slots often look equal. This does little harm at a high threshold,
    // because near rows have few unequal slots. So 2 bits are enough there.
    const std::uint8_t few = task.threshold >= 0.7 ? 2 : 4;
    rows.task = task;
    rows.kept = task.scheme;
    if (task.exact && !task.whole_slots)
        rows.kept.bits = std::min(rows.kept.bits, enough);
    if (task.given)
        rows.kept.bits = std::min(rows.kept.bits, few);
    rows.first_slots_scheme = rows.kept;
    if (!task.whole_slots)
        rows.first_slots_scheme.num_hashes = std::min(rows.kept.num_hashes, slots_at_start);
    if (rows.signer != nullptr)
        rows.signer->scheme = task.scheme;
}

row_set* make_rows(memory_budget& budget, task task, bool texts)
{
    host& owner = *budget.owner;
    row_set* const rows = allocate<row_set>(owner);
    *rows = {};
    rows->owner = &owner;
    rows->budget = &budget;
    task.given = !texts;
    if (texts)
        rows->signer = make_signer(owner, task.scheme);
    set_task(*rows, task);
    rows->documents = open_shared_store(budget, large_chunk_for(budget));
    rows->document_locations = open_shared_store(budget, small_chunk);
    if (texts)
        rows->document_sizes = open_shared_store(budget, small_chunk);
    return rows;
}

void set_scope(row_set& rows, std::uint32_t scope)
{
    assert(rows.task.scoped);
    grow(*rows.owner, rows.scopes, rows.count, rows.count + std::size_t{1});
    rows.scopes.values[rows.count] = scope;
}

bool take_signature(row_set& rows, const signature& value, std::uint64_t location)
{
    if (value.empty())
        return false;
    assert(rows.task.scheme == value.scheme);
    const text_bytes slots = value.stored_slots();
    take_document(rows, slots, slots.size(), location);
    return true;
}

bool take_text(row_set& rows, text_bytes start, std::size_t size, std::uint64_t location)
{
    assert(start.size() == size || (location != 0 && start.size() < size));
    if (!has_shingles(*rows.signer, start))
        return false;
    take_document(rows, start, size, location);
    return true;
}

void take_placed(row_set& rows, std::size_t size, std::uint64_t location)
{
    assert(location != 0 && !(location & in_store_bit));
    append_row(rows, size, location);
}

void take_brought(row_set& rows, std::size_t size, std::size_t store, std::uint64_t offset)
{
    append_row(rows, size, location_in(store, offset));
}

agreement_counts sample_rows(row_set& rows, sampled_counts& counts, double& mean_bytes)
{
    host& owner = *rows.owner;
    owner.begin_phase(owner);
    scheme scheme = rows.task.scheme;
    scheme.num_hashes = rows.task.given ? std::min(scheme.num_hashes, most_sampled_slots) : most_sampled_slots;
    std::uint32_t chosen[most_sampled];
    std::uint32_t* end = chosen + std::min(rows.count, most_sampled);
    for (std::uint32_t i = 0; i < end - chosen; i++)
        chosen[i] = rows.count <= most_sampled ? i : static_cast<std::uint32_t>(fmix64(i + 1) % rows.count);
    std::sort(chosen, end); // so that rows are read in order
    end = std::unique(chosen, end);
    const std::size_t size = slot_bytes(scheme.bits, scheme.num_hashes);
    const auto count = static_cast<std::size_t>(end - chosen);
    auto* const sample = allocate<std::uint8_t>(owner, count * size);
    growing<std::uint8_t> buffer = {};
    host_signer* const signer = rows.task.given ? nullptr : make_signer(owner, scheme);
    double bytes = 0;
    for (std::size_t i = 0; i < count; i++) {
        pause(owner);
        const text_bytes document = fetch_document(rows, chosen[i], buffer);
        bytes += static_cast<double>(document.size());
        std::memcpy(sample + i * size,
                    rows.task.given ? static_cast<const void*>(document.data())
                                    : sign(source_of(*signer, document)).data(),
                    size);
    }
    mean_bytes = count == 0 ? 0 : bytes / static_cast<double>(count);
    const agreement_counts tallied = tally_agreements(owner, scheme, {sample, count * size}, counts);
    owner.end_phase(owner);
    return tallied;
}

void open_signatures(row_set& rows)
{
    // While no more than this much of the budget is in use, signatures and keys are put in memory, and after that in
    // files.
    const std::size_t most = rows.budget->limit - rows.budget->limit / 4;
    const std::size_t count = key_count(rows.task.banding);
    memory_budget& budget = *rows.budget;
    const std::size_t chunk = chunk_for(budget, count, small_chunk);
    rows.keys = allocate<byte_store*>(*rows.owner, count);
    rows.first_slots = open_shared_store(budget, large_chunk_for(budget), reading::often);
    rows.other_slots = open_shared_store(budget, large_chunk_for(budget));
    for (std::size_t i = 0; i < count; i++)
        rows.keys[i] = open_shared_store(budget, chunk, reading::in_order);
    // The data that is read most often gets memory first.
    extend_store(*rows.first_slots, rows.count * std::uint64_t{start_bytes(rows)}, most);
    extend_store(*rows.other_slots, rows.count * std::uint64_t{rest_bytes(rows)}, most);
    for (std::size_t i = 0; i < count; i++)
        extend_store(*rows.keys[i], rows.count * std::uint64_t{sizeof(std::uint32_t)}, most);
}

void sign_units(row_set& rows)
{
    host& owner = *rows.owner;
    const task& task = rows.task;
    assert(can_be_banded(task.scheme, task.banding.bands, task.banding.rows));
    const std::uint32_t at_once = rows_at_once(rows);
    const std::size_t of_start = start_bytes(rows);
    const std::size_t of_rest = rest_bytes(rows);
    auto* const starts = allocate<std::uint8_t>(owner, at_once * of_start);
    auto* const rests = allocate<std::uint8_t>(owner, at_once * of_rest);
    auto* const keys = allocate<std::uint32_t>(owner, at_once * key_count(task.banding));
    auto* const locations = allocate<std::uint64_t>(owner, at_once);
    growing<std::uint8_t> document = {};
    std::uint8_t buffer[max_num_hashes * sizeof(std::uint32_t)];
    each_unit(rows, "signing rows", rows.count, at_once, [&](std::uint32_t first, std::uint32_t end) {
        const std::size_t count = end - first;
        if (owner.far)
            expect_documents(rows, first, end, locations);
        for (std::size_t i = 0; i < count; i++) {
            pause(owner);
            const auto row = static_cast<std::uint32_t>(first + i);
            const text_bytes bytes = fetch_document(rows, row, document);
            const signature value = task.given ? with_slots(task.scheme, bytes)
                                               : signature{task.scheme, sign(source_of(*rows.signer, bytes))};
            assert(!value.empty());
            const std::uint8_t* const slots = kept_slots(rows, value, buffer);
            std::memcpy(starts + i * of_start, slots, of_start);
            std::memcpy(rests + i * of_rest, slots + of_start, of_rest);
            make_keys(value, task.banding, scope_mask(rows, row), keys + i, count);
        }
        write_at(*rows.first_slots, first * std::uint64_t{of_start}, starts, count * of_start);
        write_at(*rows.other_slots, first * std::uint64_t{of_rest}, rests, count * of_rest);
        for (std::size_t i = 0; i < key_count(task.banding); i++)
            write_at(*rows.keys[i], first * sizeof(*keys), keys + i * count, count * sizeof(*keys));
    });
}

std::size_t bytes_of_row(const row_set& rows)
{
    return fixed_bytes + (rows.task.scoped ? sizeof(std::uint32_t) : 0) + start_bytes(rows) + rest_bytes(rows) +
           key_count(rows.task.banding) * sizeof(std::uint32_t) + sizeof(std::uint64_t) +
           (rows.task.given ? 0 : sizeof(std::uint32_t));
}

std::size_t document_size(row_set& rows, std::uint32_t row)
{
    if (rows.document_sizes == nullptr)
        return slot_bytes(rows.task.scheme.bits, rows.task.scheme.num_hashes);
    return fetch_value<std::uint32_t>(*rows.document_sizes, row);
}

std::uint64_t location_to_read(row_set& rows, std::uint32_t row)
{
    const std::uint64_t location = location_of_document(rows, row);
    return location & in_store_bit ? 0 : location;
}

void set_brought(row_set& rows, std::uint32_t row, std::size_t store, std::uint64_t offset)
{
    const std::uint64_t at = location_in(store, offset);
    write_at(*rows.document_locations, row * std::uint64_t{sizeof(at)}, &at, sizeof(at));
}

text_bytes fetch_document(row_set& rows, std::uint32_t row, growing<std::uint8_t>& buffer)
{
    assert(row < rows.count);
    const std::uint64_t location = location_of_document(rows, row);
    if (!(location & in_store_bit))
        return rows.owner->read_again(*rows.owner, location);
    const std::uint64_t store = (location & ~in_store_bit) >> store_shift;
    const std::uint64_t at = location & ((std::uint64_t{1} << store_shift) - 1);
    byte_store& kept = store == 0 ? *rows.documents : *rows.brought[store - 1];
    const std::size_t size = document_size(rows, row);
    if (!in_place(kept, at, size))
        grow(*rows.owner, buffer, 0, size);
    const void* const bytes = fetch(kept, at, size, buffer.values);
    return {static_cast<const std::uint8_t*>(bytes), size};
}

} // namespace minhash::bulk
