// How a signature was made. Two signatures can be compared, merged or joined only if their schemes are equal. A
// released scheme never changes; the golden vectors in test/golden check this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace minhash {

// The values of these two types are stored. Zero is never valid, so that zeroed bytes are not a valid signature.
enum class method : std::uint8_t {
    fss = 1,      // FSS-4, sketch.h
    classic = 2,  // one hash function per slot, sketch.h
    external = 3, // made by another system; what its slots mean is unknown
};
inline constexpr std::string_view method_names[] = {"fss", "classic", "external"};

enum class unit : std::uint8_t {
    character = 1,
    word = 2,
    element = 3, // the user passed the elements, not a text: size 1, no folding
};
inline constexpr std::string_view unit_names[] = {"char", "word", "element"};

constexpr int scheme_version = 1;
constexpr int min_num_hashes = 8; // fewer than 16 are only for textbook examples
constexpr int default_num_hashes = 128;
constexpr std::int64_t default_seed = 42;
constexpr int max_num_hashes = 4096; // the number of `row` multipliers in hash.h
constexpr int max_shingle_size = 255;
constexpr int bits_per_slot = 32; // unless compressed (compress.h)

// The part of a scheme that defines which elements the set of a text has.
struct shingling {
    unit of;
    std::uint16_t size; // units per shingle
    bool fold;          // whether case, white space and, if the unit is words, punctuation are folded
    bool bag;           // every occurrence of a shingle is an element of its own

    bool operator==(const shingling&) const = default;
};

constexpr shingling given_members(bool bag) noexcept { return {unit::element, 1, false, bag}; }

struct scheme {
    std::uint8_t version;
    minhash::method method;
    std::uint8_t bits;
    std::uint16_t num_hashes;
    shingling shingles;
    std::int64_t seed;

    bool operator==(const scheme&) const = default;
};

// What can go wrong in the core. It returns errors as values; it neither throws exceptions nor calls longjmp().
enum class status : std::uint8_t {
    ok,
    bad_method,       // not a known method of making signatures
    bad_num_hashes,   // outside min_num_hashes..max_num_hashes
    bad_bits,         // not a power of two up to 32
    bad_unit,         // not a known unit of shingles
    bad_shingle_size, // outside 1..max_shingle_size, or not 1 for elements
    bad_flags,        // undefined bits in the header, folding of elements, or unknown words in the text form
    bad_seed,         // text form: not a 64-bit signed integer
    bad_version,      // not scheme_version, so probably made by a later version
    bad_length,       // fewer or more bytes than the header requires
    bad_digits,       // text form: slots that are not hexadecimal digits
    bad_spare_bits,   // set bits after the last slot of a compressed signature
};

// Checks that all values are in range and fit together. Returns ok, or a status that names the wrong value.
status validate(const shingling& shingles) noexcept;
status validate(const scheme& value) noexcept;

// Whether a slot can have this many bits: 32, or 1, 2, 4, 8 or 16 if it is compressed.
bool valid_bits(int bits) noexcept;

constexpr const char* name_of(method value) noexcept { return method_names[static_cast<int>(value) - 1].data(); }

constexpr const char* name_of(unit value) noexcept { return unit_names[static_cast<int>(value) - 1].data(); }

} // namespace minhash
