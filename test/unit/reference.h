// A slow and obvious second implementation of everything that the core computes, written from the definition of the
// scheme. It shares the core's plain types and its Unicode tables, and calls none of the functions under test.
#pragma once

#include "core/scheme.h"
#include "core/unicode.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace reference {

using minhash::method;
using minhash::shingling;
using minhash::unit;
using slot_list = std::vector<std::uint32_t>;
using hash_list = std::vector<std::uint64_t>;
using string_list = std::vector<std::string>;

// --- text -----------------------------------------------------------------------------------

inline unsigned byte_at(const std::string& text, std::size_t at)
{
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
}

// The length of the well-formed sequence at `at`, or 0, by Unicode 15.0, table 3-7, line by line.
inline std::size_t well_formed(const std::string& text, std::size_t at)
{
    struct line {
        unsigned first[2], second[2];
        std::size_t length;
    };

    static const line table[] = {
        {{0x00, 0x7F}, {0x00, 0xFF}, 1},
        {{0xC2, 0xDF}, {0x80, 0xBF}, 2},
        {{0xE0, 0xE0}, {0xA0, 0xBF}, 3},
        {{0xE1, 0xEC}, {0x80, 0xBF}, 3},
        {{0xED, 0xED}, {0x80, 0x9F}, 3},
        {{0xEE, 0xEF}, {0x80, 0xBF}, 3},
        {{0xF0, 0xF0}, {0x90, 0xBF}, 4},
        {{0xF1, 0xF3}, {0x80, 0xBF}, 4},
        {{0xF4, 0xF4}, {0x80, 0x8F}, 4},
    };
    const auto within = [](unsigned byte, const unsigned(&range)[2]) { return byte >= range[0] && byte <= range[1]; };
    for (const line& row : table) {
        if (!within(byte_at(text, at), row.first) || at + row.length > text.size())
            continue;
        bool good = row.length == 1 || within(byte_at(text, at + 1), row.second);
        for (std::size_t index = 2; index < row.length; index++)
            good = good && (byte_at(text, at + index) & 0xC0) == 0x80;
        if (good)
            return row.length;
    }
    return 0;
}

// The characters of a text. A byte that is not part of a well-formed sequence is one character.
inline string_list characters(const std::string& text)
{
    string_list found;
    for (std::size_t at = 0; at < text.size(); at += found.back().size())
        found.push_back(text.substr(at, std::max<std::size_t>(1, well_formed(text, at))));
    return found;
}

inline std::string encode(unsigned long code)
{
    const auto byte = [](unsigned long value) { return static_cast<char>(value); };
    if (code < 0x80)
        return {byte(code)};
    if (code < 0x800)
        return {byte(0xC0 + code / 64), byte(0x80 + code % 64)};
    if (code < 0x10000)
        return {byte(0xE0 + code / 4096), byte(0x80 + code / 64 % 64), byte(0x80 + code % 64)};
    return {byte(0xF0 + code / 262144),
            byte(0x80 + code / 4096 % 64),
            byte(0x80 + code / 64 % 64),
            byte(0x80 + code % 64)};
}

inline unsigned long code_point(const std::string& character)
{
    static const unsigned lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    if (character.size() == 1)
        return byte_at(character, 0);
    unsigned long code = byte_at(character, 0) - lead[character.size()];
    for (std::size_t index = 1; index < character.size(); index++)
        code = code * 64 + byte_at(character, index) - 0x80;
    return code;
}

struct read_character {
    std::string text;
    bool valid;
    minhash::unicode_record record;
};

// The characters of a text without those that folding drops.
inline std::vector<read_character> visible(const std::string& text, const shingling& how)
{
    std::vector<read_character> found;
    for (const std::string& character : characters(text)) {
        const bool valid = well_formed(character, 0) > 0;
        const unsigned long code = valid ? code_point(character) : 0;
        const auto& record = minhash::unicode_of(static_cast<char32_t>(code));
        if (!valid || !how.fold || record.part != 3)
            found.push_back({character, valid, valid ? record : minhash::unicode_record{}});
    }
    return found;
}

// The parts of the text between separators, folded if requested.
inline string_list words(const std::string& text, const shingling& how)
{
    const std::vector<read_character> all = visible(text, how);
    const bool folds_words = how.fold && how.of == unit::word;
    const auto part = [&](std::size_t at) { return at < all.size() ? all[at].record.part : 0; };
    const auto is_dash = [&](std::size_t at) { return folds_words && part(at) == 4; };
    const auto separates = [&](std::size_t at) {
        return part(at) == 1 || (folds_words && part(at) == 2) || is_dash(at);
    };

    string_list found;
    bool inside = false;
    for (std::size_t at = 0; at < all.size(); at++) {
        const bool begins_word = at == 0 || (separates(at - 1) && !is_dash(at - 1));
        const bool minus = is_dash(at) && begins_word && part(at + 1) == 5;
        if (separates(at) && !minus) {
            inside = false;
            continue;
        }
        if (!inside)
            found.emplace_back();
        inside = true;
        const read_character& character = all[at];
        if (minus)
            found.back() += '-';
        else if (character.valid && how.fold)
            found.back() +=
                encode(code_point(character.text) + static_cast<unsigned long>(character.record.fold_delta));
        else
            found.back() += character.text;
    }
    return found;
}

inline std::string join(const string_list& parts, const std::string& between)
{
    std::string joined;
    for (const std::string& part : parts)
        joined += (&part == parts.data() ? "" : between) + part;
    return joined;
}

inline std::string fold(const std::string& text, const shingling& how)
{
    return how.of == unit::character && !how.fold ? text : join(words(text, how), " ");
}

// --- shingles -------------------------------------------------------------------------------

// Every window of `size` units. A text shorter than a window is one shingle; an empty text has none.
inline std::vector<string_list> windows(const std::string& text, const shingling& how)
{
    const string_list units = how.of == unit::word ? words(text, how) : characters(fold(text, how));
    const auto size = static_cast<std::ptrdiff_t>(how.size);
    std::vector<string_list> found;
    if (units.empty())
        return found;
    if (units.size() < how.size)
        return {units};
    for (auto first = units.begin(); units.end() - first >= size; ++first)
        found.emplace_back(first, first + size);
    return found;
}

inline string_list shingles(const std::string& text, const shingling& how)
{
    string_list found;
    for (const string_list& window : windows(text, how))
        found.push_back(join(window, how.of == unit::word ? " " : ""));
    return found;
}

// --- hashes ---------------------------------------------------------------------------------

inline std::uint64_t splitmix64(std::uint64_t& state)
{
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state;
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9u;
    z ^= z >> 27;
    z *= 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline std::uint64_t fmix64(std::uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    x ^= x >> 33;
    return x;
}

struct halves {
    std::uint32_t a, b;

    explicit halves(std::uint64_t x) : a(static_cast<std::uint32_t>(x)), b(static_cast<std::uint32_t>(x >> 32)) {}

    std::uint64_t whole() const { return (static_cast<std::uint64_t>(b) << 32) + a; }

    void to_b(std::uint32_t constant)
    {
        const std::uint32_t t = a * constant;
        b ^= t ^ (t >> 15);
    }

    void to_a(std::uint32_t constant)
    {
        const std::uint32_t t = b * constant;
        a ^= t ^ (t >> 15);
    }

    void mix()
    {
        to_b(0x9E3779B1u);
        to_a(0x85EBCA77u);
        to_b(0xC2B2AE3Du);
        to_a(0x7FEB352Du);
        to_b(0x846CA68Bu);
    }
};

inline std::uint64_t mixed(std::uint64_t x)
{
    halves h(x);
    h.mix();
    return h.whole();
}

inline std::uint64_t hash_bytes(const std::string& text, std::int64_t seed)
{
    const auto unsigned_seed = static_cast<std::uint64_t>(seed);
    if (text.size() > 8)
        return XXH3_64bits_withSeed(text.data(), text.size(), unsigned_seed);
    std::uint64_t x = 0;
    for (std::size_t at = text.size(); at-- > 0;)
        x = x * 256 + byte_at(text, at);
    return mixed(x ^ fmix64(unsigned_seed) ^ 0x85A308D3243F6A88u);
}

inline std::uint64_t hash_integer(std::int64_t value, std::int64_t seed)
{
    return mixed(static_cast<std::uint64_t>(value) ^ fmix64(static_cast<std::uint64_t>(seed)) ^ 0x85A308D3243F6A88u ^
                 0x0370734413198A2Eu);
}

inline std::uint64_t hash_any_bytes(const std::string& bytes, std::int64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), static_cast<std::uint64_t>(seed));
}

inline std::uint64_t hash_words(const string_list& of, std::int64_t seed)
{
    halves chain(0);
    for (const std::string& word : of) {
        chain = halves(chain.whole() ^ hash_bytes(word, seed));
        chain.to_b(0x9E3779B1u);
        chain.to_a(0x85EBCA77u);
    }
    chain.mix();
    return chain.whole();
}

inline std::uint64_t hash_occurrence(std::uint64_t shingle, std::uint64_t occurrence)
{
    return occurrence == 0 ? shingle : mixed(shingle ^ (occurrence * 0x9E3779B97F4A7C15u));
}

// The hashes of all shingles of a text in text order, including repeated ones.
inline hash_list hashes(const std::string& text, const shingling& how, std::int64_t seed)
{
    hash_list found;
    for (const string_list& window : windows(text, how))
        found.push_back(how.of == unit::word ? hash_words(window, seed) : hash_bytes(join(window, ""), seed));
    return found;
}

inline hash_list number_occurrences(const hash_list& of)
{
    std::map<std::uint64_t, std::uint64_t> seen;
    hash_list numbered;
    for (const std::uint64_t hash : of)
        numbered.push_back(hash_occurrence(hash, seen[hash]++));
    return numbered;
}

// --- signatures -----------------------------------------------------------------------------

struct constants {
    std::uint32_t row[4096], bin[4], value[4];

    constants()
    {
        std::uint64_t state = 0x5851F42D4C957F2Du;
        for (std::uint32_t& multiplier : row)
            multiplier = static_cast<std::uint32_t>(splitmix64(state)) | 1u;
        state = 0x14057B7EF767814Fu;
        for (int round = 0; round < 4; round++) {
            bin[round] = static_cast<std::uint32_t>(splitmix64(state)) | 1u;
            value[round] = static_cast<std::uint32_t>(splitmix64(state)) | 1u;
        }
        bin[0] = value[0] = 0;
    }
};

inline const constants& multipliers()
{
    static const constants scheme;
    return scheme;
}

inline slot_list fss(const hash_list& elements, std::uint32_t num_hashes)
{
    const constants& c = multipliers();
    slot_list slots(num_hashes, 0xFFFFFFFFu);
    for (const std::uint64_t element : elements) {
        const auto lo = static_cast<std::uint32_t>(element);
        const auto hi = static_cast<std::uint32_t>(element >> 32);
        for (std::uint32_t round = 0; round < 4; round++) {
            const std::uint32_t where = c.bin[round] * lo + hi;
            const std::uint32_t value = c.value[round] * hi + lo;
            const std::uint32_t code = round == 0 ? value / 2 : 0x80000000u + (round - 1) * 0x20000000u + value / 8;
            std::uint32_t& slot = slots[(std::uint64_t{where} * num_hashes) >> 32];
            slot = std::min(slot, code);
        }
    }
    for (std::uint32_t index = 0; index < num_hashes; index++) {
        if (slots[index] != 0xFFFFFFFFu || elements.empty())
            continue;
        std::uint32_t least = 0xFFFFFFFFu;
        for (const std::uint64_t element : elements)
            least = std::min(least,
                             c.row[index] * static_cast<std::uint32_t>(element) +
                                 static_cast<std::uint32_t>(element >> 32));
        slots[index] = 0xE0000000u + least / 8;
    }
    return slots;
}

inline slot_list classic(const hash_list& elements, std::uint32_t num_hashes)
{
    slot_list slots(num_hashes, 0xFFFFFFFFu);
    for (std::uint32_t index = 0; index < num_hashes; index++)
        for (const std::uint64_t element : elements)
            slots[index] = std::min(slots[index],
                                    multipliers().row[index] * static_cast<std::uint32_t>(element) +
                                        static_cast<std::uint32_t>(element >> 32));
    return slots;
}

inline slot_list sketch(method method, const hash_list& elements, std::uint32_t num_hashes)
{
    return method == method::fss ? fss(elements, num_hashes) : classic(elements, num_hashes);
}

// The signature of the empty set has no slots at all, as it is stored and written.
inline slot_list sign(const hash_list& elements, const minhash::scheme& scheme)
{
    if (elements.empty())
        return {};
    return sketch(scheme.method, scheme.shingles.bag ? number_occurrences(elements) : elements, scheme.num_hashes);
}

inline slot_list sign(const std::string& text, const minhash::scheme& scheme)
{
    return sign(hashes(text, scheme.shingles, scheme.seed), scheme);
}

inline std::uint64_t band_key(const slot_list& slots, std::uint32_t band, std::uint32_t rows)
{
    std::string bytes;
    for (std::uint32_t row = band * rows; row < (band + 1) * rows; row++)
        for (int shift = 0; shift < 32; shift += 8)
            bytes += static_cast<char>(slots[row] >> shift & 0xFF);
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), band);
}

inline std::string text_form(const minhash::scheme& scheme, const slot_list& slots)
{
    std::string written = scheme.method == method::fss ? "fss" : "classic";
    written += std::to_string(scheme.version) + ":" + std::to_string(scheme.num_hashes) + "x32:";
    static const char* const units[] = {"", "char", "word", "element"};
    written += units[static_cast<int>(scheme.shingles.of)];
    written += std::to_string(scheme.shingles.size) + (scheme.shingles.fold ? ":fold" : ":raw");
    written += (scheme.shingles.bag ? ":bag:" : ":set:") + std::to_string(scheme.seed) + ":";
    for (const std::uint32_t slot : slots) {
        char digits[9];
        std::snprintf(digits, sizeof(digits), "%08x", static_cast<unsigned>(slot));
        written += digits;
    }
    return written;
}

// --- rows of test/golden/element_signatures.tsv ----------------------------------------------

// The parts of a text between separators; an empty text has none.
inline string_list split(const std::string& text, char separator)
{
    string_list parts;
    for (std::size_t at = 0; !text.empty() && at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

// Hashes members of type text or integer, or bytes in hexadecimal.
inline hash_list members(const std::string& type, const std::string& list, std::int64_t seed)
{
    hash_list found;
    for (const std::string& member : split(list, '|')) {
        if (type == "integer") {
            found.push_back(hash_integer(std::stoll(member), seed));
        } else if (type == "bytes") {
            std::string bytes;
            for (std::size_t at = 0; at < member.size(); at += 2)
                bytes += static_cast<char>(std::stoi(member.substr(at, 2), nullptr, 16));
            found.push_back(hash_any_bytes(bytes, seed));
        } else {
            found.push_back(hash_bytes(member, seed));
        }
    }
    return found;
}

inline minhash::scheme element_scheme(const string_list& row)
{
    return {.version = minhash::scheme_version,
            .method = row.at(5) == "classic" ? method::classic : method::fss,
            .bits = minhash::bits_per_slot,
            .num_hashes = static_cast<std::uint16_t>(std::stoi(row.at(2))),
            .shingles = {unit::element, 1, false, row.at(3) == "t"},
            .seed = std::stoll(row.at(4))};
}

} // namespace reference
