// Helpers for several tests: they call the core as its callers do, and make random numbers that are the same on every
// machine.
#pragma once

#include "core/bag.h"
#include "core/codec.h"
#include "core/exact.h"
#include "core/fold.h"
#include "core/shingle.h"
#include "core/sketch.h"
#include "core/unicode.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference.h"

namespace support {

using minhash::method;
using minhash::scheme;
using minhash::shingling;
using minhash::unit;
using reference::hash_list;
using reference::slot_list;

// splitmix64, because the standard library's distributions differ between implementations.
struct random_source {
    std::uint64_t state;

    std::uint64_t next() { return reference::splitmix64(state); }

    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
};

inline hash_list random_hashes(random_source& random, std::size_t count)
{
    hash_list made(count);
    for (std::uint64_t& hash : made)
        hash = random.next();
    return made;
}

// A copy on the heap without a spare byte, so that AddressSanitizer sees every access beyond it.
template <typename Value>
std::unique_ptr<Value[]> exact_copy(const void* from, std::size_t count)
{
    std::unique_ptr<Value[]> copy(new Value[count]);
    if (count > 0)
        std::memcpy(copy.get(), from, count * sizeof(Value));
    return copy;
}

// A copy of a text with arbitrary bytes after it, as kernels may read them (kernels.h).
inline std::unique_ptr<std::uint8_t[]> padded_copy(const std::string& text)
{
    const std::string padded = text + std::string(minhash::padding, '\xFF');
    return exact_copy<std::uint8_t>(padded.data(), padded.size());
}

// Calls `take(bytes, count)` with the slices that a caller would make of a text: at most `slice` bytes each, without
// cutting a character in two.
template <typename Take>
void for_each_slice(const std::string& text, std::size_t slice, Take take)
{
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t left = text.size() - at;
        std::size_t count = 0;
        for (std::size_t wanted = slice; count == 0; wanted++) // a slice holds at least one character
            count = wanted >= left ? left : minhash::whole_characters(bytes + at, wanted);
        take(exact_copy<std::uint8_t>(bytes + at, count).get(), count);
        at += count;
    }
}

inline std::string fold(const std::string& text, const shingling& how, std::size_t slice = minhash::slice_bytes)
{
    minhash::folder state = minhash::start_folding(how);
    std::string folded;
    for_each_slice(text, slice, [&](const std::uint8_t* bytes, std::size_t count) {
        const std::unique_ptr<std::uint8_t[]> out(new std::uint8_t[minhash::folded_room(count)]);
        const std::size_t written = minhash::fold(state, bytes, count, out.get());
        folded.append(reinterpret_cast<const char*>(out.get()), written);
    });
    return folded;
}

// Calls `take(batch)` with every batch of shingles of the text.
template <typename Take>
void for_each_batch(const std::string& text, const shingling& how, std::int64_t seed, std::size_t slice, Take take)
{
    const auto state = std::make_unique<minhash::shingler>();
    const auto batch = std::make_unique<minhash::shingle_batch>();
    const auto checked = [&] {
        if (batch->count > minhash::max_batch)
            throw std::logic_error("a batch is larger than max_batch");
        take(*batch);
    };
    // The last slice may have text or be empty; both are tested.
    const bool last_has_text = text.size() % 2 == 1;
    std::size_t taken = 0;
    minhash::start(*state, how, seed);
    for_each_slice(text, slice, [&](const std::uint8_t* bytes, std::size_t count) {
        taken += count;
        minhash::cut(*state, bytes, count, last_has_text && taken == text.size(), *batch);
        checked();
    });
    if (!last_has_text) {
        const std::uint8_t none = 0;
        minhash::cut(*state, &none, 0, true, *batch);
        checked();
    }
}

inline void append(hash_list& to, const minhash::shingle_batch& batch)
{
    for (std::size_t index = 0; index < batch.count; index++)
        to.push_back(std::uint64_t{batch.hi[index]} << 32 | batch.lo[index]);
}

inline hash_list
cut(const std::string& text, const shingling& how, std::int64_t seed, std::size_t slice = minhash::slice_bytes)
{
    hash_list found;
    for_each_batch(text, how, seed, slice, [&](auto& batch) { append(found, batch); });
    return found;
}

inline void absorb(minhash::sketch& state, const hash_list& elements)
{
    slot_list lo, hi;
    for (const std::uint64_t element : elements) {
        lo.push_back(static_cast<std::uint32_t>(element));
        hi.push_back(static_cast<std::uint32_t>(element >> 32));
    }
    // Kernels may read this far beyond the end, and no further.
    lo.resize(lo.size() + minhash::padding, 0x5A5A5A5A);
    hi.resize(hi.size() + minhash::padding, 0xA5A5A5A5);
    const auto exact_lo = exact_copy<std::uint32_t>(lo.data(), lo.size());
    const auto exact_hi = exact_copy<std::uint32_t>(hi.data(), hi.size());
    minhash::absorb(state, exact_lo.get(), exact_hi.get(), elements.size());
}

inline slot_list slots_of(const minhash::sketch& state) { return {state.slots, state.slots + state.num_hashes}; }

inline slot_list sketch(method method, const hash_list& elements, std::uint32_t num_hashes)
{
    const auto state = std::make_unique<minhash::sketch>();
    minhash::start(*state, method, num_hashes);
    absorb(*state, elements);
    return slots_of(*state);
}

inline minhash::signature view(const scheme& scheme, const slot_list& slots)
{
    return {scheme, {slots.data(), slots.size()}};
}

// Signs a text as the SQL function does: in slices, and in passes if it is a bag.
inline slot_list
sign(const std::string& text, const scheme& scheme, std::size_t slice = minhash::slice_bytes, std::size_t bag_words = 0)
{
    const auto state = std::make_unique<minhash::sketch>();
    minhash::start(*state, scheme.method, scheme.num_hashes);

    std::vector<std::uint32_t> room(bag_words > 0 ? bag_words : minhash::bag_room(text.size()));
    const auto counter = std::make_unique<minhash::bag_counter>();
    minhash::start(*counter, room);
    const auto take = [&state](const minhash::shingle_batch& batch) {
        minhash::absorb(*state, batch.lo, batch.hi, batch.count);
    };
    do {
        for_each_batch(text, scheme.shingles, scheme.seed, slice, [&](minhash::shingle_batch& batch) {
            if (!scheme.shingles.bag || minhash::number_occurrences(*counter, batch))
                take(batch);
        });
    } while (scheme.shingles.bag && minhash::start_next_pass(*counter));
    return minhash::is_empty(*state) ? slot_list() : slots_of(*state);
}

inline std::string write_text(const minhash::signature& value)
{
    std::string out(minhash::max_text_prefix + value.stored_slots().size() * 2, '?');
    out.resize(minhash::write_text(value, out.data()));
    return out;
}

// Signs members (reference.h: members) with the core; integers are hashed by the kernel.
inline slot_list sign_members(const std::string& type, const std::string& list, const scheme& scheme)
{
    std::vector<std::int64_t> integers;
    hash_list hashes;
    for (const std::string& member : reference::split(list, '|')) {
        if (type == "integer") {
            integers.push_back(std::stoll(member));
        } else if (type == "bytes") {
            std::vector<std::uint8_t> bytes;
            for (std::size_t at = 0; at < member.size(); at += 2)
                bytes.push_back(static_cast<std::uint8_t>(std::stoi(member.substr(at, 2), nullptr, 16)));
            hashes.push_back(minhash::hash_any_bytes(bytes.data(), bytes.size(), scheme.seed));
        } else {
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(member.data());
            hashes.push_back(minhash::hash_bytes(bytes, member.size(), scheme.seed));
        }
    }
    if (!integers.empty()) {
        slot_list lo(integers.size() + minhash::padding), hi(lo);
        const std::size_t count = integers.size();
        integers.resize(lo.size());
        minhash::kernels->hash_integers(integers.data(), count, scheme.seed, lo.data(), hi.data());
        for (std::size_t index = 0; index < count; index++)
            hashes.push_back(minhash::join(lo[index], hi[index]));
    }
    if (hashes.empty())
        return {};
    if (scheme.shingles.bag)
        hashes = reference::number_occurrences(hashes);
    return sketch(scheme.method, hashes, scheme.num_hashes);
}

inline std::string write_text(const scheme& scheme, const slot_list& slots) { return write_text(view(scheme, slots)); }

constexpr scheme default_scheme = {.version = minhash::scheme_version,
                                   .method = method::fss,
                                   .bits = minhash::bits_per_slot,
                                   .num_hashes = 128,
                                   .shingles = {unit::character, 5, true, false},
                                   .seed = 0};

// The rows of a golden file after its header line, split at tabs.
inline std::vector<std::vector<std::string>> read_golden(const std::string& name)
{
    std::ifstream file(std::string(MINHASH_GOLDEN "/") + name);
    std::vector<std::vector<std::string>> rows;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        rows.emplace_back(1);
        for (const char byte : line) {
            if (byte == '\t')
                rows.back().emplace_back();
            else
                rows.back().back() += byte;
        }
    }
    return rows;
}

// The scheme described by fields 1 to 7 of a golden row.
inline scheme golden_scheme(const std::vector<std::string>& row)
{
    scheme scheme = default_scheme;
    scheme.num_hashes = static_cast<std::uint16_t>(std::stoi(row.at(1)));
    scheme.shingles.size = static_cast<std::uint16_t>(std::stoi(row.at(2)));
    scheme.shingles.of = row.at(3) == "word" ? unit::word : unit::character;
    scheme.shingles.fold = row.at(4) == "t";
    scheme.shingles.bag = row.at(5) == "t";
    scheme.seed = std::stoll(row.at(6));
    scheme.method = row.at(7) == "classic" ? method::classic : method::fss;
    return scheme;
}

} // namespace support
