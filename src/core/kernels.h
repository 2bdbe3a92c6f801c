// The hot loops, once for each instruction set. One source (simd/) is compiled several times with different compiler
// flags; each object is a table of functions whose results are equal on every input. The best table that the CPU can
// run is chosen once, at load; tests and benchmarks force others.
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

// Kernels read and write whole vectors. So the arrays that they are given must be readable, and outputs writable, for
// `padding` elements beyond their length. Only data that may lie in a table's page needs no padding: the text of fold()
// and is_ascii(), and the slots of count_equal(), compress_slots(), count_agreements() and merge().
constexpr std::size_t padding = 64;

struct kernel_table {
    const char* name;

    // Folds the front of a slice, up to the first character that these loops cannot fold, appends it to `out` and
    // returns how many bytes of `text` it took. See fold.h.
    std::size_t (*fold)(folder& state, const u8* text, std::size_t bytes, u8* out, std::size_t& written) noexcept;

    // Whether all bytes are below 128.
    bool (*is_ascii)(const u8* text, std::size_t bytes) noexcept;

    // Writes where the characters of a text start, then `bytes`. Returns the number of characters, or 0 if the text is
    // empty or not valid UTF-8.
    std::size_t (*find_characters)(const u8* text, std::size_t bytes, u32* begin) noexcept;

    // Writes where a text has spaces (' '), in order. Returns their number, at most `bytes`.
    std::size_t (*find_spaces)(const u8* text, std::size_t bytes, u32* at) noexcept;

    // Hashes (hash.h: hash_bytes) windows of `width` bytes, 1 to 255, one starting at each byte: the text has windows +
    // width - 1 bytes. `lo` and `hi` receive the halves of the hashes.
    void (*hash_windows)(
        const u8* text, std::size_t windows, std::size_t width, std::int64_t seed, u32* lo, u32* hi) noexcept;

    // Hashes the ranges [begin[i], end[i]) of a text, none of them empty.
    void (*hash_ranges)(const u8* text,
                        const u32* begin,
                        const u32* end,
                        std::size_t count,
                        std::int64_t seed,
                        u32* lo,
                        u32* hi) noexcept;

    // Hashes (hash.h: chain_word) each run of `size` word hashes, at least 1. There are shingles + size - 1 word
    // hashes.
    void (*chain_words)(
        const u32* word_lo, const u32* word_hi, std::size_t shingles, std::size_t size, u32* lo, u32* hi) noexcept;

    // Hashes (hash.h: hash_integer) members that are integers.
    void (*hash_integers)(const std::int64_t* values, std::size_t count, std::int64_t seed, u32* lo, u32* hi) noexcept;

    // Turns shingles into numbered occurrences of a bag (hash.h: hash_occurrence), in place.
    void (*hash_occurrences)(u32* lo, u32* hi, const u32* occurrences, std::size_t count) noexcept;

    // Joins the halves of elements for a table of them (hash.h: element_of). `elements` have no padding.
    void (*join_halves)(const u32* lo, const u32* hi, std::size_t count, u64* elements) noexcept;

    // How many elements two arrays have in common at their start, up to the first difference. Both have `count`
    // elements and no padding.
    std::size_t (*count_equal_front)(const u64* a, const u64* b, std::size_t count) noexcept;

    // Packs bytes, each 0 or 255, into bits, 64 to a word. Returns how many are set. The bytes have no padding.
    std::size_t (*pack_marks)(const u8* marks, std::size_t words, u64* bits) noexcept;

    // Absorbs elements into the slots of a signature (sketch.h), which are padded; `fresh` says that all of them are
    // empty. Returns whether all slots hold a value of round 0.
    bool (*absorb_fss)(
        u32* slots, u32 num_hashes, bool fresh, const u32* lo, const u32* hi, std::size_t count) noexcept;
    void (*absorb_classic)(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count) noexcept;

    // The number of equal slots of 32 bits.
    u32 (*count_equal)(const u32* a, const u32* b, u32 num_hashes) noexcept;
    // Writes the upper eight bits of each slot's product with compress_factor (hash.h). Neither array is padded.
    void (*compress_slots)(const u32* slots, u32 num_hashes, u8* packed) noexcept;
    // How many packed slots of 1, 2, 4, 8 or 16 bits differ (compress.h).
    u32 (*count_different)(const u8* a, const u8* b, u32 num_hashes, int bits) noexcept;
    // Writes, for each of `count` signatures of 8 bits a slot, `stride` bytes apart, how many slots agree with a
    // query's.
    void (*count_agreements)(const u8* copies,
                             std::size_t stride,
                             std::size_t count,
                             const u8* query,
                             u32 num_hashes,
                             u16* agreements) noexcept;
    // Writes the lower one of each pair of slots, which makes the union. `into` may be `a` or `b`.
    void (*merge)(const u32* a, const u32* b, u32 num_hashes, u32* into) noexcept;
};

// The tables that this CPU can run, slowest first. The first one is always `baseline`.
std::span<const kernel_table* const> runnable_kernels() noexcept;

// The table of a name, or null if this CPU cannot run it; the fastest for "auto".
const kernel_table* find_kernels(std::string_view name) noexcept;

// The table in use. Set at load, by the setting minhash_lsh.instruction_set and by tests.
extern const kernel_table* kernels;

} // namespace minhash
