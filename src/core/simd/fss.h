// FSS-4 (sketch.h). The slot and the code of each throw are computed a vector at a time and put into buffers. Then the
// codes are scattered to their slots one by one. Scattering limits the speed, so codes that change nothing are left out
// where this pays:
//
// - If a new signature has few elements, all four rounds are thrown together, without checks.
// - Otherwise, round 0 is thrown first, and then the later rounds, if possible only at slots that still need them.
// - Once every slot holds a value of round 0, only codes below the largest of these values are scattered (with AVX2 and
//   AVX-512).
#pragma once

#include "core/hash.h"
#include "core/simd/slots.h"
#include "core/simd/vector.h"
#include "core/sketch.h"

namespace minhash::simd {
namespace {

constexpr std::size_t thrown_at_most = 256;

// Codes waiting to be scattered to slots. Their number is kept in a separate variable, which can stay in a register. If
// it were a member, each store would have to wait until the number had been read back from memory.
struct throws {
    alignas(64) u32 slot[thrown_at_most + 16];
    alignas(64) u32 code[thrown_at_most + 16];
};

// Lowers a slot to a code if the code is smaller. There is no branch, because it would be unpredictable.
MINHASH_INLINE void lower(u32& slot, u32 code) { slot = in_register(smaller(slot, code)); }

// Lowers the slots of four codes. The speed of scattering is limited by loads and stores, so each load reads four codes
// or two slot numbers.
MINHASH_INLINE void lower_four(u32* slots, const u32* slot, const u32* code)
{
#if defined(__SSE4_1__)
    const auto lower_by = [](u32& held, __m128i by) {
        const __m128i least = _mm_min_epu32(_mm_cvtsi32_si128(static_cast<int>(held)), by);
        held = static_cast<u32>(_mm_cvtsi128_si32(least));
    };
    const u64 front = in_register(load_as<u64>(slot));
    const u64 back = in_register(load_as<u64>(slot + 2));
    const __m128i codes = _mm_load_si128(reinterpret_cast<const __m128i*>(code));
    lower_by(slots[low(front)], codes);
    lower_by(slots[high(front)], _mm_srli_si128(codes, 4));
    lower_by(slots[low(back)], _mm_srli_si128(codes, 8));
    lower_by(slots[high(back)], _mm_srli_si128(codes, 12));
#else
    for (std::size_t index = 0; index < 4; index++)
        lower(slots[slot[index]], code[index]);
#endif
}

// Lowers the slots of all thrown codes, always in whole groups, because the number of codes is unpredictable. The last
// group is filled up with codes of empty_slot, which lower nothing, for the padding after the last slot.
MINHASH_INLINE void scatter(throws& thrown, std::size_t count, u32* slots, u32 num_hashes)
{
    constexpr std::size_t group = 8;
    for (std::size_t index = 0; index < group; index++) {
        thrown.slot[count + index] = num_hashes;
        thrown.code[count + index] = empty_slot;
    }
    for (std::size_t first = 0; first < count; first += group) {
        lower_four(slots, thrown.slot + first, thrown.code + first);
        lower_four(slots, thrown.slot + first + 4, thrown.code + first + 4);
    }
}

MINHASH_INLINE vec slot_of(vec lo, vec hi, u32 round, vec num_hashes)
{
    return high_product(round == 0 ? hi : lo * multiplier.bin[round] + hi, num_hashes);
}

MINHASH_INLINE vec code_of(vec lo, vec hi, u32 round)
{
    if (round == 0)
        return lo >> 1;
    return ((hi * multiplier.value[round] + lo) >> 3) | (later_round_code | (round - 1) << 29);
}

// Throws the elements in rounds `first` to `last`, whatever values the slots already hold.
template <u32 first, u32 last>
MINHASH_INLINE void throw_all(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count)
{
    const vec k = splat(num_hashes);
    throws thrown;
    std::size_t ready = 0;
    for (std::size_t at = 0; at < count; at += lanes) {
        const vec l = load(lo + at);
        const vec h = load(hi + at);
        const std::size_t taken = smaller(lanes, count - at);
#pragma GCC unroll 4
        for (u32 round = first; round <= last; round++) {
            store(thrown.slot + ready, slot_of(l, h, round, k));
            store(thrown.code + ready, code_of(l, h, round));
            ready += taken;
        }
        if (ready > thrown_at_most - (last - first + 1) * lanes) {
            scatter(thrown, ready, slots, num_hashes);
            ready = 0;
        }
    }
    scatter(thrown, ready, slots, num_hashes);
}

// A set of slots, with one bit per slot.
struct slot_set {
    alignas(64) u32 bits[max_num_hashes / 32];
    u32 count;
};

// Finds the slots that hold `least` or more. If `least` is the lowest code of a round, these are the slots that hold no
// value of an earlier round.
MINHASH_INLINE void find_slots(const u32* slots, u32 num_hashes, u32 least, slot_set& found)
{
    found.count = 0;
    const vec bound = splat(least);
    for (u32 from = 0; from < num_hashes; from += 32) {
        u32 set = 0;
        for (u32 slot = from; slot < smaller(from + 32, num_hashes); slot += lanes) {
            const u32 valid = first_lanes(num_hashes - slot);
            set |= (~less(load(slots + slot), bound) & valid) << slot % 32;
        }
        found.bits[from / 32] = set;
        found.count += count_bits(set);
    }
}

template <typename Work>
MINHASH_INLINE void for_each(const slot_set& set, u32 num_hashes, Work work)
{
    for (u32 from = 0; from < num_hashes; from += 32) {
        for (u32 bits = set.bits[from / 32]; bits != 0; bits &= bits - 1)
            work(from + static_cast<u32>(__builtin_ctz(bits)));
    }
}

#if defined(MINHASH_AVX512) || defined(__AVX2__)
#define MINHASH_HAS_FILTERS 1

// If a signature has at most this many slots, the bits of a slot_set fit into two registers.
constexpr std::size_t filtered_slots = lanes == 16 ? 1024 : 512;

MINHASH_INLINE u32 members(const slot_set& set, [[maybe_unused]] bool wide, vec slot)
{
#if defined(MINHASH_AVX512)
    const __m512i s = (__m512i)slot;
    const __m512i front = _mm512_load_si512(set.bits);
    const __m512i back = _mm512_load_si512(set.bits + 16);
    const __m512i word = _mm512_permutex2var_epi32(front, _mm512_srli_epi32(s, 5), back);
    const __m512i bit = _mm512_srlv_epi32(word, _mm512_and_si512(s, _mm512_set1_epi32(31)));
    return _mm512_test_epi32_mask(bit, _mm512_set1_epi32(1));
#else
    const __m256i s = (__m256i)slot;
    const __m256i index = _mm256_srli_epi32(s, 5);
    const __m256i front = _mm256_load_si256(reinterpret_cast<const __m256i*>(set.bits));
    __m256i word = _mm256_permutevar8x32_epi32(front, index);
    if (wide) {
        const __m256i back = _mm256_load_si256(reinterpret_cast<const __m256i*>(set.bits + 8));
        word = _mm256_blendv_epi8(word,
                                  _mm256_permutevar8x32_epi32(back, index),
                                  _mm256_cmpgt_epi32(s, _mm256_set1_epi32(255)));
    }
    // Shifts each lane's bit up by 31 - slot % 32, to the top, where movemask reads it.
    const __m256i shift = _mm256_andnot_si256(s, _mm256_set1_epi32(31));
    return static_cast<u32>(_mm256_movemask_ps((__m256)_mm256_sllv_epi32(word, shift)));
#endif
}

// Throws the elements in rounds `first` to `last`, but only in the lanes whose bits are set in chooses(slot, code).
template <u32 first, u32 last, typename Chooses>
MINHASH_INLINE void
throw_chosen(Chooses chooses, u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count)
{
    const vec k = splat(num_hashes);
    throws thrown;
    std::size_t ready = 0;
    for (std::size_t at = 0; at < count; at += lanes) {
        const vec l = load(lo + at);
        const vec h = load(hi + at);
        const u32 valid = first_lanes(count - at);
#pragma GCC unroll 4
        for (u32 round = first; round <= last; round++) {
            const vec slot = slot_of(l, h, round, k);
            const vec code = code_of(l, h, round);
            const u32 kept = chooses(slot, code) & valid;
            append(thrown.slot + ready, slot, kept);
            append(thrown.code + ready, code, kept);
            ready += count_bits(kept);
        }
        if (ready > thrown_at_most - (last - first + 1) * lanes) {
            scatter(thrown, ready, slots, num_hashes);
            ready = 0;
        }
    }
    scatter(thrown, ready, slots, num_hashes);
}
#endif

#if defined(MINHASH_AVX512)
// The lowest byte of each of the 64 lanes in `words`, in the same order.
MINHASH_INLINE __m512i lowest_bytes(const vec (&words)[4])
{
    static constexpr byte_table<64> order([](std::size_t index) { return index % 32 * 4; });

    const __m512i fourth = _mm512_load_si512(order.of);
    const __m512i front = _mm512_permutex2var_epi8((__m512i)words[0], fourth, (__m512i)words[1]);
    const __m512i back = _mm512_permutex2var_epi8((__m512i)words[2], fourth, (__m512i)words[3]);
    return _mm512_mask_blend_epi64(0xF0, front, back);
}

constexpr u32 bounded_slots = 128;

// Throws many elements in round 0, for signatures of up to 128 slots. Most codes are not smaller than the value that
// their slot already holds, so most of them are skipped. The test compares the upper bits of 64 codes at a time with
// the upper bits of their slots. Two registers hold the upper bits of all slots; they are updated only now and then,
// because outdated bits do no harm: they merely let more codes pass.
void throw_promising(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count)
{
    constexpr std::size_t elements_between_looks = thrown_at_most;
    const vec k = splat(num_hashes);
    throws thrown;
    std::size_t ready = 0;
    for (std::size_t from = 0; from < count; from += elements_between_looks) {
        __m512i bounds[2];
        for (u32 half = 0; half < 2; half++) {
            vec upper[4];
            for (u32 part = 0; part < 4; part++)
                upper[part] = smaller(load(slots + half * 64 + part * 16), splat(0x7FFFFFFF)) >> 23;
            bounds[half] = lowest_bytes(upper);
        }
        const std::size_t to = smaller(count, from + elements_between_looks);
        for (std::size_t at = from; at < to; at += 64) {
            vec slot[4];
            vec code[4];
            vec upper[4];
            for (u32 part = 0; part < 4; part++) {
                code[part] = load(lo + at + part * 16) >> 1;
                slot[part] = slot_of(code[part], load(hi + at + part * 16), 0, k);
                upper[part] = code[part] >> 23;
            }
            const __m512i held = _mm512_permutex2var_epi8(bounds[0], lowest_bytes(slot), bounds[1]);
            u64 kept = _mm512_cmple_epu8_mask(lowest_bytes(upper), held);
            if (to - at < 64)
                kept &= (1ull << (to - at)) - 1;
            for (u32 part = 0; part < 4; part++, kept >>= 16) {
                const u32 here = static_cast<u32>(kept) & all_lanes;
                append(thrown.slot + ready, slot[part], here);
                append(thrown.code + ready, code[part], here);
                ready += count_bits(here);
            }
        }
        scatter(thrown, ready, slots, num_hashes);
        ready = 0;
    }
}
#endif

MINHASH_INLINE u32 largest(const u32* slots, u32 num_hashes)
{
    u32 most = 0;
    for (u32 slot = 0; slot < num_hashes; slot++)
        most = slots[slot] > most ? slots[slot] : most;
    return most;
}

// The smallest code that any element throws at one slot in this round, or empty_slot if no element hits the slot. There
// must be at least `lanes` elements.
template <u32 round>
MINHASH_INLINE u32 least_at(u32 slot, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count)
{
    // The smallest 32-bit word that slot_of() maps to a slot is ceil(slot * 2^32 / num_hashes).
    const auto first_word = [&](u32 of) { return ((u64{of} << 32) + num_hashes - 1) / num_hashes; };
    const vec first = splat(low(first_word(slot)));
    const vec behind_first = splat(low(first_word(slot + 1) - 1 - first_word(slot)));
    vec least = splat(empty_slot);
    for (std::size_t at = 0; at < count; at += lanes) {
        const std::size_t from = smaller(at, count - lanes); // may read some elements twice, which does no harm
        const vec l = load(lo + from);
        const vec h = load(hi + from);
        const vec word = l * multiplier.bin[round] + h;
        const vec code = code_of(l, h, round);
        least = smaller(least, word - first <= behind_first ? code : splat(empty_slot));
    }
    return least_lane(least);
}

constexpr u32 few_slots = 4;

// Throws the elements in rounds `first` to `last`, to lower the slots that hold no value of an earlier round. (Codes
// for other slots change nothing, so they may be thrown as well.) Returns whether there were such slots.
template <u32 first, u32 last>
bool throw_later(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count)
{
    const u32 bound = later_round_code | (first - 1) << 29;
    slot_set wanted;
    find_slots(slots, num_hashes, bound, wanted);
    if (wanted.count == 0)
        return false;
    if (wanted.count <= few_slots && count >= lanes) {
        for_each(wanted, num_hashes, [&](u32 number) {
            u32& slot = slots[number];
            slot = smaller(slot, least_at<first>(number, num_hashes, lo, hi, count));
            if (first < last && slot >= bound + (1u << 29))
                slot = smaller(slot, least_at<last>(number, num_hashes, lo, hi, count));
        });
        return true;
    }
#if defined(MINHASH_HAS_FILTERS)
    if (num_hashes <= filtered_slots && wanted.count * 8 < num_hashes * 5) {
        const auto is_wanted = [&](vec slot, vec) { return members(wanted, num_hashes > 256, slot); };
        throw_chosen<first, last>(is_wanted, slots, num_hashes, lo, hi, count);
        return true;
    }
#endif
    throw_all<first, last>(slots, num_hashes, lo, hi, count);
    return true;
}

// The guarantee round: each slot that no other round has hit gets the code of its classic minimum, if this is lower.
void guarantee(u32* slots, u32 num_hashes, const u32* lo, const u32* hi, std::size_t count)
{
    constexpr u32 step = 256;
    alignas(64) u32 factor[step + lanes];
    alignas(64) u32 least[step + lanes];
    const auto wanting_at = [&](u32 slot) {
        return ~less(load(slots + slot), splat(guarantee_code)) & first_lanes(num_hashes - slot);
    };
    for (u32 from = 0; from < num_hashes; from += step) {
        const u32 to = smaller(num_hashes, from + step);
        std::size_t rows = 0;
        for (u32 slot = from; slot < to; slot += lanes) {
            const u32 wanting = wanting_at(slot);
            append(factor + rows, load(multiplier.row + slot), wanting);
            rows += count_bits(wanting);
        }
        if (rows == 0)
            continue;
        minima(lo, hi, count, factor, rows, least);

        const u32* next = least;
        for (u32 slot = from; slot < to; slot += lanes) {
            const u32 wanting = wanting_at(slot);
#if defined(MINHASH_HAS_SPREAD)
            const vec codes = spread(load(next) >> 3 | splat(guarantee_code), wanting);
            store(slots + slot, smaller(load(slots + slot), codes));
            next += count_bits(wanting);
#else
            for (u32 bits = wanting; bits != 0; bits &= bits - 1)
                lower(slots[slot + static_cast<u32>(__builtin_ctz(bits))], guarantee_code | *next++ >> 3);
#endif
        }
    }
}

bool absorb_fss(u32* slots, u32 num_hashes, bool fresh, const u32* lo, const u32* hi, std::size_t count) noexcept
{
    if (fresh && count * 4 <= num_hashes * std::size_t{3}) {
        throw_all<0, later_rounds>(slots, num_hashes, lo, hi, count);
        guarantee(slots, num_hashes, lo, hi, count);
        return false;
    }

#if defined(MINHASH_HAS_FILTERS)
    const u32 bound = fresh ? empty_slot : largest(slots, num_hashes);
    if (bound < later_round_code) {
        const auto is_below = [limit = splat(bound)](vec, vec code) { return less(code, limit); };
        throw_chosen<0, 0>(is_below, slots, num_hashes, lo, hi, count);
        return true;
    }
#endif
#if defined(MINHASH_AVX512)
    if (num_hashes <= bounded_slots && count > 2 * num_hashes) {
        const std::size_t all = fresh ? num_hashes : 0;
        throw_all<0, 0>(slots, num_hashes, lo, hi, all);
        throw_promising(slots, num_hashes, lo + all, hi + all, count - all);
    } else
#endif
        throw_all<0, 0>(slots, num_hashes, lo, hi, count);
    if (largest(slots, num_hashes) < later_round_code)
        return true;
    if (throw_later<1, 1>(slots, num_hashes, lo, hi, count) &&
        throw_later<2, later_rounds>(slots, num_hashes, lo, hi, count))
        guarantee(slots, num_hashes, lo, hi, count);
    return false;
}

} // namespace
} // namespace minhash::simd
