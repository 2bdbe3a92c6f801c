// Texts of several kinds, each of which can go wrong in its own way.
#pragma once

#include <string>
#include <vector>

#include "support.h"

namespace texts {

using support::random_source;

// A random character from code point `first` to `last`, both included.
inline std::string between(random_source& random, unsigned long first, unsigned long last)
{
    return reference::encode(first + random.below(last - first + 1));
}

inline std::string ascii(random_source& random)
{
    static const std::string letters = "etaoinshrdluETAOIN   .,;'-$\t\n0123456789";
    return {letters[random.below(letters.size())]};
}

inline std::string cyrillic(random_source& random)
{
    return random.below(6) == 0 ? " " : between(random, 0x0410, 0x044F);
}

inline std::string chinese(random_source& random)
{
    const std::size_t kind = random.below(20);
    return kind == 0 ? "\u3002" : kind == 1 ? "\u3000" : between(random, 0x4E00, 0x9FFF);
}

inline std::string emoji(random_source& random)
{
    return random.below(8) == 0 ? " " : between(random, 0x1F600, 0x1F64F);
}

inline std::string combining(random_source& random)
{
    return random.below(3) == 0 ? ascii(random) : between(random, 0x0300, 0x036F);
}

// Bytes of all values except NUL, most of them in no valid sequence.
inline std::string invalid(random_source& random)
{
    static const unsigned often[] = {0xC0, 0xC3, 0xE2, 0x80, 0xED, 0xA0, 0xF0, 0x9F, 0xF4, 0xFF};
    if (random.below(2) == 0)
        return {static_cast<char>(often[random.below(10)])};
    return {static_cast<char>(1 + random.below(255))};
}

inline std::string same(random_source&) { return "a"; }

inline std::string long_words(random_source& random)
{
    return random.below(6000) == 0 ? " " : between(random, 'A', 'Z');
}

inline std::string white(random_source& random)
{
    static const char* const space[] = {" ", "\t", "\n", "\u00A0", "\u2003", "\u3000", "\u0085"};
    return space[random.below(7)];
}

inline std::string punctuation(random_source& random)
{
    static const char* const mark[] = {".", ",", "$", "~", "\u2026", "\u3002", "\u00BF", "\u2014"};
    return mark[random.below(8)];
}

// What a minus sign needs, and what it must not follow: dashes, numbers, letters, spaces, and characters that are
// dropped.
inline std::string minus(random_source& random)
{
    static const char* const part[] = {"-",
                                       "-",
                                       "5",
                                       "\u0665",
                                       "$",
                                       " ",
                                       "\u2013",
                                       "\u00AD",
                                       "\u200D",
                                       "\u20AC",
                                       "\u2212",
                                       "a",
                                       "\u00E9",
                                       "(",
                                       "\n",
                                       "\u2010"};
    return part[random.below(16)];
}

inline std::string signs(random_source& random)
{
    static const std::string marks = "  ab19!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x7F";
    return {marks[random.below(marks.size())]};
}

// Letters between characters that folding drops.
inline std::string invisible(random_source& random)
{
    static const char* const dropped[] =
        {"\u00AD", "\u200B", "\u200E", "\uFE0F", "\uFEFF", "\u034F", "\u3164", "\U000E0061"};
    return random.below(3) == 0 ? dropped[random.below(8)] : random.below(8) == 0 ? cyrillic(random) : ascii(random);
}

// Letters that fold to longer and to shorter sequences.
inline std::string folding(random_source& random)
{
    static const char* const letter[] =
        {"\u023A", "\u023E", "\u1E9E", "\u212A", "\u017F", "\u0130", "\u00B5", "\u00DF", " ", "A"};
    return letter[random.below(10)];
}

inline std::string growing(random_source&)
{
    return "\u023A"; // this takes two bytes, and its folding three
}

inline std::string mixed(random_source& random)
{
    using maker = std::string (*)(random_source&);
    static constexpr maker makers[] = {ascii,
                                       cyrillic,
                                       chinese,
                                       emoji,
                                       combining,
                                       invalid,
                                       same,
                                       white,
                                       punctuation,
                                       folding,
                                       minus,
                                       signs,
                                       invisible};
    return makers[random.below(13)](random);
}

struct kind {
    const char* name;
    std::string (*character)(random_source&);
};

constexpr kind kinds[] = {
    {"ascii", ascii},
    {"cyrillic", cyrillic},
    {"chinese", chinese},
    {"emoji", emoji},
    {"combining", combining},
    {"invalid", invalid},
    {"same", same},
    {"long_words", long_words},
    {"white", white},
    {"punctuation", punctuation},
    {"minus", minus},
    {"signs", signs},
    {"invisible", invisible},
    {"folding", folding},
    {"growing", growing},
    {"mixed", mixed},
};

inline std::string make(const kind& of, std::size_t characters, random_source& random)
{
    std::string made;
    for (std::size_t index = 0; index < characters; index++)
        made += of.character(random);
    return made;
}

// Character and word shingles of several sizes, folded and raw.
inline std::vector<minhash::shingling> shinglings(std::vector<std::uint16_t> sizes)
{
    std::vector<minhash::shingling> made;
    for (const minhash::unit of : {minhash::unit::character, minhash::unit::word})
        for (const bool fold : {false, true})
            for (const std::uint16_t size : sizes)
                made.push_back({of, size, fold, false});
    return made;
}

inline std::string describe(const minhash::shingling& how)
{
    return std::string(how.of == minhash::unit::word ? "words" : "characters") + " of " + std::to_string(how.size) +
           (how.fold ? ", folded" : ", raw");
}

} // namespace texts
