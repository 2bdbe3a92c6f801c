// The hot loops. Their source (simd/) is compiled once for each instruction set, with different compiler flags. Each
// object file defines one table of functions, and all tables give equal results on every input. At load, the best table
// that the CPU can run is chosen; users, tests and benchmarks can choose others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace minhash {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct folder;

// Kernels read and write whole vectors. So their input must be readable, and their output writable, for `padding`
// elements beyond its length. No padding is needed where a comment below says so, nor for data that may lie in a page
// of a PostgreSQL table: the text of fold() and is_ascii(), and the slots of count_equal(), compress_slots(),
// count_different(), count_agreements() and merge().
constexpr std::size_t padding = 64;

// A set of numbers that may seem to have other numbers, too: a Bloom filter with two bits for a number, both in one
// word (Putze, Sanders, Singler 2007). If the factor is secret, nobody can foresee which other numbers these are.
struct number_filter {
    u32* words;
    u32 factor; // odd
    int shift;  // 32 minus the binary logarithm of the number of words

    void add(u32 number) const noexcept
    {
        const u32 product = number * factor;
        words[product >> shift] |= 1u << (product & 31) | 1u << (product >> 5 & 31);
    }

    bool may_have(u32 number) const noexcept
    {
        const u32 product = number * factor;
        const u32 word = words[product >> shift];
        return (word >> (product & 31) & word >> (product >> 5 & 31) & 1) != 0;
    }
};

struct kernel_table {
    const char* name;

    // Folds the front of a slice, up to the first character that these loops cannot fold. Writes the result to `out`
    // and its length to `written`. Returns how many bytes of `text` were folded. See fold.h.
    std::size_t (*fold)(folder& self, const u8* text, std::size_t bytes, u8* out, std::size_t& written) noexcept;

    // Whether all bytes are below 128.
    bool (*is_ascii)(const u8* text, std::size_t bytes) noexcept;

    // Writes the position at which each character of a text starts, and then `bytes`, the end of the last character.
    // Returns the number of characters, or 0 if the text is empty or not valid UTF-8.
    std::size_t (*find_characters)(const u8* text, std::size_t bytes, u32* begin) noexcept;

    // Writes the positions of the spaces (' ') in a text, in order. Returns their number, at most `bytes`.
    std::size_t (*find_spaces)(const u8* text, std::size_t bytes, u32* at) noexcept;

    // Hashes (hash.h: hash_bytes) the windows of `width` bytes, 1 to 255, that start at each of the first `windows`
    // bytes. The text has windows + width - 1 bytes. `lo` and `hi` receive the halves of the hashes.
    void (*hash_windows)(
        const u8* text, std::size_t windows, std::size_t width, std::int64_t seed, u32* lo, u32* hi) noexcept;

    // Hashes (hash.h: hash_bytes) the ranges [begin[i], end[i]) of a text. No range may be empty.
    void (*hash_ranges)(const u8* text,
                        const u32* begin,
                        const u32* end,
                        std::size_t count,
                        std::int64_t seed,
                        u32* lo,
                        u32* hi) noexcept;

    // Hashes (hash.h: chain_word) each run of `size` consecutive words, given the hashes of the words; `size` is at
    // least 1. There are shingles + size - 1 words.
    void (*chain_words)(
        const u32* word_lo, const u32* word_hi, std::size_t shingles, std::size_t size, u32* lo, u32* hi) noexcept;

    // Hashes (hash.h: hash_integer) members that are integers.
    void (*hash_integers)(const std::int64_t* values, std::size_t count, std::int64_t seed, u32* lo, u32* hi) noexcept;

    // Replaces shingles by numbered occurrences in a bag (hash.h: hash_occurrence).
    void (*hash_occurrences)(u32* lo, u32* hi, const u32* occurrences, std::size_t count) noexcept;

    // Joins the halves of hashes into elements for a table (hash.h: element_of). `elements` has no padding.
    void (*join_halves)(const u32* lo, const u32* hi, std::size_t count, u64* elements) noexcept;

    // Joins the halves of hashes into elements, and XORs each element with `flip`. Of the results whose upper half is
    // at most `most`, writes the lower half, or 1 if it is 0. Returns how many these are.
    std::size_t (*keep_small)(const u32* lo, const u32* hi, std::size_t count, u64 flip, u32 most, u32* kept) noexcept;

    // Writes the numbers that a filter may have, and returns how many these are. `kept` has room for all numbers, and
    // needs no padding, nor do `numbers`.
    std::size_t (*keep_known)(const number_filter& filter, const u32* numbers, std::size_t count, u32* kept) noexcept;

    // Packs bytes, each 0 or 255, into bits, 64 to a word. Returns how many bits are set. The bytes have no padding.
    std::size_t (*pack_marks)(const u8* marks, std::size_t words, u64* bits) noexcept;

    // These absorb elements into the slots of a signature (sketch.h), which are padded. `fresh` is whether all slots
    // are empty. absorb_fss() returns whether all slots hold a value of round 0.
    bool (*absorb_fss)(
        u32* slots, u32 num_hashes, bool fresh, const u32* lo, const u32* hi, std::size_t count) noexcept;
    void (*absorb_classic)(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count) noexcept;

    // The number of equal slots of 32 bits.
    u32 (*count_equal)(const u32* a, const u32* b, u32 num_hashes) noexcept;
    // Writes the upper eight bits of each slot's product with compress_factor (hash.h). Neither array is padded.
    void (*compress_slots)(const u32* slots, u32 num_hashes, u8* packed) noexcept;
    // How many packed slots of 1, 2, 4, 8 or 16 bits differ (compress.h).
    u32 (*count_different)(const u8* a, const u8* b, u32 num_hashes, int bits) noexcept;
    // For each of `count` signatures with 8 bits per slot, which lie `stride` bytes apart, writes how many of its first
    // `num_hashes` slots equal the query's.
    void (*count_agreements)(const u8* copies,
                             std::size_t stride,
                             std::size_t count,
                             const u8* query,
                             u32 num_hashes,
                             u16* agreements) noexcept;
    // Writes the lower of each pair of slots, which makes the signature of the union. `into` may be `a` or `b`.
    void (*merge)(const u32* a, const u32* b, u32 num_hashes, u32* into) noexcept;
};

// The tables that this CPU can run, slowest first. The first one is always `baseline`.
std::span<const kernel_table* const> runnable_kernels() noexcept;

// The table with this name, or null if this CPU can run no such table. The name "auto" stands for the fastest table.
const kernel_table* find_kernels(std::string_view name) noexcept;

// The table in use. It is set at load, when the setting minhash_lsh.instruction_set changes, and by tests.
extern const kernel_table* kernels;

} // namespace minhash
