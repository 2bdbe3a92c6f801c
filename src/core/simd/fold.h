// Folds text a vector at a time: folds case if the shingling asks for it, and turns each run of separators into one
// space. ASCII is folded here, apart from dashes that may be minus signs. Other characters are copied if they are not
// separators and folding does not change or drop them; apart from capital letters, this applies to most text in most
// scripts. If the first two or three bytes of a character do not show that it can be copied, it is left to the caller.
// Without MINHASH_HAS_LOOKUP, the caller folds all characters outside ASCII.
#pragma once

#include "core/fold.h"
#include "core/simd/vector.h"
#include "core/unicode.h"

namespace minhash::simd {
namespace {

#if defined(MINHASH_HAS_LOOKUP)
// The flags in unicode_lead_flags, indexed by the low half of the lead byte. In an entry of `c_d`, the low half has the
// four flags for lead byte C*, and the high half those for D*. `e_f` has the flags for E* and F* in the same way.
struct lead_tables {
    lookup_table c_d;
    lookup_table e_f;
};

constexpr lead_tables make_lead_tables(const u8 (&flags)[64])
{
    lead_tables made = {};
    for (int low_half = 0; low_half < 16; low_half++) {
        made.c_d.of[low_half] = static_cast<u8>(flags[low_half] | flags[16 + low_half] << 4);
        made.e_f.of[low_half] = static_cast<u8>(flags[32 + low_half] | flags[48 + low_half] << 4);
    }
    return made;
}

constexpr lead_tables lead_flags[3] = {
    make_lead_tables(unicode_lead_flags[0]),
    make_lead_tables(unicode_lead_flags[1]),
    make_lead_tables(unicode_lead_flags[2]),
};

// The high half of the lead byte selects one half of an entry, and the high half of the second byte selects the flag.
constexpr lookup_table half_of_c_d = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0F, 0xF0, 0, 0}};
constexpr lookup_table half_of_e_f = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0F, 0xF0}};
constexpr lookup_table flag_of = {{0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x44, 0x88, 0, 0, 0, 0}};

// Tables of ASCII separators, indexed by the halves of the byte. There is one bit for each high half: 1 for 0 (09 to
// 0D), 2 for 2 (space ! " ' ( ) , - . /), 4 for 3 (: ; ?), 8 for 5 ([ \ ] _), 16 for 6 (`), and 32 for 7 ({ }). A dash
// has the highest bit, too.
constexpr lookup_table separators_low = {{18, 2, 2, 0, 0, 0, 0, 2, 2, 3, 5, 45, 11, 171, 2, 14}};
constexpr lookup_table separators_high = {{1, 0, 130, 4, 0, 8, 16, 32, 0, 0, 0, 0, 0, 0, 0, 0}};
#endif

// 0xFF in each byte that is an ASCII separator: white space and, if `punctuation` is set, also punctuation. In that
// case, `dashes` gets a bit for each dash.
template <bool punctuation>
MINHASH_INLINE bytes find_separators(bytes given, [[maybe_unused]] u64& dashes)
{
    if (!punctuation)
        return (bytes)(given == ' ') | between(given, '\t', '\r');
#if defined(MINHASH_HAS_LOOKUP)
    const bytes found = look_up(separators_low, given & 0x0F) & look_up(separators_high, given >> 4);
    dashes = high_bits(found);
    return (bytes)(found != 0);
#else
    dashes = high_bits((bytes)(given == '-'));
    const bytes signs = between(given, '#', '&') | between(given, '*', '+') | (bytes)(given == '^');
    const bytes brackets = between(given, '[', '`') | (bytes)(given == '{') | (bytes)(given == '}');
    return ((between(given, ' ', '/') | brackets) & ~signs) | between(given, '\t', '\r') | between(given, ':', ';') |
           (bytes)(given == '?');
#endif
}

// A dash that begins a word may be a minus sign, unless it follows another dash, or the byte after it shows that it is
// none: a letter, a space, or another dash. Returns where the first such dash is in a vector, or 64 if there is none.
// `dashes` has a bit for each dash that follows a separator. The byte after the vector must also be readable.
[[gnu::noinline, gnu::cold]] std::size_t find_minus(const u8* from, u64 dashes, bool after_dash)
{
    const bytes next = load_as<bytes>(from + 1);
    const bytes none = between(next | 0x20, 'a', 'z') | (bytes)(next == ' ') | (bytes)(next == '-');
    const u64 minus = dashes & ~(dashes << 1 | after_dash) & ~high_bits(none);
    return minus == 0 ? 64 : static_cast<std::size_t>(__builtin_ctzll(minus));
}

// A mask with a bit for each byte that may start a character that cannot simply be copied. For each byte in `given`,
// `next` holds the byte after it, and `third` the second byte after it. `kind` is an index into unicode_lead_flags.
template <int kind>
MINHASH_INLINE u64 find_changed(bytes given, [[maybe_unused]] bytes next, [[maybe_unused]] bytes third)
{
#if defined(MINHASH_HAS_LOOKUP)
    const bytes low_half = given & 0x0F;
    const bytes high_half = given >> 4;
    bytes flags = (look_up(lead_flags[kind].c_d, low_half) & look_up(half_of_c_d, high_half)) |
                  (look_up(lead_flags[kind].e_f, low_half) & look_up(half_of_e_f, high_half));
    flags &= look_up(flag_of, next >> 4);
    bytes changed = (bytes)(flags != 0);
    if (kind != 0 || high_bits(changed) == 0)
        return high_bits(changed);

    // Some frequent characters of three bytes can be copied, but share a flag with characters that cannot: kana and CJK
    // punctuation share one with the ideographic space, typographic punctuation shares one with other spaces and with
    // characters that are dropped, and full-width forms share one with full-width capitals.
    const bytes ideographic = (bytes)(given == 0xE3) & between(next, 0x80, 0x83);
    const bytes space = (bytes)(next == 0x80) & (bytes)(third == 0x80);
    const bytes typographic = (bytes)(given == 0xE2) & (bytes)(next == 0x80);
    const bytes spaces = between(third, 0x80, 0x8F) | between(third, 0xA8, 0xAF);
    const bytes wide = (bytes)(given == 0xEF) & (bytes)(next == 0xBC);
    const bytes capitals = between(third, 0xA1, 0xBA);
    changed &= ~((ideographic & ~space) | (typographic & ~spaces) | (wide & ~capitals));
    return high_bits(changed);
#else
    return high_bits(given);
#endif
}

// If `fold` is set, case is folded. If `punctuation` is set, punctuation is a separator, as white space always is.
template <bool fold, bool punctuation>
std::size_t fold_front(folder& self, const u8* text, std::size_t bytes_given, u8* out, std::size_t& written)
{
    std::size_t at = 0;
    u8* to = out;
    if (self.gap)
        *to++ = ' ';
    u64 after_separator = self.gap || !self.started; // 1 if a separator that comes next is dropped

    // If punctuation is a separator, half of all vectors have a space after punctuation, which is dropped. So a branch
    // on whether anything is dropped would be unpredictable.
#if defined(MINHASH_HAS_LOOKUP)
    constexpr bool drops_often = punctuation;
#else
    constexpr bool drops_often = false; // append_bytes() is slow here
#endif

    // Folds at most `left` bytes of a vector, up to the first character that is left to the caller. Returns how many
    // bytes it folded. The two bytes after the vector must also be readable.
    const auto fold_vector = [&](const u8* from, std::size_t left) {
        const bytes given = load_as<bytes>(from);
        std::size_t taken = smaller(left, vector_bytes);
        if (high_bits(given) != 0) {
            constexpr int kind = punctuation ? 1 : fold ? 0 : 2;
            const u64 changed = find_changed<kind>(given, load_as<bytes>(from + 1), load_as<bytes>(from + 2));
            if (changed != 0)
                taken = smaller<std::size_t>(taken, static_cast<std::size_t>(__builtin_ctzll(changed)));
            if (taken == 0)
                return taken;
        }

        u64 dashes = 0;
        const bytes separator = find_separators<punctuation>(given, dashes);
        const u64 separators = high_bits(separator);
        const u64 follows_separator = separators << 1 | after_separator;

        if (punctuation) {
            dashes &= follows_separator;
            if (__builtin_expect(dashes != 0, 0)) {
                const bool after_dash = at == 0 ? self.after_dash : text[at - 1] == '-';
                taken = smaller(taken, find_minus(from, dashes, after_dash));
                if (taken == 0)
                    return taken;
            }
        }

        bytes folded = given;
        if (fold)
            folded |= between(given, 'A', 'Z') & 0x20;
        folded = (folded & ~separator) | (separator & ' ');

        const u64 all = taken == 64 ? ~0ull : (1ull << taken) - 1;
        const u64 kept = all & ~(separators & follows_separator);
        after_separator = separators >> (taken - 1) & 1;
        if (!drops_often && kept == all)
            store(to, folded), to += taken;
        else
            to = append_bytes(to, folded, kept);
        return taken;
    };

    std::size_t taken = vector_bytes;
    while (taken == vector_bytes && bytes_given - at >= vector_bytes + 2) {
        taken = fold_vector(text + at, vector_bytes);
        at += taken;
    }
    if (taken == vector_bytes) {
        end_of_text end;
        const u8* from = end.copy(text, bytes_given, bytes_given - at);
        while (taken == vector_bytes && at < bytes_given) {
            taken = fold_vector(from, bytes_given - at);
            from += taken;
            at += taken;
        }
    }

    if (at > 0)
        self.after_dash = punctuation && text[at - 1] == '-';

    // A separator at the end is held back until something follows it.
    self.gap = to > out && after_separator;
    to -= self.gap;
    self.started |= to > out;
    self.gap &= self.started;
    written = static_cast<std::size_t>(to - out);
    return at;
}

std::size_t fold(folder& self, const u8* text, std::size_t bytes_given, u8* out, std::size_t& written) noexcept
{
    const bool words = self.how.of == unit::word;
    if (!self.how.fold)
        return fold_front<false, false>(self, text, bytes_given, out, written);
    if (words)
        return fold_front<true, true>(self, text, bytes_given, out, written);
    return fold_front<true, false>(self, text, bytes_given, out, written);
}

bool is_ascii(const u8* text, std::size_t count) noexcept
{
    bytes seen = {};
    if (count < vector_bytes) {
        seen = load_front(text, count);
    } else {
        for (std::size_t at = 0; at < count; at += vector_bytes)
            seen |= load_as<bytes>(text + smaller(at, count - vector_bytes));
    }
    return high_bits(seen) == 0;
}

} // namespace
} // namespace minhash::simd
