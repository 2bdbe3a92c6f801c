// How a signature was made. Two signatures can be compared, merged or joined only if their schemes are equal; a
// released scheme never changes (golden vectors: test/golden).
#pragma once

#include <cstddef>
#include <cstdint>

namespace minhash {

// Values below are stored. Zero is never a valid value, so that zeroed bytes are not a signature.
enum class method : std::uint8_t {
    fss = 1,      // FSS-4, sketch.h
    classic = 2,  // one hash function per slot, sketch.h
    external = 3, // made by another system: the meaning of slots is unknown
};

enum class unit : std::uint8_t {
    character = 1,
    word = 2,
    element = 3, // the user gave a set as such: size 1, nothing folded
};

constexpr int scheme_version = 1;
constexpr int min_num_hashes = 8; // fewer than 16 are for textbook examples
constexpr int default_num_hashes = 128;
constexpr std::int64_t default_seed = 42;
constexpr int max_num_hashes = 4096; // hash.h has as many multipliers
constexpr int max_shingle_size = 255;
constexpr int bits_per_slot = 32; // if not compressed (compress.h)

// The part of a scheme that defines the elements of a text's set.
struct shingling {
    unit of;
    std::uint16_t size; // units per shingle
    bool fold;          // whether case, white space and, between words, punctuation are folded
    bool bag;           // the i-th occurrence of a shingle is an element of its own

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

// What can go wrong in the core, as values: the core neither throws nor jumps.
enum class status : std::uint8_t {
    ok,
    bad_method,       // not a known method of making signatures
    bad_num_hashes,   // outside min_num_hashes..max_num_hashes
    bad_bits,         // bits per slot that are not a power of two up to 32
    bad_unit,         // not a known unit of shingles
    bad_shingle_size, // outside 1..max_shingle_size
    bad_flags,        // header bits that this version does not define
    bad_seed,         // not a 64-bit signed integer
    bad_version,      // made by a later version of the scheme
    bad_length,       // fewer or more bytes than the header asks for
    bad_digits,       // text form: slots are not hexadecimal digits
    bad_spare_bits,   // set bits after the last slot of a compressed signature
};

// Checks that all values lie in their ranges: returns ok, or says which value does not.
status validate(const shingling& shingles) noexcept;
status validate(const scheme& value) noexcept;

// Whether slots can have this many bits: 32, or compressed to 1, 2, 4, 8 or 16.
bool valid_bits(int bits) noexcept;

const char* name_of(method value) noexcept;
const char* name_of(unit value) noexcept;

} // namespace minhash
