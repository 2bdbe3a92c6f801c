// What can go wrong in the core, as values: the core neither throws nor jumps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minhash {

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

// The outcome of parsing, and the position in the input where it failed.
struct parse_result {
    status what;
    std::size_t position;
};

} // namespace minhash
