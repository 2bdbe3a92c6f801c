#include "core/codec.h"

#include <charconv>
#include <cstring>

namespace minhash {

namespace {

constexpr std::uint8_t unit_bits = 0x0F;
constexpr std::uint8_t fold_bit = 0x10;
constexpr std::uint8_t bag_bit = 0x20;

template <typename Value>
void store(std::uint8_t* out, Value value) noexcept
{
    std::memcpy(out, &value, sizeof(value));
}

template <typename Value>
Value load(const std::uint8_t* in) noexcept
{
    Value value;
    std::memcpy(&value, in, sizeof(value));
    return value;
}

// Reads the text form from left to right; the first failure decides.
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

    // Takes `word` if the input goes on with it.
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

    // One of two words; true for the first.
    bool choose(std::string_view yes, std::string_view no, status why) noexcept
    {
        if (failed != status::ok)
            return false;
        return take(yes) || (take(no) ? false : fail(why));
    }

    // A number as write_text writes it: no sign but a minus, no leading zeros. The position of a
    // failure is where the number starts.
    template <typename Value>
    Value number(Value least, Value most, status why) noexcept
    {
        Value value = 0;
        if (failed != status::ok)
            return value;
        const auto read = std::from_chars(at, end, value);
        char canonical[24];
        const auto written = std::to_chars(canonical, canonical + sizeof(canonical), value);
        if (read.ec != std::errc() || read.ptr - at != written.ptr - canonical || value < least ||
            value > most)
            fail(why);
        else
            at = read.ptr;
        return value;
    }
};

} // namespace

void encode_header(const scheme& made, std::uint8_t* out) noexcept
{
    out[0] = made.version;
    out[1] = static_cast<std::uint8_t>(made.made_by);
    out[2] = made.bits;
    out[3] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(made.shingles.of) |
                                       (made.shingles.fold ? fold_bit : 0) |
                                       (made.shingles.bag ? bag_bit : 0));
    store(out + 4, made.shingles.size);
    store(out + 6, made.num_hashes);
    store(out + 8, made.seed);
}

status decode(std::span<const std::uint8_t> stored, signature& out) noexcept
{
    if (stored.size() < header_bytes)
        return status::bad_length;
    const std::uint8_t* const in = stored.data();
    const std::uint8_t flags = in[3];
    if ((flags & ~(unit_bits | fold_bit | bag_bit)) != 0)
        return status::bad_flags;

    out.made = {
        .version = in[0],
        .made_by = static_cast<method>(in[1]),
        .bits = in[2],
        .num_hashes = load<std::uint16_t>(in + 6),
        .shingles = {.of = static_cast<unit>(flags & unit_bits),
                     .size = load<std::uint16_t>(in + 4),
                     .fold = (flags & fold_bit) != 0,
                     .bag = (flags & bag_bit) != 0},
        .seed = load<std::int64_t>(in + 8),
    };
    if (const status valid = validate(out.made); valid != status::ok)
        return valid;

    const std::size_t slots = stored.size() == header_bytes ? 0 : out.made.num_hashes;
    if (stored.size() != stored_bytes(slots))
        return status::bad_length;
    out.slots = {reinterpret_cast<const std::uint32_t*>(in + header_bytes), slots};
    return status::ok;
}

bool comparable(const signature& a, const signature& b) noexcept
{
    std::uint8_t headers[2][header_bytes];
    encode_header(a.made, headers[0]);
    encode_header(b.made, headers[1]);
    return std::memcmp(headers[0], headers[1], header_bytes) == 0;
}

std::size_t write_prefix(const scheme& made, char* out) noexcept
{
    char* const end = out + max_text_prefix;
    char* at = out;
    const auto text = [&](std::string_view word) {
        std::memcpy(at, word.data(), word.size());
        at += word.size();
    };
    const auto number = [&](std::int64_t value) { at = std::to_chars(at, end, value).ptr; };

    text(name_of(made.made_by));
    number(made.version);
    text(":");
    number(made.num_hashes);
    text("x");
    number(made.bits);
    text(":");
    text(name_of(made.shingles.of));
    number(made.shingles.size);
    text(made.shingles.fold ? ":fold" : ":raw");
    text(made.shingles.bag ? ":bag:" : ":set:");
    number(made.seed);
    return static_cast<std::size_t>(at - out);
}

std::size_t write_text(const signature& value, char* out) noexcept
{
    char* at = out + write_prefix(value.made, out);
    *at++ = ':';
    for (const std::uint32_t slot : value.slots) {
        for (int shift = 28; shift >= 0; shift -= 4)
            *at++ = "0123456789abcdef"[slot >> shift & 0xF];
    }
    return static_cast<std::size_t>(at - out);
}

parse_result parse_text(std::string_view text,
                        scheme& made,
                        std::uint32_t* slots,
                        std::size_t& slot_count) noexcept
{
    reader in = {text.data(), text.data(), text.data() + text.size()};
    made.made_by = in.choose("fss", "classic", status::bad_method) ? method::fss : method::classic;
    made.version = in.number<std::uint8_t>(scheme_version, scheme_version, status::bad_version);
    in.expect(":", status::bad_version);
    made.num_hashes =
        in.number<std::uint16_t>(min_num_hashes, max_num_hashes, status::bad_num_hashes);
    in.expect("x", status::bad_num_hashes);
    made.bits = in.number<std::uint8_t>(bits_per_slot, bits_per_slot, status::bad_bits);
    in.expect(":", status::bad_bits);
    made.shingles.of = in.choose("char", "word", status::bad_unit) ? unit::character : unit::word;
    made.shingles.size = in.number<std::uint16_t>(1, max_shingle_size, status::bad_shingle_size);
    in.expect(":", status::bad_shingle_size);
    made.shingles.fold = in.choose("fold:", "raw:", status::bad_flags);
    made.shingles.bag = in.choose("bag:", "set:", status::bad_flags);
    made.seed = in.number<std::int64_t>(INT64_MIN, INT64_MAX, status::bad_seed);
    in.expect(":", status::bad_seed);

    slot_count = 0;
    while (in.failed == status::ok && in.at < in.end) {
        const std::size_t left = static_cast<std::size_t>(in.end - in.at);
        std::uint32_t slot = 0;
        if (left < digits_per_slot || slot_count == made.num_hashes) {
            in.fail(status::bad_length);
        } else if (std::from_chars(in.at, in.at + digits_per_slot, slot, 16).ptr !=
                   in.at + digits_per_slot) {
            in.fail(status::bad_digits);
        } else {
            slots[slot_count++] = slot;
            in.at += digits_per_slot;
        }
    }
    if (in.failed == status::ok && slot_count != 0 && slot_count != made.num_hashes)
        in.fail(status::bad_length);
    return {in.failed, static_cast<std::size_t>(in.at - in.begin)};
}

} // namespace minhash
