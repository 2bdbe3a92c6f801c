// The hash functions and constants of the scheme. All arithmetic is unsigned and wraps. Nothing here may ever change
// within a scheme version, because stored signatures depend on every bit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace minhash {

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is stable since xxHash 0.8.0");
static_assert(std::endian::native == std::endian::little, "stored slots and hashed windows are little-endian");

constexpr int later_rounds = 3; // rounds 1 to 3 of FSS-4, after round 0

// In the product of a slot and this factor, the upper bits depend on all bits of the slot (compress.h).
constexpr std::uint32_t compress_factor = 0x9E3779B1;

// Multipliers of the hash families: `row` for the slots of the classic method and of the guarantee round of FSS-4,
// `bin` and `value` for the later rounds of FSS-4. They come from splitmix64 (Steele, Lea, Flood 2014) with fixed
// seeds. The user's seed does not change them; it affects only the hashes of shingles.
struct multipliers {
    std::uint32_t row[4096];
    std::uint32_t bin[1 + later_rounds]; // [0] is 0: round 0 uses the hash's halves as they are
    std::uint32_t value[1 + later_rounds];
};

constexpr multipliers make_multipliers() noexcept
{
    multipliers made = {};
    std::uint64_t state = 0x5851F42D4C957F2D;
    const auto next = [&state] {
        std::uint64_t z = state += 0x9E3779B97F4A7C15;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
        z = (z ^ z >> 27) * 0x94D049BB133111EB;
        return static_cast<std::uint32_t>(z ^ z >> 31) | 1;
    };

    for (std::uint32_t& multiplier : made.row)
        multiplier = next();
    state = 0x14057B7EF767814F;
    for (int round = 0; round <= later_rounds; round++) {
        made.bin[round] = next();
        made.value[round] = next();
    }
    made.bin[0] = made.value[0] = 0;
    return made;
}

inline constexpr multipliers multiplier = make_multipliers();

// MurmurHash3's finaliser (Appleby 2011).
[[gnu::always_inline]] inline constexpr std::uint64_t fmix64(std::uint64_t x) noexcept
{
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53;
    return x ^ x >> 33;
}

// A window of up to eight bytes is XORed with this mask before it is mixed. The mask depends on the seed.
[[gnu::always_inline]] inline constexpr std::uint64_t window_mask(std::int64_t seed) noexcept
{
    return fmix64(static_cast<std::uint64_t>(seed)) ^ 0x85A308D3243F6A88;
}

// One round of a Feistel network: changes one half (`into`) by a function of the other half (`from`). Word is an
// integer or a vector of integers.
template <typename Word>
[[gnu::always_inline]] inline constexpr void feistel(Word& into, const Word& from, std::uint32_t constant) noexcept
{
    const Word product = from * constant;
    into ^= product ^ product >> 15;
}

// A bijection of 64-bit values that uses only 32-bit multiplications, so that it can be vectorised. Five rounds are the
// fewest with full avalanche (measured: four leave a bias of 0.5).
template <typename Word>
[[gnu::always_inline]] inline constexpr void mix(Word& a, Word& b) noexcept
{
    feistel(b, a, 0x9E3779B1);
    feistel(a, b, 0x85EBCA77);
    feistel(b, a, 0xC2B2AE3D);
    feistel(a, b, 0x7FEB352D);
    feistel(b, a, 0x846CA68B);
}

[[gnu::always_inline]] inline constexpr std::uint32_t low(std::uint64_t hash) noexcept
{
    return static_cast<std::uint32_t>(hash);
}

[[gnu::always_inline]] inline constexpr std::uint32_t high(std::uint64_t hash) noexcept
{
    return static_cast<std::uint32_t>(hash >> 32);
}

[[gnu::always_inline]] inline constexpr void split(std::uint64_t hash, std::uint32_t& lo, std::uint32_t& hi) noexcept
{
    lo = low(hash);
    hi = high(hash);
}

[[gnu::always_inline]] inline constexpr std::uint64_t join(std::uint32_t lo, std::uint32_t hi) noexcept
{
    return static_cast<std::uint64_t>(hi) << 32 | lo;
}

// Like join(), but for tables of elements, where 0 marks a free entry: a hash of 0 becomes 1.
[[gnu::always_inline]] inline constexpr std::uint64_t element_of(std::uint32_t lo, std::uint32_t hi) noexcept
{
    return join(lo + ((lo | hi) == 0), hi);
}

[[gnu::always_inline]] inline constexpr std::uint64_t mix(std::uint64_t hash) noexcept
{
    std::uint32_t a = low(hash);
    std::uint32_t b = high(hash);
    mix(a, b);
    return join(a, b);
}

// The hash of a character shingle or of a word. Up to eight bytes are padded with zeros, which is unambiguous because
// text holds no NUL, and are hashed by a bijection. More than eight bytes are hashed by XXH3.
[[gnu::always_inline]] inline std::uint64_t
hash_bytes(const std::uint8_t* bytes, std::size_t count, std::int64_t seed) noexcept
{
    if (count > 8)
        return XXH3_64bits_withSeed(bytes, count, static_cast<std::uint64_t>(seed));
    std::uint64_t window = 0;
    std::memcpy(&window, bytes, count);
    return mix(window ^ window_mask(seed));
}

// Hashes of members of a set that the user gives as members, and not as a text. Texts and lexemes are hashed as UTF-8
// by hash_bytes(). Other bytes, including UUIDs, may end in zeros, so they are hashed by XXH3 at any length. Integers
// are widened to 64 bits, so that equal integers of different types are one member, and are hashed by a bijection.
// integer_mask() has a constant of its own; otherwise the integer 97 would have the same hash as the text "a".
[[gnu::always_inline]] inline std::uint64_t
hash_any_bytes(const std::uint8_t* bytes, std::size_t count, std::int64_t seed) noexcept
{
    return XXH3_64bits_withSeed(bytes, count, static_cast<std::uint64_t>(seed));
}

[[gnu::always_inline]] inline constexpr std::uint64_t integer_mask(std::int64_t seed) noexcept
{
    return window_mask(seed) ^ 0x0370734413198A2E;
}

[[gnu::always_inline]] inline constexpr std::uint64_t hash_integer(std::int64_t value, std::int64_t seed) noexcept
{
    return mix(static_cast<std::uint64_t>(value) ^ integer_mask(seed));
}

// XXH3 for 9 to 16 bytes, written out here because most windows of more than eight bytes have this length. It has no
// branches on the length, and what depends only on the seed is computed once.
struct medium_hash {
    static constexpr std::uint64_t factor = 0x165667919E3779F9;

    std::uint64_t flip_front;
    std::uint64_t flip_back;

    [[gnu::always_inline]] explicit medium_hash(std::int64_t seed) noexcept
    {
        std::uint64_t secret[4]; // bytes 24 to 55 of XXH3's default secret
        std::memcpy(secret, XXH3_kSecret + 24, sizeof(secret));
        flip_front = (secret[0] ^ secret[1]) + static_cast<std::uint64_t>(seed);
        flip_back = (secret[2] ^ secret[3]) - static_cast<std::uint64_t>(seed);
    }

    [[gnu::always_inline]] std::uint64_t operator()(const std::uint8_t* bytes, std::size_t count) const noexcept
    {
        std::uint64_t front;
        std::uint64_t back;
        std::memcpy(&front, bytes, 8);
        std::memcpy(&back, bytes + count - 8, 8);
        front ^= flip_front;
        back ^= flip_back;
        const auto product = static_cast<unsigned __int128>(front) * back;
        std::uint64_t hash = count + __builtin_bswap64(front) + back +
                             (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64));
        hash = (hash ^ hash >> 37) * factor;
        return hash ^ hash >> 32;
    }
};

// The hash of a word shingle chains the hashes of its words: two rounds after each word, and the full mix at the end.
// With the other words fixed, the hash is a bijection of any single word's hash.
template <typename Word>
[[gnu::always_inline]] inline constexpr void
chain_word(Word& a, Word& b, const Word& word_lo, const Word& word_hi) noexcept
{
    a ^= word_lo;
    b ^= word_hi;
    feistel(b, a, 0x9E3779B1);
    feistel(a, b, 0x85EBCA77);
}

// The element that stands for the i-th occurrence (from 0) of a shingle in a bag. The first occurrence is represented
// by the shingle itself.
inline constexpr std::uint64_t occurrence_factor = 0x9E3779B97F4A7C15;

[[gnu::always_inline]] inline constexpr std::uint64_t hash_occurrence(std::uint64_t shingle,
                                                                      std::uint32_t occurrence) noexcept
{
    return occurrence == 0 ? shingle : mix(shingle ^ occurrence * occurrence_factor);
}

// The key of a band: XXH3 of its slots as they are stored. The seed is the band's number, so that equal slots in
// different bands have different keys.
inline std::uint64_t hash_band(const std::uint8_t* slots, std::size_t bytes, std::uint32_t band) noexcept
{
    return XXH3_64bits_withSeed(slots, bytes, band);
}

} // namespace minhash
