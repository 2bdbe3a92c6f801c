#include "bulk/buckets.h"
#include "bulk/worker.h"

#include "core/compress.h"
#include "core/hash.h"

#include <array>
#include <cassert>

namespace minhash::bulk {

namespace {

template <typename Value>
Value read(const std::uint8_t*& at)
{
    Value value;
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
    return value;
}

using document = std::span<const std::uint8_t>;

// The document of a record. Goes on to the next record.
document next_document(const std::uint8_t*& at, std::size_t bytes)
{
    const document next = {at, bytes};
    at += pad_record(bytes);
    return next;
}

// Good until the next call.
text_bytes text_of(worker& self, document from)
{
    std::uint64_t place;
    std::memcpy(&place, from.data(), sizeof(place));
    return place != 0 ? self.owner->read_again(*self.owner, place) : from.subspan(sizeof(place));
}

std::span<const std::uint8_t>
sign_texts(worker& self, const job_header& header, std::span<const std::uint8_t> records)
{
    const std::uint8_t* const end = records.data() + records.size();
    std::size_t count = 0;
    for (const std::uint8_t* at = records.data(); at < end; count++)
        next_document(at, read<std::uint64_t>(at));

    const std::size_t bytes = slot_bytes(header.kept_bits, header.scheme.num_hashes);
    const std::size_t keys = key_count(header.shape);
    const std::size_t all_slots = pad_record(count * bytes);
    const std::size_t size = all_slots + count * keys * sizeof(std::uint32_t);
    grow(*self.owner, self.answer, 0, size);
    std::uint8_t* slots = self.answer.values;
    std::uint32_t* key = reinterpret_cast<std::uint32_t*>(slots + all_slots);
    for (const std::uint8_t* at = records.data(); at < end; slots += bytes, key++) {
        const text_bytes text = text_of(self, next_document(at, read<std::uint64_t>(at)));
        const signature made = {header.scheme, sign(*self.signer, text)};
        if (header.kept_bits == made.scheme.bits)
            std::memcpy(slots, made.stored_slots().data(), bytes);
        else
            compress(made, header.kept_bits, slots);
        make_keys(made, header.shape, key, count);
    }
    return {self.answer.values, size};
}

std::span<const std::uint8_t>
group_rows(worker& self, const job_header& header, std::span<const std::uint8_t> records)
{
    host& owner = *self.owner;
    if (self.groups == nullptr) {
        self.groups = allocate<grouping>(owner);
        start_grouping(*self.groups, owner, header.rows);
    }
    assert(records.size() == pad_record(header.rows * sizeof(std::uint32_t)));
    const auto* const keys = reinterpret_cast<const std::uint32_t*>(records.data());
    scatter(*self.groups, [&owner, keys, &header](auto&& take) {
        constexpr std::uint32_t at_once = 64 * 1024;
        for (std::uint32_t row = 0; row < header.rows; row++) {
            if (row % at_once == 0)
                pause(owner);
            take(keys[row], row);
        }
    });
    const std::size_t size = write_buckets(*self.groups, self.answer, [&owner] { pause(owner); });
    return {self.answer.values, size};
}

// Frees what the bands took.
void end_bands(worker& self)
{
    host& owner = *self.owner;
    end_grouping(*self.groups);
    release(owner, self.groups);
    self.groups = nullptr;
    release(owner, self.answer.values);
    self.answer = {};
}

// The text of a row that the worker was sent.
text_bytes text_of_row(worker& self, std::uint32_t row)
{
    assert(find_text(self.texts, row) != nullptr);
    const text_place& place = *find_text(self.texts, row);
    return text_of(self, {self.text_room + place.offset % self.texts.size, place.bytes});
}

void read_elements(void* from, std::uint32_t row, distinct_elements& set)
{
    worker& self = *static_cast<worker*>(from);
    read_text(*self.signer, text_of_row(self, row), set);
}

std::size_t most_elements(void* from, std::uint32_t row)
{
    return text_of_row(*static_cast<worker*>(from), row).size();
}

std::span<const std::uint8_t>
compare_texts(worker& self, const job_header& header, std::span<const std::uint8_t> records)
{
    host& owner = *self.owner;
    if (!self.comparing) {
        start_sets(self.sets,
                   owner,
                   {&self, read_elements, false, most_elements},
                   header.rows,
                   header.set_bytes);
        start_ring(self.texts, owner, header.ring_bytes);
        self.text_room = allocate<std::uint8_t>(owner, header.ring_bytes);
        self.comparing = true;
    }
    std::size_t size = 0;
    const std::uint8_t* const end = records.data() + records.size();
    for (const std::uint8_t* at = records.data(); at < end;) {
        pause(owner);
        const auto first = read<std::uint32_t>(at);
        const auto second = read<std::uint32_t>(at);
        if (first & new_text) {
            const document sent = next_document(at, second);
            const std::size_t place = place_text(self.texts, first & ~new_text, second);
            std::memcpy(self.text_room + place, sent.data(), sent.size());
            continue;
        }
        at += sizeof(std::uint64_t); // the number
        assert(first < header.rows && second < header.rows);
        const auto similarity = compare(self.sets, first, second, header.threshold, true);
        grow(owner, self.answer, size, size + sizeof(similarity));
        std::memcpy(self.answer.values + size, &similarity, sizeof(similarity));
        size += sizeof(similarity);
    }
    return {self.answer.values, size};
}

// Odd factors: one for each word of a band, and then one for each band.
constexpr auto factors = [] {
    std::array<std::uint64_t, std::size_t{2}* max_num_hashes> made = {};
    for (std::size_t i = 0; i < made.size(); i++)
        made[i] = fmix64(i + 1) | 1;
    return made;
}();

// The sum of the products of words, as large as there are, with their factors.
std::uint64_t hash_slots(const std::uint8_t* at, const std::uint8_t* end)
{
    const std::uint64_t* factor = factors.data();
    std::uint64_t sum = 0;
    while (end - at >= 8)
        sum += read<std::uint64_t>(at) * *factor++;
    while (end - at >= 4)
        sum += read<std::uint32_t>(at) * *factor++;
    while (at < end)
        sum += read<std::uint8_t>(at) * *factor++;
    return sum;
}

} // namespace

// The upper halves of sums of products, which two bands that differ in one word share with a
// probability of two in 2^32 at most (Dietzfelbinger et al. 1997: A reliable randomized algorithm
// for the closest-pair problem, 2.1). Band tables and indexes have other keys (core/bands.h), which
// last, and are several times slower to make.
void make_keys(const signature& value, band_choice shape, std::uint32_t* keys, std::size_t stride)
{
    const std::span<const std::uint8_t> slots = value.stored_slots();
    const std::size_t bytes = slot_bytes(value.scheme.bits, static_cast<std::size_t>(shape.rows));
    const std::uint8_t* at = slots.data();
    std::uint64_t whole = 0;
    for (int band = 0; band < shape.bands; band++, keys += stride, at += bytes) {
        const std::uint64_t sum = hash_slots(at, at + bytes);
        whole += sum * factors[static_cast<std::size_t>(max_num_hashes + band)];
        *keys = static_cast<std::uint32_t>(sum >> 32);
    }
    whole += hash_slots(at, slots.data() + slots.size());
    *keys = static_cast<std::uint32_t>(whole >> 32);
}

worker* make_worker(host& owner)
{
    worker* const made = allocate<worker>(owner);
    *made = {};
    made->owner = &owner;
    return made;
}

std::span<const std::uint8_t> do_job(worker& self, std::span<const std::uint8_t> job)
{
    assert(job.size() >= sizeof(job_header) && job.size() % 8 == 0);
    job_header header;
    std::memcpy(&header, job.data(), sizeof(header));
    if (self.signer == nullptr)
        self.signer = make_signer(*self.owner, header.scheme);
    const std::span<const std::uint8_t> records = job.subspan(pad_record(sizeof(header)));
    if (header.kind == job_kind::group)
        return group_rows(self, header, records);
    if (self.groups != nullptr)
        end_bands(self);
    return header.kind == job_kind::sign ? sign_texts(self, header, records)
                                         : compare_texts(self, header, records);
}

} // namespace minhash::bulk
