#include "core/codec.h"

#include <gtest/gtest.h>

#include "support.h"

namespace {

using minhash::method;
using minhash::scheme;
using minhash::status;
using minhash::unit;
using reference::slot_list;

// Schemes that have, for each field, the least and the greatest value and some between them.
std::vector<scheme> schemes()
{
    std::vector<scheme> made;
    for (const method method : {method::fss, method::classic})
        for (const unit of : {unit::character, unit::word})
            for (const bool flag : {false, true})
                for (const std::int64_t seed : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX})
                    for (const int size : {1, 255})
                        for (const int num_hashes : {16, 100, 4096})
                            made.push_back({1,
                                            method,
                                            32,
                                            static_cast<std::uint16_t>(num_hashes),
                                            {of, static_cast<std::uint16_t>(size), flag, !flag},
                                            seed});
    return made;
}

slot_list random_slots(const scheme& scheme, std::uint64_t seed)
{
    support::random_source random = {seed};
    slot_list slots(scheme.num_hashes);
    for (std::uint32_t& slot : slots)
        slot = static_cast<std::uint32_t>(random.next());
    return slots;
}

std::vector<std::uint8_t> store(const scheme& scheme, const slot_list& slots)
{
    std::vector<std::uint8_t> bytes(minhash::stored_bytes(slots.size()));
    minhash::encode_header(scheme, bytes.data());
    for (std::size_t at = 0; at < slots.size() * 4; at++)
        bytes[minhash::header_bytes + at] = static_cast<std::uint8_t>(slots[at / 4] >> at % 4 * 8);
    return bytes;
}

bool in_range(const scheme& scheme)
{
    const bool text = scheme.shingles.of == unit::character || scheme.shingles.of == unit::word;
    const bool set = scheme.shingles.of == unit::element && scheme.shingles.size == 1;
    return scheme.version == 1 && scheme.method >= method::fss && scheme.method <= method::external &&
           (scheme.bits == 1 || scheme.bits == 2 || scheme.bits == 4 || scheme.bits == 8 || scheme.bits == 16 ||
            scheme.bits == 32) &&
           scheme.num_hashes >= 8 && scheme.num_hashes <= 4096 && (text || (set && !scheme.shingles.fold)) &&
           scheme.shingles.size >= 1 && scheme.shingles.size <= 255;
}

bool equal(const scheme& a, const scheme& b)
{
    return a.version == b.version && a.method == b.method && a.bits == b.bits && a.num_hashes == b.num_hashes &&
           a.shingles.of == b.shingles.of && a.shingles.size == b.shingles.size && a.shingles.fold == b.shingles.fold &&
           a.shingles.bag == b.shingles.bag && a.seed == b.seed;
}

// Decodes from memory that ends where the bytes do. Accepted values must lie in their ranges and within the bytes, and
// must be written back as the same bytes.
status decode(const std::vector<std::uint8_t>& stored, scheme* scheme = nullptr, slot_list* slots = nullptr)
{
    const auto copy = support::exact_copy<std::uint8_t>(stored.data(), stored.size());
    minhash::signature out = {};
    const status what = minhash::decode({copy.get(), stored.size()}, out);
    if (what == status::ok) {
        EXPECT_TRUE(in_range(out.scheme));
        const std::size_t bits = std::size_t{out.scheme.num_hashes} * out.scheme.bits;
        EXPECT_TRUE(out.empty() || out.stored_slots().size() == (bits + 7) / 8);
        EXPECT_TRUE(out.empty() || out.slots.empty() == (out.scheme.bits < 32));
        const slot_list found(out.slots.begin(), out.slots.end());
        std::vector<std::uint8_t> written = store(out.scheme, {});
        written.insert(written.end(), out.stored_slots().begin(), out.stored_slots().end());
        EXPECT_EQ(written, stored);
        if (scheme != nullptr)
            *scheme = out.scheme;
        if (slots != nullptr)
            *slots = found;
    }
    return what;
}

TEST(codec, stored_bytes_are_as_documented)
{
    const scheme scheme = {1, method::classic, 32, 0x0123, {unit::word, 0x00FE, true, true}, -2};
    const std::vector<std::uint8_t> bytes = store(scheme, {});
    const std::vector<std::uint8_t> expected =
        {1, 2, 32, 0x32, 0xFE, 0x00, 0x23, 0x01, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    EXPECT_EQ(bytes, expected);
    EXPECT_EQ(minhash::stored_bytes(0), 16u);
    EXPECT_EQ(minhash::stored_bytes(128), 528u);
}

TEST(codec, stored_round_trip)
{
    for (const scheme& written : schemes()) {
        for (const slot_list& slots : {slot_list(), random_slots(written, 61)}) {
            scheme read = {};
            slot_list read_slots = {1, 2, 3};
            ASSERT_EQ(decode(store(written, slots), &read, &read_slots), status::ok);
            ASSERT_TRUE(equal(read, written));
            ASSERT_EQ(read_slots, slots);
        }
    }
}

TEST(codec, every_truncation_and_extension_is_refused)
{
    scheme scheme = support::default_scheme;
    for (const std::uint16_t num_hashes : {std::uint16_t{16}, std::uint16_t{128}}) {
        scheme.num_hashes = num_hashes;
        const std::vector<std::uint8_t> whole = store(scheme, random_slots(scheme, 62));
        for (std::size_t length = 0; length <= whole.size() + 40; length++) {
            std::vector<std::uint8_t> bytes = whole;
            bytes.resize(length);
            const bool good = length == 16 || length == whole.size();
            ASSERT_EQ(decode(bytes), good ? status::ok : status::bad_length) << length;
        }
    }
}

TEST(codec, every_single_bit_flip_is_valid_or_refused)
{
    for (const scheme& scheme : schemes()) {
        if (scheme.num_hashes == 4096)
            continue;
        const std::vector<std::uint8_t> whole = store(scheme, random_slots(scheme, 63));
        // All bits of slots are alike, so only the first and the last slot are tested.
        for (std::size_t bit = 0; bit < whole.size() * 8; bit++) {
            if (bit == 20 * 8)
                bit = (whole.size() - 4) * 8;
            std::vector<std::uint8_t> bytes = whole;
            bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ 1u << bit % 8);
            const status what = decode(bytes);
            if (bit / 8 >= 8) {
                ASSERT_EQ(what, status::ok) << bit;
            }
            if (bit / 8 == 0) {
                ASSERT_EQ(what, status::bad_version) << bit;
            }
            if (bit / 8 == 2) {
                ASSERT_EQ(what, status::bad_bits) << bit;
            }
            if (bit / 8 == 6 || bit / 8 == 7) {
                ASSERT_NE(what, status::ok) << bit;
            }
        }
    }
}

TEST(codec, random_bytes_never_decode_out_of_range)
{
    support::random_source random = {64};
    const std::vector<std::uint8_t> whole = store(support::default_scheme, random_slots(support::default_scheme, 65));
    for (int trial = 0; trial < 20000; trial++) {
        std::vector<std::uint8_t> bytes(whole.begin(),
                                        whole.begin() + static_cast<std::ptrdiff_t>(random.below(whole.size() + 1)));
        for (std::size_t changes = random.below(4); changes > 0 && !bytes.empty(); changes--)
            bytes[random.below(std::min<std::size_t>(bytes.size(), 16))] = static_cast<std::uint8_t>(random.next());
        decode(bytes);
    }
}

TEST(codec, packed_slots_have_their_length_and_no_spare_bits)
{
    scheme scheme = support::default_scheme;
    for (const int bits : {1, 2, 4, 8, 16})
        for (const int num_hashes : {8, 16, 17, 100, 4096}) {
            scheme.bits = static_cast<std::uint8_t>(bits);
            scheme.num_hashes = static_cast<std::uint16_t>(num_hashes);
            const std::size_t bytes = static_cast<std::size_t>(num_hashes * bits + 7) / 8;
            for (std::size_t length = 0; length <= bytes + 3; length++) {
                std::vector<std::uint8_t> stored = store(scheme, {});
                stored.resize(stored.size() + length);
                const bool good = length == 0 || length == bytes;
                ASSERT_EQ(decode(stored), good ? status::ok : status::bad_length) << length;
            }
            std::vector<std::uint8_t> stored = store(scheme, {});
            stored.resize(stored.size() + bytes, 0xFF);
            EXPECT_EQ(decode(stored), num_hashes * bits % 8 == 0 ? status::ok : status::bad_spare_bits);
        }
}

TEST(codec, zeroed_bytes_are_no_signature)
{
    for (const std::size_t length : {0u, 16u, 80u, 528u})
        EXPECT_NE(decode(std::vector<std::uint8_t>(length)), status::ok);
}

TEST(codec, equal_schemes_have_equal_parts)
{
    const scheme base = support::default_scheme;
    const scheme same = base;
    EXPECT_TRUE(base == same);

    std::vector<scheme> others(7, base);
    others[0].method = method::classic;
    others[1].num_hashes = 64;
    others[2].shingles.of = unit::word;
    others[3].shingles.size = 4;
    others[4].shingles.fold = false;
    others[5].shingles.bag = true;
    others[6].seed = 1;
    for (const scheme& other : others) {
        EXPECT_FALSE(base == other);
        EXPECT_FALSE(other == base);
    }
}

} // namespace
