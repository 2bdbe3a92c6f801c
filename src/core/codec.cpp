#include "core/codec.h"

#include <cassert>
#include <charconv>
#include <cstring>

namespace minhash {

namespace {

constexpr std::uint8_t unit_bits = 0x0F;
constexpr std::uint8_t fold_bit = 0x10;
constexpr std::uint8_t bag_bit = 0x20;

// The stored form of a scheme.
struct stored_header {
    std::uint8_t version;
    minhash::method method;
    std::uint8_t bits;
    std::uint8_t flags;
    std::uint16_t shingle_size;
    std::uint16_t num_hashes;
    std::int64_t seed;
};

static_assert(sizeof(stored_header) == header_bytes);

// Reads the text form from left to right. Only the first failure is reported.
struct reader {
    const char* const begin;
    const char* at;
    const char* const end;
    status failed = status::ok;

    bool fail(status why) noexcept
    {
        if (failed == status::ok)
            failed = why;
        return false;
    }

    // Reads `word` if the input continues with it, and returns whether it does.
    bool take(std::string_view word) noexcept
    {
        if (!std::string_view(at, end).starts_with(word))
            return false;
        at += word.size();
        return true;
    }

    void expect(std::string_view word, status why) noexcept
    {
        if (failed == status::ok && !take(word))
            fail(why);
    }

    // Reads whichever of the words comes next, and returns its index.
    template <std::size_t count>
    std::size_t choose(const std::string_view (&words)[count], status why) noexcept
    {
        for (std::size_t word = 0; word < count && failed == status::ok; word++)
            if (take(words[word]))
                return word;
        fail(why);
        return 0;
    }

    // Reads a number in the form that write_text() writes: without leading zeros, and with no sign other than a minus.
    // A failure is reported at the start of the number.
    template <typename Value>
    Value number(Value least, Value most, status why, bool (*is_valid)(int) = nullptr) noexcept
    {
        Value value = 0;
        if (failed != status::ok)
            return value;
        const auto read = std::from_chars(at, end, value);
        char canonical[24];
        const auto written = std::to_chars(canonical, canonical + sizeof(canonical), value);
        if (read.ec != std::errc() || read.ptr - at != written.ptr - canonical || value < least || value > most ||
            (is_valid != nullptr && !is_valid(static_cast<int>(value))))
            fail(why);
        else
            at = read.ptr;
        return value;
    }
};

// Whether all bits of the last byte that belong to no slot are zero.
bool spare_bits_are_zero(const scheme& scheme, std::span<const std::uint8_t> slots) noexcept
{
    const unsigned used = static_cast<unsigned>(scheme.num_hashes) * scheme.bits % 8;
    return slots.empty() || used == 0 || slots.back() >> used == 0;
}

} // namespace

signature with_slots(const scheme& scheme, std::span<const std::uint8_t> slots) noexcept
{
    if (scheme.bits == bits_per_slot)
        return {scheme, {reinterpret_cast<const std::uint32_t*>(slots.data()), slots.size() / sizeof(std::uint32_t)}};
    return {scheme, {}, slots};
}

void encode_header(const scheme& scheme, std::uint8_t* out) noexcept
{
    const shingling& shingles = scheme.shingles;
    const auto flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(shingles.of) |
                                                 (shingles.fold ? fold_bit : 0) | (shingles.bag ? bag_bit : 0));
    const stored_header header =
        {scheme.version, scheme.method, scheme.bits, flags, shingles.size, scheme.num_hashes, scheme.seed};
    std::memcpy(out, &header, header_bytes);
}

status decode(std::span<const std::uint8_t> stored, signature& out) noexcept
{
    if (stored.size() < header_bytes)
        return status::bad_length;
    stored_header in;
    std::memcpy(&in, stored.data(), header_bytes);
    if ((in.flags & ~(unit_bits | fold_bit | bag_bit)) != 0)
        return status::bad_flags;

    out.scheme = {in.version,
                  in.method,
                  in.bits,
                  in.num_hashes,
                  {.of = static_cast<unit>(in.flags & unit_bits),
                   .size = in.shingle_size,
                   .fold = (in.flags & fold_bit) != 0,
                   .bag = (in.flags & bag_bit) != 0},
                  in.seed};
    if (const status valid = validate(out.scheme); valid != status::ok)
        return valid;

    const std::span<const std::uint8_t> slots = stored.subspan(header_bytes);
    if (!slots.empty() && slots.size() != slot_bytes(out.scheme.bits, out.scheme.num_hashes))
        return status::bad_length;
    if (!spare_bits_are_zero(out.scheme, slots))
        return status::bad_spare_bits;
    out = with_slots(out.scheme, slots);
    return status::ok;
}

std::size_t write_prefix(const scheme& scheme, char* out) noexcept
{
    char* const end = out + max_text_prefix;
    char* at = out;
    const auto text = [&](std::string_view word) {
        std::memcpy(at, word.data(), word.size());
        at += word.size();
    };
    const auto number = [&](std::int64_t value) { at = std::to_chars(at, end, value).ptr; };

    text(name_of(scheme.method));
    number(scheme.version);
    text(":");
    number(scheme.num_hashes);
    text("x");
    number(scheme.bits);
    text(":");
    text(name_of(scheme.shingles.of));
    number(scheme.shingles.size);
    text(scheme.shingles.fold ? ":fold" : ":raw");
    text(scheme.shingles.bag ? ":bag:" : ":set:");
    number(scheme.seed);
    return static_cast<std::size_t>(at - out);
}

std::size_t write_text(const signature& value, char* out) noexcept
{
    assert(value.empty() || value.stored_slots().size() == slot_bytes(value.scheme.bits, value.scheme.num_hashes));
    char* at = out + write_prefix(value.scheme, out);
    *at++ = ':';
    const auto digits = [&at](std::uint32_t number, int bits) {
        for (int shift = bits - 4; shift >= 0; shift -= 4)
            *at++ = "0123456789abcdef"[number >> shift & 0xF];
    };
    for (const std::uint32_t slot : value.slots)
        digits(slot, 32);
    for (const std::uint8_t byte : value.packed)
        digits(byte, 8);
    return static_cast<std::size_t>(at - out);
}

parse_result parse_text(std::string_view text, signature& out, std::uint32_t* room) noexcept
{
    scheme& scheme = out.scheme;
    reader in = {text.data(), text.data(), text.data() + text.size()};
    scheme.method = static_cast<method>(1 + in.choose(method_names, status::bad_method));
    scheme.version = in.number<std::uint8_t>(scheme_version, scheme_version, status::bad_version);
    in.expect(":", status::bad_version);
    scheme.num_hashes = in.number<std::uint16_t>(min_num_hashes, max_num_hashes, status::bad_num_hashes);
    in.expect("x", status::bad_num_hashes);
    scheme.bits = in.number<std::uint8_t>(1, bits_per_slot, status::bad_bits, valid_bits);
    in.expect(":", status::bad_bits);
    scheme.shingles.of = static_cast<unit>(1 + in.choose(unit_names, status::bad_unit));
    scheme.shingles.size = in.number<std::uint16_t>(1, max_shingle_size, status::bad_shingle_size);
    in.expect(":", status::bad_shingle_size);
    scheme.shingles.fold = in.choose({"raw:", "fold:"}, status::bad_flags) == 1;
    if (const status valid = validate(scheme.shingles); valid != status::ok)
        in.fail(valid);
    scheme.shingles.bag = in.choose({"set:", "bag:"}, status::bad_flags) == 1;
    scheme.seed = in.number<std::int64_t>(INT64_MIN, INT64_MAX, status::bad_seed);
    in.expect(":", status::bad_seed);

    // The digits are read as numbers of eight digits (a 32-bit slot) or of two digits (a byte of packed slots).
    std::uint8_t* const slots = reinterpret_cast<std::uint8_t*>(room);
    const std::size_t digits = scheme.bits == bits_per_slot ? digits_per_slot : 2;
    const std::size_t bytes = slot_bytes(scheme.bits, scheme.num_hashes);
    std::size_t read = 0;
    while (in.failed == status::ok && in.at < in.end) {
        const std::size_t left = static_cast<std::size_t>(in.end - in.at);
        std::uint32_t number = 0;
        if (left < digits || read == bytes) {
            in.fail(status::bad_length);
        } else if (std::from_chars(in.at, in.at + digits, number, 16).ptr != in.at + digits) {
            in.fail(status::bad_digits);
        } else {
            std::memcpy(slots + read, &number, digits / 2);
            read += digits / 2;
            in.at += digits;
        }
    }
    if (in.failed == status::ok && read != 0 && read != bytes)
        in.fail(status::bad_length);
    if (in.failed == status::ok && !spare_bits_are_zero(scheme, {slots, read}))
        in.fail(status::bad_spare_bits);
    out = with_slots(scheme, {slots, read});
    return {in.failed, static_cast<std::size_t>(in.at - in.begin)};
}

} // namespace minhash
